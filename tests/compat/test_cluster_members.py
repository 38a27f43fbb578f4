"""`ottla cluster grow` and `shrink`: the voters and brokers of a cluster change under load."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from command.members.local_cluster import LocalCluster
from command.members.plans import nodes_to_add
from protocol.messages.describe_cluster import DescribeClusterRequest
from tests.chaos.stock_producers import Confluent
from tests.clients.wire_client import WireClient
from tests.compat.local_clusters import (
    DEADLINE_S,
    ENVIRONMENT,
    Cluster,
    ottla,
    wait_for_status,
)
from tests.tools.ports import free_base
from tests.tools.static_cluster import static_files
from tests.tools.waiting import wait_until

TOPIC, PARTITIONS = "moves", 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cluster"


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Cluster]]:
    """Return a function that starts the cluster of the folder, with options."""
    running: list[Cluster] = []

    def begin(*options: str) -> Cluster:
        running.append(Cluster(folder, *options))
        return running[-1]

    yield begin
    for cluster in running:
        cluster.end()


@pytest.fixture
def cluster(start: Callable[..., Cluster]) -> Cluster:
    return start("--brokers", "3", "--port", str(free_base()))


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        ottla(*words), env=ENVIRONMENT, capture_output=True, text=True, timeout=2 * DEADLINE_S
    )


def do(*words: str) -> str:
    """Run a command that succeeds, and return its output."""
    done = command(*words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def voters(status: dict[str, Any]) -> list[int]:
    return [voter["node_id"] for voter in status["quorum"]["voters"]]


def some_more(producer: Confluent) -> None:
    """Wait until the cluster has acknowledged further records."""
    before = producer.acknowledged()
    wait_until(lambda: producer.acknowledged() > before + 50, "nothing is acknowledged")


def read_all(servers: str) -> list[list[int]]:
    """Return the values of each partition, in order."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader"})
    values: list[list[int]] = [[] for _ in range(PARTITIONS)]
    try:
        for number in range(PARTITIONS):
            _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, number), DEADLINE_S)
            consumer.assign([TopicPartition(TOPIC, number, 0)])
            while len(values[number]) < end:
                message = consumer.poll(DEADLINE_S)
                assert message is not None and message.error() is None, message
                value = message.value()
                assert value is not None
                values[number].append(int(value))
    finally:
        consumer.close()
    return values


@pytest.mark.timeout(400)
def test_three_nodes_become_five_and_three_again_under_load(
    folder: Path, cluster: Cluster, start: Callable[..., Cluster]
) -> None:
    """Read each record once at the end. The node that leads the quorum leaves, too."""
    servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    at = ("--dir", str(folder))
    do("topic", "create", TOPIC, "-p", str(PARTITIONS), "-r", "3", "-b", servers)
    producer = Confluent(servers, TOPIC, PARTITIONS, 0)
    producer.start()
    try:
        some_more(producer)
        do("cluster", "grow", "2", *at)
        assert voters(wait_for_status(servers, 0)) == [1, 2, 3, 4, 5]
        some_more(producer)

        do("cluster", "kill", "4", *at)
        some_more(producer)
        do("cluster", "restart", "4", *at)
        leader = wait_for_status(servers, 0)["quorum"]["leader_id"]

        do("cluster", "shrink", str(leader), *at)
        some_more(producer)
        other = next(node_id for node_id in (1, 2, 3) if node_id != leader)
        do("cluster", "shrink", str(other), *at)
        some_more(producer)
    finally:
        producer.stop()
    remaining = [node_id for node_id in (1, 2, 3, 4, 5) if node_id not in (leader, other)]
    servers = cluster.wait_for(rf"ready: bootstrap servers (\S+:\d+,\S+{_port(folder, 5)})$")[1]
    status = wait_for_status(servers, 0)
    assert voters(status) == remaining
    assert [broker["node_id"] for broker in status["brokers"]] == remaining
    assert _registered_controllers(folder, remaining[0]) == remaining
    assert sorted(path.name for path in folder.glob("broker-?")) == [
        f"broker-{node_id}" for node_id in remaining
    ]
    assert producer.errors == []
    assert cluster.end() == 0, cluster.lines

    again = start()
    servers = again.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    assert voters(wait_for_status(servers, 0)) == remaining
    partitions = read_all(servers)
    assert again.end() == 0, again.lines
    assert Counter(value for values in partitions for value in values) == Counter(
        range(producer.sent)
    )
    assert all(values == sorted(values) for values in partitions)


def _port(folder: Path, node_id: int) -> int:
    """Return the port for clients of a node."""
    text = (folder / f"broker-{node_id}.properties").read_text()
    return int(text.partition("listeners=")[2].partition("localhost:")[2].partition(",")[0])


