"""`ottla cluster` and `ottla status` as a newcomer uses them: three nodes, one of which dies."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from broker.config.properties import parse_properties
from command.cluster_folder import open_folder
from tests.compat.local_clusters import (
    DEADLINE_S,
    ENVIRONMENT,
    Cluster,
    ottla,
    status,
    wait_for_status,
)
from tests.tools.java_tools import java_command
from tests.tools.ports import free_base


@pytest.fixture
def clusters() -> Iterator[list[Cluster]]:
    """Clusters that are stopped whatever happens."""
    started: list[Cluster] = []
    yield started
    for one in started:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGINT)
            one.process.send_signal(signal.SIGTERM)  # the second kills
        one.end()


def produce(servers: str, values: Sequence[bytes], **login: str) -> None:
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": servers, "acks": "all", **login})
    for value in values:
        producer.produce("greetings", value, on_delivery=lambda error, _: refused.append(error))
    assert producer.flush(DEADLINE_S) == 0
    assert refused == [None] * len(values)


def consume(servers: str, count: int, **login: str) -> list[bytes | None]:
    settings = {"group.id": f"readers-{count}", "auto.offset.reset": "earliest", **login}
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    consumer.subscribe(["greetings"])
    values = [message.value() for message in consumer.consume(count, DEADLINE_S)]
    consumer.close()
    return values


@pytest.mark.timeout(300)
def test_a_cluster_lives_loses_a_node_and_stops(tmp_path: Path, clusters: list[Cluster]) -> None:
    folder = tmp_path / "cluster"
    cluster = Cluster(folder, "--brokers", "3", "--port", str(free_base()))
    clusters.append(cluster)
    servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    assert len(servers.split(",")) == 3
    cluster.wait_for("the cluster is healthy")

    addresses = servers.split(",")
    values = [b"%d" % one for one in range(20)]
    produce(servers, values)
    assert consume(servers, 20) == values
    told = wait_for_status(addresses[1], 0)
    assert [broker["node_id"] for broker in told["brokers"]] == [1, 2, 3]
    assert len(told["quorum"]["voters"]) == 3 and told["topics"] == 2

    pid = int(cluster.wait_for(r"node 2 serves on port \d+ \(process (\d+)\)")[1])
    said = len(cluster.lines)
    os.kill(pid, signal.SIGKILL)
    dead = cluster.wait_for(r"node 2 is dead \(killed by SIGKILL.*start it again with: (.*)$", said)
    cluster.wait_for(r"the cluster is degraded: .*under-replicated", said)
    told = wait_for_status(addresses[0], 1)
    assert told["offline"] == [] and told["under_replicated"] != []
    produce(servers, [b"after"])
    assert consume(servers, 21) == [*values, b"after"]

    by_hand = subprocess.Popen(
        shlex.split(dead[1]), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    try:
        cluster.wait_for("node 2 was started again by hand", said)
        wait_for_status(servers, 0)
    finally:
        by_hand.terminate()
        assert by_hand.wait(DEADLINE_S) == 0

    pid = int(cluster.wait_for(r"node 3 serves on port \d+ \(process (\d+)\)")[1])
    said = len(cluster.lines)
    os.kill(pid, signal.SIGKILL)
    lost = "the quorum is lost, no active controller answers"
    cluster.wait_for(f"the cluster is degraded: .*{lost}", said)
    code, told = status(servers)
    assert (code, told["quorum"]) == (1, None)
    assert [broker["node_id"] for broker in told["brokers"] if broker["reachable"]] == [1]

    assert cluster.end() == 1, "nodes were killed"
    assert any(line.endswith("node 1 stopped") for line in cluster.lines)
    code, told = status(servers)
    assert (code, told["healthy"]) == (2, False) and "Connection refused" in told["error"]


def test_it_goes_on_where_it_was_and_ends_cleanly(tmp_path: Path, clusters: list[Cluster]) -> None:
    folder = tmp_path / "cluster"
    for round_number in (1, 2):
        options = ("--brokers", "3", "--port", str(free_base())) if round_number == 1 else ()
        cluster = Cluster(folder, *options)
        clusters.append(cluster)
        servers = cluster.wait_for(r"bootstrap servers (\S+)$")[1]
        if round_number == 1:
            produce(servers, [b"kept"])
        else:
            assert consume(servers, 1) == [b"kept"]
        assert cluster.end(signal.SIGTERM) == 0, cluster.lines
    assert cluster.lines[0].startswith("ottla: cluster ")


def test_a_cluster_of_one_grows(tmp_path: Path, clusters: list[Cluster]) -> None:
    """The new broker follows a node that is broker, controller and the only voter."""
    folder = tmp_path / "cluster"
    port = free_base()
    for brokers in (1, 2):
        cluster = Cluster(folder, "--brokers", str(brokers), "--port", str(port))
        clusters.append(cluster)
        servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
        produce(servers, [b"%d" % brokers])
        assert consume(servers, brokers) == [b"%d" % one for one in range(1, brokers + 1)]
        assert cluster.end(signal.SIGTERM) == 0, cluster.lines


def login_of(file: Path) -> dict[str, str]:
    """What librdkafka needs of a client's file."""
    keys = parse_properties(file.read_text())
    user = re.search(r'username="([^"]*)" password="([^"]*)"', keys["sasl.jaas.config"])
    assert user is not None
    return {
        "security.protocol": keys["security.protocol"],
        "sasl.mechanism": keys["sasl.mechanism"],
        "sasl.username": user[1],
        "sasl.password": user[2],
        "ssl.ca.location": keys["ssl.truststore.location"],
    }


