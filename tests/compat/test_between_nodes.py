"""Nodes that reach brokers over SASL_SSL, and controllers over TLS with certificates.

Logins between brokers end after two seconds, so that each connection makes its login again many
times. What a client has written is there, whoever died, and no log has a password.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from protocol.messages import incremental_alter_configs as incremental
from tests.certificates import authority, pem_files, self_signed, server
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.token_issuer import AUDIENCE, CLIENT, SECRET, TokenIssuer
from tests.tools.waiting import wait_until

OAUTH = "org.apache.kafka.common.security.oauthbearer"
TOKENS = f"{OAUTH}.OAuthBearerLoginModule"
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
    assert producer.flush(60) == 0
    return told


def produce_over(cluster: ClusterProcesses, lasts_s: float, losses: str) -> None:
    """Produce to `t` until no connection was lost for so long.

    A node that a busy machine holds up may log in too late, whose connection ends; where nodes do
    not log in again, each connection ends with its login.
    """

    def outlasts() -> bool:
        lost, begun_s = lines_of(cluster, losses), time.monotonic()
        while lines_of(cluster, losses) == lost:
            assert produce(cluster, "t", 50, 0.01) == []
            if time.monotonic() - begun_s > lasts_s:
                return True
        return False

    wait_until(outlasts, f"{lasts_s} s without a lost connection")


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
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(60)
        produce_over(cluster, 3 * SESSION_MS / 1000, "no connection to|no answer from|Failed ")
        cluster.kill(1)
        assert produce(cluster, "t", 50) == []
        cluster.start_node(1)
        assert produce(cluster, "t", 50) == []
        assert lines_of(cluster, PASSWORD) == []


def by_token(folder: Path, issuer: TokenIssuer) -> dict[str, str]:
    """Keys for all nodes: tokens wherever there were passwords, and instead of certificates."""
    by_password = secured(folder)
    keys = {name: text for name, text in by_password.items() if name.startswith("ssl.")}
    for listener in (BROKERS, CONTROLLERS):
        keys |= {
            f"{listener}.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{listener}.oauthbearer.sasl.jaas.config": (
                f'{TOKENS} required clientId="{CLIENT}" clientSecret="{SECRET}";'
            ),
            f"{listener}.oauthbearer.sasl.login.callback.handler.class": (
                f"{OAUTH}.OAuthBearerLoginCallbackHandler"
            ),
            f"{listener}.oauthbearer.sasl.server.callback.handler.class": (
                f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
            ),
        }
    return {
        **keys,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL,CONTROLLER:SASL_SSL"
        ),
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.mechanism.controller.protocol": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": issuer.token_url,
        "sasl.oauthbearer.jwks.endpoint.url": issuer.jwks_url,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.allow.unverified.issuer": "true",
        "default.replication.factor": "2",
        "min.insync.replicas": "2",
    }


def test_nodes_log_in_by_tokens_that_expire(tmp_path: Path) -> None:
    """For several of their lives, over the same connections."""
    life_s = 3
    with (
        TokenIssuer(tmp_path, life_s) as issuer,
        ClusterProcesses(
            3, roles=("controller", "broker", "broker"), properties=by_token(tmp_path, issuer)
        ) as cluster,
    ):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 2, 2)])["t"].result(60)
        issued = issuer.issued
        produce_over(cluster, 3 * life_s, "no connection to|no answer from|Failed |No token")
        assert issuer.issued - issued >= 8, "two or more for each node"
        failed = lines_of(cluster, "Failed ")
        cluster.kill(2)  # whether it is gone is looked at by a controller that is no broker
        cluster.start_node(2)
        assert produce(cluster, "t", 50) == []
        assert lines_of(cluster, "broker 2 is gone: nobody listens") != []
        assert lines_of(cluster, "Failed ") == failed
        assert lines_of(cluster, f"{SECRET}|eyJ") == []


def read_again(cluster: ClusterProcesses, key: str, path: Path) -> None:
    """Have each node read a store of both listeners between nodes again, and see that it did.

    Each half reads it, who serves and who connects: until both have, the file has to stay.
    """
    anew = r"listener (INTERNAL|CONTROLLER) (is secured|of others) anew"
    wanted = len(lines_of(cluster, anew)) + 2 * 2 * len(cluster.nodes)
    for node in cluster.nodes.values():
        configs = [
            incremental.AlterableConfig(f"{listener}.{key}", 0, str(path))
            for listener in (BROKERS, CONTROLLERS)
        ]
        resource = incremental.AlterConfigsResource(4, str(node.node_id), configs)
        request = incremental.IncrementalAlterConfigsRequest([resource], False)
        with WireClient(node.client_port) as client:
            (answer,) = client.call(request, 1).responses
        assert (answer.error_code, answer.error_message) == (0, None)
    wait_until(lambda: len(lines_of(cluster, anew)) >= wanted, "the store in both halves")


def test_both_halves_go_over_to_another_authority(tmp_path: Path) -> None:
    """Nothing of the old one is trusted in the end, by who serves and by who connects."""
    stores, old, new = secured(tmp_path), authority(), self_signed("CN=New CA", is_authority=True)
    keystore, truststore = (
        Path(stores[f"ssl.{name}.location"]) for name in ("keystore", "truststore")
    )
    with ClusterProcesses(3, properties=stores) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(60)
        truststore.write_text(old.certificate_pem + new.certificate_pem)
        read_again(cluster, "ssl.truststore.location", truststore)
        other = new.signs("CN=broker", hosts=("localhost", "127.0.0.1"))
        keystore.write_text(other.key_pem() + other.chain_pem)
        read_again(cluster, "ssl.keystore.location", keystore)
        truststore.write_text(new.certificate_pem)
        read_again(cluster, "ssl.truststore.location", truststore)
        assert produce(cluster, "t", 20) == []
        for node in (1, 2):
            cluster.kill(node)
            cluster.start_node(node)
            assert produce(cluster, "t", 20) == []
        assert lines_of(cluster, "as before|certificate verify failed|unknown ca") == []


def test_a_broker_that_is_not_let_in_says_so_and_so_does_the_other(tmp_path: Path) -> None:
    with ClusterProcesses(3, properties=secured(tmp_path, WRONG)) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(60)
        said = r"no connection to .* \(SASL_SSL, PLAIN\): Authentication failed: Invalid username"
        heard = r"Failed authentication with .* \(Authentication failed: Invalid username"
        wait_until(lambda: lines_of(cluster, said), "a line of the node that is refused")
        wait_until(lambda: lines_of(cluster, heard), "a line of the node that refuses")
        assert lines_of(cluster, f"{WRONG}|{PASSWORD}") == []
