"""How long a job waits for a server, and what it says meanwhile."""

from __future__ import annotations

import pytest

from pipeline.errors import PipelineError, Unreachable
from pipeline.filling.outages import Outages, duration, outage_of

AWAY = Unreachable("no broker answers at kafka:9092")


class Clock:
    """A clock that only sleeping moves, and the lines that were said by it."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.said: list[tuple[float, str]] = []
        self.outages = Outages(self._say, lambda: self.now_s, self._sleep)

    def _say(self, text: str) -> None:
        self.said.append((self.now_s - 1000, text))

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def away_until(self, end_s: float) -> None:
        """Raise Unreachable before this time."""
        if self.now_s - 1000 < end_s:
            raise AWAY


def test_a_short_outage_has_a_line_at_its_begin_and_one_at_its_end() -> None:
    clock = Clock()
    clock.outages.wait(AWAY, lambda: clock.away_until(7))
    assert clock.said == [
        (0, "waiting: no broker answers at kafka:9092"),
        (7, "answered after 7 s: going on"),
    ]


def test_a_long_outage_is_said_now_and_then() -> None:
    clock = Clock()
    clock.outages.wait(AWAY, lambda: clock.away_until(7_300))
    assert len(clock.said) == 2 + 7_300 // 300
    assert clock.said[1] == (300, "waiting for 5 min: no broker answers at kafka:9092")
    assert clock.said[-1][1] == "answered after 2 h 1 min: going on"


def test_outages_of_a_server_that_answers_only_the_question_are_not_a_flood() -> None:
    clock = Clock()
    for _ in range(10):
        clock.outages.wait(AWAY, lambda: None)
    assert clock.now_s - 1000 == 1 + 2 + 4 + 8 + 16 + 32 + 4 * 60
    clock.outages.worked()
    before = clock.now_s
    clock.outages.wait(AWAY, lambda: None)
    assert clock.now_s - before == 1


def test_another_error_ends_the_wait() -> None:
    clock = Clock()

    def ask() -> None:
        clock.away_until(5)
        raise PipelineError("there is no topic t")

    with pytest.raises(PipelineError, match="there is no topic t"):
        clock.outages.wait(AWAY, ask)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (119, "119 s"), (125, "2 min"), (7_200, "2 h"), (9_000, "2 h 30 min")]
    + [(172_800.0, "2 days")],
)
def test_a_length_of_time_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_what_is_no_error_of_spark_is_no_outage_though_no_broker_answers() -> None:
    def ask() -> None:
        raise AWAY

    assert outage_of(AWAY, ask) is AWAY
    assert outage_of(PipelineError("no topic"), ask) is None
    assert outage_of(ZeroDivisionError(), ask) is None
