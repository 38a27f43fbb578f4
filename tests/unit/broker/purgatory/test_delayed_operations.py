from __future__ import annotations

from broker.purgatory.delayed_operations import (
    DelayedFetch,
    DelayedProduce,
    PendingAck,
)
from broker.purgatory.purgatory import Purgatory
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode


class Replicated:
    """A partition whose followers are at `offset`."""

    def __init__(self) -> None:
        self.offset = 0
        self.verdict = ErrorCode.NONE

    def is_replicated_to(self, required_offset: int) -> ErrorCode | None:
        if self.verdict:
            return self.verdict
        return ErrorCode.NONE if self.offset >= required_offset else None


class Fixture:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.purgatory = Purgatory("Produce", self.scheduler)
        self.a, self.b = Replicated(), Replicated()
        self.verdicts: dict[str, ErrorCode] = {}
        self.answers = 0
        self.operation = DelayedProduce(
            {
                self.a: PendingAck(5, lambda v: self.verdicts.__setitem__("a", v)),
                self.b: PendingAck(7, lambda v: self.verdicts.__setitem__("b", v)),
            },
            self.answer,
        )

    def answer(self) -> None:
        self.answers += 1

    def park(self) -> None:
        assert not self.operation.settle_all()
        self.purgatory.watch(self.operation, self.operation.pending, 1000)


def test_a_produce_waits_until_every_partition_is_replicated() -> None:
    f = Fixture()
    f.park()
    f.a.offset = 5
    f.purgatory.check(f.a)
    assert (f.verdicts, f.answers) == ({"a": ErrorCode.NONE}, 0)
    f.b.offset = 7
    f.purgatory.check(f.b)
    assert f.verdicts == {"a": ErrorCode.NONE, "b": ErrorCode.NONE}
    assert f.answers == 1


def test_a_partition_that_is_not_led_any_more_settles_with_its_verdict() -> None:
    f = Fixture()
    f.a.offset = 5
    f.park()
    f.b.verdict = ErrorCode.NOT_LEADER_OR_FOLLOWER
    f.purgatory.check(f.b)
    assert f.verdicts == {"a": ErrorCode.NONE, "b": ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert f.answers == 1


def test_at_the_deadline_what_is_open_times_out() -> None:
    f = Fixture()
    f.park()
    f.a.offset = 5
    f.purgatory.check(f.a)
    f.scheduler.run_for(1000)
    assert f.verdicts == {"a": ErrorCode.NONE, "b": ErrorCode.REQUEST_TIMED_OUT}
    assert f.answers == 1


def test_a_fetch_answers_when_a_read_is_enough_and_reads_once_more_at_its_deadline() -> None:
    scheduler = SimScheduler()
    purgatory = Purgatory("Fetch", scheduler)
    reads: list[bool] = []
    answers: list[str] = []

    def read(enough: bool) -> bool:
        reads.append(enough)
        return enough

    poll = DelayedFetch(lambda: read(bool(reads)), lambda: answers.append("first"))
    purgatory.watch(poll, ["p"], 500)
    purgatory.check("p")
    assert (reads, answers) == ([False], [])
    purgatory.check("p")
    assert answers == ["first"]
    late = DelayedFetch(lambda: read(False), lambda: answers.append("late"))
    purgatory.watch(late, ["p"], 500)
    scheduler.run_for(500)
    assert answers == ["first", "late"]
    assert reads == [False, True, False]
