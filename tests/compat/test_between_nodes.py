"""Three nodes that reach brokers over SASL_SSL, and controllers over TLS with certificates.

Logins between brokers end after two seconds, so that each connection makes its login again many
times. What a client has written is there, whoever died, and no log has a password.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.certificates import pem_files, server
from tests.tools.cluster_processes import ClusterProcesses

PASSWORD, WRONG = "between-nodes-secret", "not-the-password"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SESSION_MS = 2_000
BROKERS, CONTROLLERS = "listener.name.internal", "listener.name.controller"


def secured(folder: Path, password: str = PASSWORD) -> dict[str, str]:
    """Keys for all nodes; they log in to others by `password`."""
    tls = pem_files(folder, server())
    jaas = f'{LOGIN} username="node" password="{password}" user_node="{PASSWORD}";'
    return {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL,CONTROLLER:SSL",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        f"{BROKERS}.sasl.enabled.mechanisms": "PLAIN",
        f"{BROKERS}.plain.sasl.jaas.config": jaas,
        f"{BROKERS}.plain.connections.max.reauth.ms": str(SESSION_MS),
        f"{CONTROLLERS}.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tls.keystore_location),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tls.truststore_location),
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
    }


def produce(cluster: ClusterProcesses, topic: str, count: int, pause_s: float = 0.0) -> list[str]:
    """Errors of that many records, with acks=all."""
    told: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for number in range(count):
        producer.produce(
            topic, str(number), on_delivery=lambda error, _: error and told.append(str(error))
        )
        producer.poll(pause_s)
    assert producer.flush(30) == 0
    return told


def lines_of(cluster: ClusterProcesses, pattern: str) -> list[str]:
    """Lines of the nodes' logs."""
    return [
        line
        for node in cluster.nodes.values()
        for line in node.log_text().splitlines()
        if re.search(pattern, line)
    ]


def test_logins_are_made_again_and_a_node_may_die(tmp_path: Path) -> None:
    with ClusterProcesses(3, properties=secured(tmp_path)) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(20)
        lasts_s = 3 * SESSION_MS / 1000
        begun_s = time.monotonic()
        while time.monotonic() - begun_s < lasts_s:
            assert produce(cluster, "t", 50, 0.01) == []
        assert lines_of(cluster, "no connection to|no answer from|Failed ") == []
        cluster.kill(1)
        assert produce(cluster, "t", 50) == []
        cluster.start_node(1)
        assert produce(cluster, "t", 50) == []
        assert lines_of(cluster, PASSWORD) == []


def test_a_broker_that_is_not_let_in_says_so_and_so_does_the_other(tmp_path: Path) -> None:
    with ClusterProcesses(3, properties=secured(tmp_path, WRONG)) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(20)
        deadline_s = time.monotonic() + 15
        said = r"no connection to .* \(SASL_SSL, PLAIN\): Authentication failed: Invalid username"
        heard = r"Failed authentication with .* \(Authentication failed: Invalid username"
        while not (lines_of(cluster, said) and lines_of(cluster, heard)):
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        assert lines_of(cluster, f"{WRONG}|{PASSWORD}") == []
