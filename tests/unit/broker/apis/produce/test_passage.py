"""The runner of the stations: what is done at once, what goes on later, and what fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.apis.produce.passage import Passage, Station
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from protocol.errors import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


class Line:
    """Stations that note that they were passed; `wait` holds a passage up."""

    def __init__(self, *names: str, fails: Exception | None = None) -> None:
        self.passed: list[str] = []
        self.answers: list[Any] = []
        self.fails = fails
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(3)])]
        context = RequestContext(0, 12, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        self.passage = Passage(
            [self._station(name) for name in names],
            context,
            ProduceRequest(None, 1, 1000, data),
            self.answers.append,
        )

    def _station(self, name: str) -> Station:
        does: dict[str, Callable[[Passage], bool]] = {
            "wait": lambda _: False,
            "refuse": lambda passage: passage.refuse(ErrorCode.INVALID_RECORD),
            "fail": self._fail,
        }

        def station(passage: Passage) -> bool:
            self.passed.append(name)
            return does.get(name, lambda _: True)(passage)

        return station

    def _fail(self, _passage: Passage) -> bool:
        assert self.fails is not None
        raise self.fails

    def errors(self) -> list[int]:
        return [
            partition.error_code
            for answer in self.answers
            for topic in answer.responses
            for partition in topic.partition_responses
        ]


def test_stations_follow_each_other_until_one_of_them_waits() -> None:
    line = Line("a", "b", "wait", "c")
    line.passage.resume()
    assert line.passed == ["a", "b", "wait"]
    line.passage.resume_after_wait()
    assert line.passed == ["a", "b", "wait", "c"]


def test_behind_a_refusal_nothing_follows() -> None:
    line = Line("a", "refuse", "b")
    line.passage.resume()
    assert line.passed == ["a", "refuse"]
    assert line.errors() == [ErrorCode.INVALID_RECORD]


def test_what_fails_at_once_is_the_request_handlers() -> None:
    line = Line("fail", fails=RuntimeError("a bug"))
    with pytest.raises(RuntimeError):
        line.passage.resume()
    assert not line.answers


def test_what_fails_behind_a_wait_is_answered() -> None:
    line = Line("wait", "fail", fails=RuntimeError("a bug"))
    line.passage.resume()
    line.passage.resume_after_wait()
    assert line.errors() == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_a_broken_invariant_behind_a_wait_stops_the_process() -> None:
    line = Line("wait", "fail", fails=AssertionError("broken"))
    line.passage.resume()
    with pytest.raises(AssertionError, match="broken"):
        line.passage.resume_after_wait()


@pytest.mark.parametrize("error", [None, RuntimeError("a bug")])
def test_slices_end_in_the_next_station_or_in_an_answer(error: Exception | None) -> None:
    line = Line("wait", "a")
    line.passage.resume()
    line.passage.after_slices(None, error)
    assert line.passed == (["wait", "a"] if error is None else ["wait"])
    assert line.errors() == ([] if error is None else [ErrorCode.UNKNOWN_SERVER_ERROR])