def _registered_controllers(folder: Path, node_id: int) -> list[int]:
    """Return the ids of the controllers that a controller knows."""
    text = (folder / f"broker-{node_id}.properties").read_text()
    port = int(text.partition("CONTROLLER://localhost:")[2].splitlines()[0].partition(",")[0])
    with WireClient(port) as client:
        answer = client.call(DescribeClusterRequest(endpoint_type=2), 1)
    return sorted(controller.broker_id for controller in answer.brokers)


def test_a_node_does_not_leave_if_its_replicas_have_no_other_place(
    folder: Path, cluster: Cluster
) -> None:
    """Read a refusal, which leaves the cluster as it is, and do what it says."""
    servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    at = ("--dir", str(folder))
    do("topic", "create", TOPIC, "-p", "1", "-r", "3", "-b", servers)
    refused = command("cluster", "shrink", "1", *at)
    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [
        f"ottla: {TOPIC}-0 has 3 replicas, too many for the other live brokers (2, 3): start or "
        "add a broker first, or use --fewer-replicas"
    ]
    assert voters(wait_for_status(servers, 0)) == [1, 2, 3]
    do("cluster", "shrink", "1", "--fewer-replicas", *at)
    assert voters(wait_for_status(servers, 0)) == [2, 3]
    do("cluster", "kill", "3", *at)
    refused = command("cluster", "shrink", "3", *at)
    assert (refused.returncode, refused.stderr) == (
        2,
        "ottla: no majority of the controllers runs (3 of 2 do not), so the cluster cannot "
        "change: start one first, with ottla cluster restart 3\n",
    )
    do("cluster", "restart", "3", *at)
    do("cluster", "grow", *at)
    assert voters(wait_for_status(servers, 0)) == [1, 2, 3]


@pytest.mark.timeout(300)
def test_an_interrupted_growth_is_finished_and_a_lost_disk_replaced(
    folder: Path, cluster: Cluster, start: Callable[..., Cluster]
) -> None:
    servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    local = LocalCluster(str(folder), None)
    local.add(nodes_to_add(local.layout, 2))  # and the command is killed
    at = ("--dir", str(folder))
    assert "new in the cluster: 4, 5" in do("cluster", "grow", *at)
    status = wait_for_status(servers, 0)
    assert (voters(status), status["quorum"]["observers"]) == ([1, 2, 3, 4, 5], [])
    assert cluster.end() == 0, cluster.lines

    shutil.rmtree(folder / "broker-2" / "data")
    again = start()
    servers = again.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    assert voters(wait_for_status(servers, 1)) == [1, 2, 3, 4, 5], "the voter's disk is gone"
    assert "new in the cluster: 2" in do("cluster", "grow", *at)
    assert voters(wait_for_status(servers, 0)) == [1, 2, 3, 4, 5]


def test_a_static_cluster_grows_and_shrinks_by_brokers(
    folder: Path, start: Callable[..., Cluster]
) -> None:
    """Clusters of earlier releases keep their voters."""
    static_files(folder, 3, free_base())
    servers = start().wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    at = ("--dir", str(folder))
    for words, reason in (
        (("grow", "2"), "ottla: the quorum of this cluster is static "),
        (("shrink", "3"), "ottla: node 3 is a controller of a static quorum "),
    ):
        refused = command("cluster", *words, *at)
        assert refused.returncode == 2 and refused.stderr.startswith(reason), refused
        assert len(refused.stderr.splitlines()) == 1
    do("cluster", "grow", *at)
    do("topic", "create", TOPIC, "-p", "4", "-r", "2", "-b", servers)
    brokers = wait_for_status(servers, 0)["brokers"]
    assert [broker["node_id"] for broker in brokers] == [1, 2, 3, 4]
    do("cluster", "shrink", "4", *at)
    status = wait_for_status(servers, 0)
    assert ([broker["node_id"] for broker in status["brokers"]], voters(status)) == (
        [1, 2, 3],
        [1, 2, 3],
    )


def test_a_secured_cluster_grows_and_shrinks_by_its_administrator(
    folder: Path, start: Callable[..., Cluster]
) -> None:
    """Use the file that --secure made. New nodes get certificates, and the brokers' login."""
    cluster = start("--secure", "--brokers", "1", "--port", str(free_base()))
    servers = cluster.wait_for(r"the cluster is ready: bootstrap servers (\S+)$")[1]
    at = ("--dir", str(folder))
    do("cluster", "grow", "2", *at)
    servers = cluster.wait_for(rf"ready: bootstrap servers ({servers},\S+,\S+)$")[1]
    admin = ("--command-config", str(folder / "admin.properties"))
    assert voters(wait_for_status(servers, 0, *admin)) == [1, 2, 3]
    refused = command("cluster", "shrink", "1", *at, "--command-config", str(folder / "none"))
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
    do("cluster", "shrink", "1", *at)
    assert voters(wait_for_status(servers, 0, *admin)) == [2, 3]
