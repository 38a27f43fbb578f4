"""Where the leader of a partition is, as a client of one listener reaches it."""

from __future__ import annotations

from broker.apis.current_leader import current_leader, leader_node
from tests.unit.broker.apis.api_fixture import Cluster


def test_the_metadata_tells_where_there_is_no_replica_here() -> None:
    cluster = Cluster(brokers=(1, 2))
    cluster.topic("t", replicas=(2,), leader=2)
    image = cluster.image
    known = image.topics.by_name["t"]
    expected = (2, known.partitions[0].leader_epoch)
    assert current_leader(None, image, "t", 0) == expected
    assert current_leader(None, image, known.id, 0) == expected
    assert current_leader(None, image, "t", 9) == (-1, -1)
    assert current_leader(None, image, "unknown", 0) == (-1, -1)


def test_an_address_is_of_the_clients_listener_and_of_live_brokers() -> None:
    cluster = Cluster(brokers=())
    cluster.register(1, rack="r")
    cluster.register(2, listeners=("PLAINTEXT",))
    cluster.register(3, fenced=True)
    assert leader_node(cluster.image, 1, "OUTSIDE") == (1, "outside-1", 19092, "r")
    assert leader_node(cluster.image, 2, "PLAINTEXT") == (2, "plaintext-2", 9092, None)
    assert leader_node(cluster.image, 2, "OUTSIDE") is None
    assert leader_node(cluster.image, 3, "PLAINTEXT") is None
    assert leader_node(cluster.image, -1, "PLAINTEXT") is None