@pytest.mark.timeout(300)
def test_a_secured_cluster_lets_in_who_has_its_files(
    tmp_path: Path, clusters: list[Cluster]
) -> None:
    folder = tmp_path / "cluster"
    cluster = Cluster(folder, "--secure", "--port", str(free_base()))
    clusters.append(cluster)
    servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    cluster.wait_for("the cluster is healthy")
    shown = cluster.wait_for(r"try it: ottla status (.*)$")[1]
    assert subprocess.run(ottla("status", *shlex.split(shown)), env=ENVIRONMENT).returncode == 0

    login, file = login_of(folder / "client.properties"), folder / "client.properties"
    values = [b"%d" % one for one in range(20)]
    produce(servers, values, **login)
    assert consume(servers, 20, **login) == values
    code, told = status(servers)
    assert (code, told["healthy"]) == (2, False), "without TLS"
    assert "this is a listener with TLS" in told["error"]
    admin = {"bootstrap.servers": servers, **login_of(folder / "admin.properties")}
    by_admin = AdminClient({**admin, "log_level": "0"})
    told = by_admin.describe_user_scram_credentials(["client"])["client"].result(DEADLINE_S)
    assert len(told.scram_credential_infos) == 1
    acl = ("acl", "add", "--allow-principal", "User:client", "--topic", "t", "--operation", "Alter")
    words = ottla(*acl, "--bootstrap-server", servers, "--command-config")
    for who, code in (("client", 1), ("admin", 0)):
        done = subprocess.run([*words, str(folder / f"{who}.properties")], env=ENVIRONMENT)
        assert done.returncode == code, who
    with pytest.raises(KafkaException):
        wrong = {**login, "bootstrap.servers": servers, "sasl.password": "no", "log_level": "0"}
        AdminClient(wrong).list_topics(timeout=3)

    pid = int(cluster.wait_for(r"node 2 serves on port \d+ \(process (\d+)\)")[1])
    said = len(cluster.lines)
    os.kill(pid, signal.SIGKILL)
    cluster.wait_for(r"the cluster is degraded: .*under-replicated", said)
    wait_for_status(servers, 1, "--command-config", str(file))
    produce(servers, [b"after"], **login)
    assert consume(servers, 21, **login) == [*values, b"after"]
    assert cluster.end() == 1, "a node was killed"

    again = Cluster(folder)
    clusters.append(again)
    again.wait_for("the cluster is healthy")
    assert consume(servers, 21, **{**login, "group.id": "again"}) == [*values, b"after"]
    assert again.end() == 0, again.lines
    logs = [(folder / f"broker-{one}" / "ottla.log").read_text() for one in (1, 2, 3)]
    told_all = "\n".join([*cluster.lines, *again.lines, *logs])
    for user in ("client.properties", "admin.properties", "broker-1.properties"):
        (password,) = re.findall(r'password="([^"]*)"', (folder / user).read_text())
        assert password not in told_all
    assert "Traceback" not in told_all


@pytest.mark.java
def test_apache_kafka_starts_on_a_secured_folder(tmp_path: Path) -> None:
    """Its keys, certificates and users are Kafka's own, so Kafka makes the same node of them."""
    folder, base = tmp_path / "cluster", free_base()
    open_folder(str(folder), 1, base, secure=True)
    with (tmp_path / "kafka.log").open("wb") as log:
        kafka = subprocess.Popen(
            java_command("kafka.Kafka", str(folder / "broker-1.properties")),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        file = folder / "client.properties"
        told = wait_for_status(f"localhost:{base}", 0, "--command-config", str(file))
        assert [broker["node_id"] for broker in told["brokers"]] == [1]
        produce(f"localhost:{base}", [b"one"], **login_of(file))
    finally:
        kafka.terminate()
        kafka.wait(DEADLINE_S)
