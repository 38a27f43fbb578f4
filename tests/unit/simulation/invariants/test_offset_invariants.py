"""Offsets of groups: what was committed last is told, once all is at rest."""

from __future__ import annotations

from typing import Any

import pytest

from ground.sim_scheduler import SimScheduler
from protocol.messages import offset_commit as commit
from protocol.messages import offset_fetch as fetch
from protocol.messages.delete_groups import DeleteGroupsRequest
from simulation.invariants.invariant import Promises
from simulation.invariants.offset_invariants import CommittedOffsetsSurvive
from simulation.sim_trace import Violation
from tests.unit.simulation.exchanges import answered_exchange


def committing(offset: int, at_ms: float, error: int = 0) -> Any:
    part = commit.OffsetCommitRequestPartition(0, offset)
    topic = commit.OffsetCommitRequestTopic("t", partitions=[part])
    answer = commit.OffsetCommitResponseTopic(
        "t", partitions=[commit.OffsetCommitResponsePartition(0, error)]
    )
    request = commit.OffsetCommitRequest("g", topics=[topic])
    return answered_exchange(request, commit.OffsetCommitResponse(topics=[answer]), at_ms=at_ms)


def reading(offset: int, at_ms: float) -> Any:
    part = fetch.OffsetFetchResponsePartition(0, offset)
    topic = fetch.OffsetFetchResponseTopic("t", [part])
    request = fetch.OffsetFetchRequest("g", [fetch.OffsetFetchRequestTopic("t", [0])])
    return answered_exchange(request, fetch.OffsetFetchResponse(topics=[topic]), at_ms=at_ms)


def after(*commits: Any) -> CommittedOffsetsSurvive:
    one = CommittedOffsetsSurvive(SimScheduler(), Promises())
    for exchange in commits:
        one.handled(exchange)
        one.received(exchange)
    return one


def test_the_last_commit_is_what_is_told() -> None:
    one = after(committing(3, 1.0), committing(5, 2.0), committing(9, 3.0, error=22))
    one.received(reading(5, 4.0))
    assert one.places() == {"g": {("t", 0): None}}
    with pytest.raises(Violation, match=r"I17: group g is at 3 of t-0, must be in \[5\]"):
        one.received(reading(3, 5.0))


def test_nothing_is_known_after_offsets_were_taken_away() -> None:
    one = after(committing(3, 1.0))
    one.sent(answered_exchange(DeleteGroupsRequest(["g"])))
    one.received(reading(-1, 5.0))
