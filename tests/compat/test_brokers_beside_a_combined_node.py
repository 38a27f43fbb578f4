"""Kafka's common small cluster: one node that is broker, controller and the only voter, and two
brokers beside it. Of Ottla, and with one or two nodes of Apache Kafka.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.chaos.cluster_view import ClusterView
from tests.tools.apache_kafka import answers_api_versions
from tests.tools.cluster_processes import COMBINED, KAFKA, OTTLA, ClusterProcesses

ROLES = (COMBINED, "broker", "broker")
PROPERTIES = {"min.insync.replicas": "2", "offsets.topic.num.partitions": "3"}
WAITS = "no leader of the quorum could be reached"
PATIENCE_S = 60


@pytest.fixture
def cluster() -> Iterator[ClusterProcesses]:
    made = ClusterProcesses(3, roles=ROLES, properties=PROPERTIES)
    yield made
    made.close()


def wait_for_line(cluster: ClusterProcesses, node_id: int, text: str) -> str:
    """The first line of a node with `text`."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        log = cluster.nodes[node_id].log_text()
        for line in log.splitlines():
            if text in line:
                return line
        assert time.monotonic() < deadline, log
        time.sleep(0.05)


class Records:
    """Write with acks=all, and return what is read back."""

    def __init__(self, cluster: ClusterProcesses, topic: str) -> None:
        self.cluster = cluster
        self.topic = topic
        self.written: list[bytes] = []

    def write(self, count: int = 20) -> None:
        producer = Producer(
            {"bootstrap.servers": self.cluster.bootstrap, "acks": "all", "linger.ms": 0}
        )
        failures: list[object] = []
        values = [b"%d" % (len(self.written) + number) for number in range(count)]
        for value in values:
            producer.produce(
                self.topic,
                value,
                partition=0,
                callback=lambda error, _message: failures.append(error) if error else None,
            )
        assert producer.flush(PATIENCE_S) == 0
        assert failures == []
        self.written += values

    def check(self) -> None:
        """By each broker in its turn."""
        for node in self.cluster.brokers:
            consumer = Consumer({"bootstrap.servers": node.address, "group.id": "readers"})
            consumer.assign([TopicPartition(self.topic, 0, 0)])
            found: list[bytes | None] = []
            deadline = time.monotonic() + PATIENCE_S
            while len(found) < len(self.written):
                assert time.monotonic() < deadline, f"{len(found)} of {len(self.written)} records"
                message = consumer.poll(1.0)
                if message is not None and message.error() is None:
                    found.append(message.value())
            consumer.close()
            assert found == self.written


def check_life(cluster: ClusterProcesses) -> None:
    """Records are written and read while first a broker and then the combined node restart."""
    view = ClusterView(cluster)
    view.create_topic("orders", 1)
    records = Records(cluster, "orders")
    records.write()
    cluster.restart(3)
    records.write()
    view.full_isr({"orders-0": 3})
    cluster.restart(1)
    view.full_isr({"orders-0": 3})
    records.write()
    records.check()
    assert view.controller() == 1
    assert cluster.unexpected_deaths() == []


def test_brokers_find_the_only_voter(cluster: ClusterProcesses) -> None:
    cluster.start()
    check_life(cluster)


def test_the_only_voter_lets_in_nodes_and_nobody_else() -> None:
    """Its listener has the guard of any controller's: here TLS with certificates."""
    with ClusterProcesses(3, roles=ROLES, properties=PROPERTIES, secured=True) as cluster:
        ClusterView(cluster).create_topic("orders", 1)
        port = cluster.nodes[1].controller_port
        assert not answers_api_versions(port)
        no_certificate = ssl.create_default_context()
        no_certificate.check_hostname = False
        no_certificate.verify_mode = ssl.CERT_NONE
        assert not answers_api_versions(port, tls=no_certificate)


def test_a_broker_says_why_it_waits_and_comes_up_with_the_controller(
    cluster: ClusterProcesses,
) -> None:
    cluster.start_node(2, wait=False)
    address = f"1@127.0.0.1:{cluster.nodes[1].controller_port}: connection refused"
    assert address in wait_for_line(cluster, 2, WAITS)
    cluster.start_node(1)
    cluster.wait_until_serving(2)
    wait_for_line(cluster, 2, "a leader of the quorum is reached again")
    assert cluster.nodes[2].log_text().count(WAITS) == 1


@pytest.mark.java
@pytest.mark.parametrize("combined", [OTTLA, KAFKA])
def test_with_brokers_of_the_other_make(combined: str) -> None:
    brokers = KAFKA if combined == OTTLA else OTTLA
    # Of Kafka's defaults, those that Ottla does not know: level 0.
    features = {"streams.version": 0}
    made = ClusterProcesses(
        3,
        peer=combined,
        others={2: brokers, 3: brokers},
        roles=ROLES,
        properties=PROPERTIES,
        features=features,
    )
    with made as cluster:
        check_life(cluster)
