"""What goes wrong in a cluster on demand: elections, cut links, faults of all nodes together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import Cluster
from tests.compat.testing.clients import ConfluentSender, NotSent

PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3) as one:
        yield one


def send(
    cluster: Cluster, topic: str, value: bytes, partition: int = 0, *, patient: bool = True
) -> None:
    """By a client of its own, which gives up soon where it is not patient."""
    ConfluentSender(cluster, topic, "app", patient).send(value, partition)


def test_another_replica_leads_and_clients_find_it(cluster: Cluster) -> None:
    topic = cluster.topic("elected")
    before = cluster.leader(topic)
    sender = ConfluentSender(cluster, topic.name, "app", patient=True)
    sender.send(b"1")
    now = cluster.elect(topic)
    assert now is not before and cluster.leader("elected") is now
    assert cluster.elect("elected", leader=before.node_id) is before
    sender.send(b"2")
    assert [one.value for one in topic.consume(count=2)] == [b"1", b"2"]


def test_the_controllers_elect(cluster: Cluster) -> None:
    now = cluster.elect_controller()
    assert cluster.controller is now
    cluster.topic("made-by-the-new-one").seed([b"1"])


def test_a_leader_that_no_follower_hears_acknowledges_nothing(cluster: Cluster) -> None:
    topic = cluster.topic("cut")
    leader = cluster.leader(topic).node_id
    followers = [node for node in (1, 2, 3) if node != leader]
    with (
        cluster.cut(followers[0], leader, one_way=True),
        cluster.cut(followers[1], leader, one_way=True),
        pytest.raises(NotSent, match="TIMED_OUT"),
    ):
        send(cluster, topic.name, b"unheard", patient=False)
    send(cluster, topic.name, b"heard")
    cluster.assert_produced(topic, value=b"heard")


def test_all_nodes_count_a_fault_together(cluster: Cluster) -> None:
    topic = cluster.topic("counted", PARTITIONS)
    assert len({cluster.leader(topic, one) for one in range(PARTITIONS)}) == PARTITIONS
    refused = 0
    with cluster.fail("Produce", "INVALID_TIMESTAMP", topic="counted", times=2) as fault:
        for partition in [*range(PARTITIONS)] * 2:
            try:
                send(cluster, topic.name, b"x", partition)
            except NotSent:
                refused += 1
        assert (refused, fault.met, fault.seen) == (2, 2, 2 * PARTITIONS)
    assert len(cluster.requests("Produce", topic="counted")) == 2 * PARTITIONS
    assert not list(cluster.broker(1).log_file.parent.glob("fault-*"))
