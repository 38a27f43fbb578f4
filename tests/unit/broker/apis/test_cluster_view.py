from __future__ import annotations

from broker.apis.cluster_view import BrokerAddress, ClusterView
from controller.metadata.image import PartitionRegistration
from tests.unit.broker.apis.api_fixture import DIRECTORY, LOST, Cluster

MIGRATING = bytes(15) + b"\x02"


def partition(*replicas: int, directory: bytes = DIRECTORY) -> PartitionRegistration:
    return PartitionRegistration(replicas, (directory,) * len(replicas), replicas, 1, 0, 0)


def test_each_listener_has_its_own_addresses() -> None:
    cluster = Cluster([1, 2])
    inside = ClusterView(cluster.image, "PLAINTEXT")
    outside = ClusterView(cluster.image, "OUTSIDE")
    assert inside.brokers() == [
        BrokerAddress(1, "plaintext-1", 9092, None, False),
        BrokerAddress(2, "plaintext-2", 9092, None, False),
    ]
    assert outside.address(2) == BrokerAddress(2, "outside-2", 19092, None, False)
    assert ClusterView(cluster.image, "ELSEWHERE").brokers() == []


def test_fenced_brokers_are_shown_when_asked_for() -> None:
    cluster = Cluster()
    cluster.register(2, fenced=True)
    view = ClusterView(cluster.image, "PLAINTEXT")
    assert [one.id for one in view.brokers()] == [1]
    assert [one.id for one in view.brokers(fenced=True)] == [1, 2]
    assert view.live([1, 2, 3]) == [1]


def test_the_controller_is_the_broker_that_answers_unless_it_is_fenced() -> None:
    cluster = Cluster([1])
    cluster.register(2, fenced=True)
    view = ClusterView(cluster.image, "PLAINTEXT")
    assert view.controller_id(1) == 1
    assert view.controller_id(2) == 1
    assert ClusterView(cluster.image, "ELSEWHERE").controller_id(1) == -1


def lasting(cluster: Cluster, *leaders: int) -> list[int]:
    return [one.id for one in ClusterView(cluster.image, "PLAINTEXT").lasting_brokers(leaders)]


def test_a_broker_that_shuts_down_is_named_while_it_leads_or_is_the_only_one() -> None:
    cluster = Cluster([1, 2, 3])
    assert lasting(cluster) == [1, 2, 3]
    cluster.shut_down(2)
    assert lasting(cluster, 1, 3) == [1, 3]
    assert lasting(cluster, 2) == [1, 2, 3]
    cluster.shut_down(1)
    assert lasting(cluster) == [3]
    cluster.shut_down(3)
    assert lasting(cluster, 1) == [1, 2, 3]


def test_a_broker_that_shuts_down_is_nobodys_controller_while_there_is_another() -> None:
    cluster = Cluster([1, 2])
    cluster.shut_down(1)
    assert ClusterView(cluster.image, "PLAINTEXT").controller_id(1) == 2
    cluster.shut_down(2)
    assert ClusterView(cluster.image, "PLAINTEXT").controller_id(1) == 1


def test_offline_replicas() -> None:
    cluster = Cluster([1])
    cluster.register(2, fenced=True)
    cluster.register(3, listeners=["OUTSIDE"])
    view = ClusterView(cluster.image, "PLAINTEXT")
    assert view.offline_replicas(partition(1, 2, 3, 4)) == [2, 3, 4]
    assert view.offline_replicas(partition(1, directory=LOST)) == [1]
    assert view.offline_replicas(partition(1, directory=MIGRATING)) == [1]
    assert view.offline_replicas(partition(1, directory=bytes(15) + b"\x99")) == [1]
    assert view.offline_replicas(partition(1, directory=bytes(16))) == []


def test_a_broker_that_names_no_directories_has_none_offline() -> None:
    cluster = Cluster([])
    from protocol.messages.metadata_records import BrokerEndpoint, RegisterBrokerRecord

    cluster.replay(
        RegisterBrokerRecord(
            1, end_points=[BrokerEndpoint("PLAINTEXT", "h", 1, 0)], fenced=False, log_dirs=[]
        )
    )
    assert ClusterView(cluster.image, "PLAINTEXT").offline_replicas(partition(1)) == []
