"""The lines of `ottla status`."""

from __future__ import annotations

from dataclasses import replace

from client.cluster_status import (
    BrokerState,
    ClusterStatus,
    PartitionState,
    QuorumState,
    VoterState,
)
from client.status_report import PARTITIONS_SHOWN, report, verdict

HEALTHY = ClusterStatus(
    cluster_id="abc",
    brokers=[BrokerState(one, "localhost", 9091 + one, None, False) for one in (1, 2, 3)],
    quorum=QuorumState(2, 5, 90, [VoterState(1, 3, 100), VoterState(2, 0, 0)], []),
    topics=1,
    partitions=12,
    under_replicated=[],
    under_min_isr=[],
    offline=[],
)


def lacking(count: int, leader: int = 1) -> list[PartitionState]:
    return [PartitionState("orders", one, leader, [1, 2, 3], [1]) for one in range(count)]


def test_a_healthy_cluster() -> None:
    assert report(HEALTHY) == [
        "cluster abc: healthy",
        "",
        "brokers (3 of 3 alive)",
        "  1  localhost:9092  alive",
        "  2  localhost:9093  alive",
        "  3  localhost:9094  alive",
        "",
        "controller (node 2 leads, epoch 5)",
        "  1  voter  follows, lag 3",
        "  2  voter  leader",
        "",
        "1 topic, 12 partitions",
        "  all replicas in sync",
    ]


def test_everything_that_lacks_is_named() -> None:
    status = replace(
        HEALTHY,
        brokers=[BrokerState(1, "::1", 9092, "a", False), BrokerState(2, "b", 9093, None, True)],
        quorum=QuorumState(2, 5, 90, [VoterState(1, 7, 9000), VoterState(3, -1, -1)], []),
        under_replicated=lacking(1),
        under_min_isr=lacking(1),
        offline=lacking(2, leader=-1),
    )
    assert verdict(status) == (
        "degraded: broker 2 fenced, controllers 1, 3 lagging, 2 partitions offline, 1 partition "
        "under min ISR, 1 partition under-replicated"
    )
    lines = report(status)
    assert "  1  [::1]:9092  rack a  alive" in lines
    assert "  2  b:9093              fenced" in lines
    assert "  1  voter  lagging for 9.0 s, lag 7" in lines
    assert "  3  voter  lagging: no contact since the election" in lines
    assert lines[lines.index("offline: 2") + 1] == "  orders-0: no leader, in sync 1 of 1,2,3"
    assert lines[lines.index("under-replicated: 1") + 1] == (
        "  orders-0: leader 1, in sync 1 of 1,2,3"
    )
    assert "  all replicas in sync" not in lines


def test_many_are_shown_by_topic_those_of_people_first() -> None:
    internal = [PartitionState("__x", one, 1, [1, 2], [1]) for one in range(PARTITIONS_SHOWN)]
    counts = {"__x": 50, "orders": 7}
    status = replace(HEALTHY, under_replicated=[*internal, *lacking(5)], partitions_by_topic=counts)
    assert report(status)[-3:] == [
        "under-replicated: 15",
        "  orders  5 of 7 partitions",
        "  __x     10 of 50 partitions",
    ]


def test_few_are_shown_each_those_of_people_first() -> None:
    internal = [PartitionState("__x", 0, 1, [1, 2], [1])]
    lines = report(replace(HEALTHY, under_replicated=[*internal, *lacking(1)]))
    assert [line.split(":")[0] for line in lines[-2:]] == ["  orders-0", "  __x-0"]


def test_a_long_list_is_cut_and_says_so() -> None:
    many = [PartitionState(f"t{one:02}", 0, 1, [1, 2], [1]) for one in range(PARTITIONS_SHOWN + 5)]
    lines = report(replace(HEALTHY, under_replicated=many))
    assert sum(line.startswith("  t") for line in lines) == PARTITIONS_SHOWN
    assert lines[-1] == "  … and 5 topics more (--json has all)"


def test_without_a_controller() -> None:
    status = replace(HEALTHY, quorum=None)
    assert verdict(status) == "degraded: the quorum is lost, no active controller answers"
    assert "controller (no active controller answers)" in report(status)


def test_observers_are_told_apart() -> None:
    observers = [VoterState(4, 2, 50), VoterState(5, -1, -1)]
    quorum = QuorumState(1, 2, 5, [VoterState(1, 0, 0)], observers)
    lines = report(replace(HEALTHY, quorum=quorum))
    assert "  4  observer  lag 2" in lines
    assert "  5  observer  lag -" in lines and "lag -1" not in str(lines)


def test_an_empty_cluster_has_no_replicas_to_speak_of() -> None:
    own = replace(HEALTHY, topics=2, partitions=51, internal_topics=1)
    assert report(own)[-2] == "2 topics (1 of the cluster's own), 51 partitions"
    assert report(replace(HEALTHY, topics=0, partitions=0))[-1] == "0 topics, 0 partitions"
