"""The lines that people read when a seed fails."""

from __future__ import annotations

import pytest

from ottla.testing.frames import Json
from ottla.testing.simulation.driver import Operation
from ottla.testing.simulation.timeline import LINES_MAX, Timeline


@pytest.mark.parametrize(
    ("name", "result", "shown"),
    [
        ("produce", [0, 7], "0@7"),
        ("produce", [0, -1], "0@?"),
        ("fetch", [[["t", 0, 4, 1, None, b"a", []]], 5, 5], "4=b'a'"),
        ("fetch", [[], 5, 5], "nothing"),
        ("request", {"a": "b" * 100}, "answered"),
        ("commit", None, "done"),
        ("committed", 5, "5"),
    ],
)
def test_an_operation_and_what_came_of_it(name: str, result: Json, shown: str) -> None:
    timeline = Timeline()
    timeline.move_to(2.5)
    timeline.ended(Operation("app", name, {}, "asks", began=2.0, result=result))
    assert timeline.lines() == [f"    2.500  app: asks → {shown} (0.500 s)"]


def test_lines_stand_in_the_order_of_time_and_the_oldest_are_forgotten() -> None:
    timeline = Timeline()
    timeline.move_to(9.0)
    for number in range(LINES_MAX + 5):
        timeline.say(f"line {number}", 1.0 + number / 100)
    timeline.say("late")
    timeline.say("early", 0.5)
    lines = timeline.lines()
    assert len(lines) == LINES_MAX and lines[0].endswith("early") and lines[-1].endswith("late")


def test_what_failed_and_what_has_not_ended() -> None:
    timeline = Timeline()
    timeline.ended(Operation("app", "produce", {}, "produce t", error=ValueError("no")))
    timeline.ended(Operation(None, "sleep", {}, ""))
    timeline.under_way(Operation("app", "fetch", {}, "read t", began=1.0))
    timeline.under_way(Operation(None, "sleep", {}, ""))
    timeline.cancelled(Operation("app", "commit", {}, "commit g"))
    timeline.cancelled(Operation(None, "sleep", {}, ""))
    assert [line.split(maxsplit=1)[1] for line in timeline.lines()] == [
        "app: produce t → no (0.000 s)",
        "app: read t … since 1.000",
        "app: commit g … was under way",
    ]
