"""Whose fetch took a traced append, and when it was committed; and that watching ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.requests.request_trace import RequestTrace
from broker.requests.traced_appends import FOLLOWED_MAX
from broker.requests.tracer import Tracer
from tests.unit.broker.replication.leader_fixture import Leader
from tests.unit.broker.requests.trace_fixture import traced, tracer


def append(leader: Leader, keeper: Tracer, size: int = 5) -> RequestTrace:
    trace = traced(keeper)
    batch = leader.replicas.batch(b"v" * size)
    leader.partition.append_as_leader(batch, -1, leader.replicas.scheduler.wall_ms(), trace=trace)
    return trace


def report(trace: RequestTrace) -> list[tuple[object, ...]]:
    return [
        (one["name"], *[one[key] for key in ("broker", "offset") if key in one])
        for one in trace.report()["stations"]
    ]


@pytest.mark.parametrize("size", [5, 20_000])
def test_each_follower_and_the_high_watermark_in_their_order(tmp_path: Path, size: int) -> None:
    """A small batch is the leader's last one in memory, a large one is read from the file."""
    leader, keeper = Leader(str(tmp_path)), tracer()
    leader.append()
    for broker in (2, 3):
        leader.fetch(broker, 1)
    trace = append(leader, keeper, size)
    assert report(trace) == [("appended",)]
    leader.fetch(2, 1)
    leader.fetch(3, 1)
    leader.fetch(2, 2)
    assert report(trace) == [("appended",), ("follower_read", 2), ("follower_has", 2, 2)]
    leader.fetch(3, 2)
    assert sorted(report(trace)[1:]) == [
        ("follower_has", 2, 2),
        ("follower_has", 3, 2),
        ("follower_read", 2),
        ("follower_read", 3),
        ("high_watermark", 2),
    ]
    times = [one["at_s"] for one in trace.report()["stations"]]
    assert times == sorted(times) and len(set(times)) == len(times)
    assert leader.partition.append_tracker is None and not len(keeper.appends)


def test_a_fetch_that_did_not_reach_it_has_not_taken_it(tmp_path: Path) -> None:
    leader, keeper = Leader(str(tmp_path)), tracer()
    leader.append(3)
    trace = append(leader, keeper)
    partition = leader.partition
    first = partition.read_for_follower(2, 20, 0, 10, True, 0, 0)  # the first batch alone
    assert 0 < first.size < partition.log.active.size
    leader.fetch(2, 4)  # it has it from elsewhere, as far as this leader knows
    assert report(trace) == [("appended",), ("follower_has", 2, 4)]


def test_a_follower_that_is_far_behind_takes_many_in_one_fetch(tmp_path: Path) -> None:
    leader, keeper = Leader(str(tmp_path)), tracer()
    traces = [append(leader, keeper) for _ in range(3)]
    leader.fetch(2, 0)
    leader.fetch(2, 3)
    assert all(("follower_read", 2) in report(one) for one in traces)
    assert len(keeper.appends) == 3  # broker 3 has none of them


def test_the_high_watermark_tells_of_those_that_it_has_passed(tmp_path: Path) -> None:
    leader, keeper = Leader(str(tmp_path), replicas=(1, 2)), tracer()
    first, second = append(leader, keeper), append(leader, keeper)
    leader.fetch(2, 0)
    leader.fetch(2, 1)
    assert ("high_watermark", 1) in report(first) and len(report(second)) == 1
    assert leader.partition.append_tracker is not None
    leader.fetch(2, 2)
    assert ("high_watermark", 2) in report(second)
    assert leader.partition.append_tracker is None


def test_a_replica_that_never_comes_makes_room_some_time(tmp_path: Path) -> None:
    leader, keeper = Leader(str(tmp_path)), tracer()
    traces = [append(leader, keeper) for _ in range(FOLLOWED_MAX + 2)]
    assert len(keeper.appends) == FOLLOWED_MAX
    leader.fetch(2, 0)
    leader.fetch(2, leader.end)
    assert report(traces[1]) == [("appended",)]
    assert ("follower_has", 2, leader.end) in report(traces[2])


def test_an_isr_that_shrinks_commits_it(tmp_path: Path) -> None:
    leader, keeper = Leader(str(tmp_path)), tracer()
    trace = append(leader, keeper)
    leader.commit([1])
    assert ("high_watermark", 1) in report(trace)
