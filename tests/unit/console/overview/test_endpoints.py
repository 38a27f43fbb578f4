"""The overview tells how the cluster is, in the words of `ottla status`."""

from __future__ import annotations

from dataclasses import replace

from client.cluster_status import BrokerState, ClusterStatus, PartitionState, QuorumState
from console.overview.endpoints import shown
from tests.unit.console.one_console import plain

HEALTHY = ClusterStatus(
    "abc",
    [BrokerState(1, "one", 9092, None, False), BrokerState(2, "two", 9092, "r", False)],
    QuorumState(2, 7, 100, [], []),
    topics=3,
    partitions=9,
    under_replicated=[],
    under_min_isr=[],
    offline=[],
)


def test_a_healthy_cluster() -> None:
    found = plain(shown(HEALTHY))
    assert (found["healthy"], found["verdict"]) == (True, "healthy")
    assert (found["controller"], found["epoch"]) == (2, 7)
    assert [(one["id"], one["alive"], one["controller"]) for one in found["brokers"]] == [
        (1, True, False),
        (2, True, True),
    ]


def test_one_that_is_not() -> None:
    lacking = PartitionState("t", 0, -1, [1, 2], [2])
    brokers = [
        replace(HEALTHY.brokers[0], fenced=True),
        replace(HEALTHY.brokers[1], reachable=False),
    ]
    status = replace(
        HEALTHY, brokers=brokers, under_replicated=[lacking], offline=[lacking], quorum=None
    )
    found = plain(shown(status))
    assert not found["healthy"]
    assert "1 partition offline" in found["verdict"]
    assert [one["alive"] for one in found["brokers"]] == [False, False]
    assert (found["offline"], found["under_replicated"], found["controller"]) == (1, 1, None)
