"""Kafka's own command-line tools against three nodes: what an operator of a cluster types.

One cluster for the module, one JVM for the tools. With `--broker=apache-kafka` the same against
Apache Kafka, which shows that the expectations are Kafka's.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from broker.config.authorizer import STANDARD_AUTHORIZER
from controller.metadata.acl import PatternType
from controller.metadata.version import LATEST_LEVEL, level_name
from ottla.plugins.authorizer import Operation, Resource
from tests import acls
from tests.chaos.checker import check
from tests.chaos.cluster_view import ClusterView
from tests.chaos.history import History
from tests.chaos.stock_producers import Confluent
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses
from tests.tools.java_tools import TOOLS, java_command
from tests.tools.kafka_tools import KafkaTools
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.java

PARTITIONS = 3
PROPERTIES = {
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterProcesses]:
    apache = request.config.getoption("--broker") == "apache-kafka"
    with ClusterProcesses(3, peer=KAFKA if apache else OTTLA, properties=PROPERTIES) as running:
        yield running
        assert running.unexpected_deaths() == []


@pytest.fixture(scope="module")
def tools(cluster: ClusterProcesses) -> Iterator[KafkaTools]:
    with KafkaTools(cluster.bootstrap) as running:
        yield running


@pytest.fixture
def topic(cluster: ClusterProcesses, tools: KafkaTools) -> str:
    """A new topic of three partitions with three replicas each, which every broker knows."""
    name = f"cluster-{uuid4().hex[:8]}"
    created = tools(
        "kafka-topics",
        *("--create", "--topic", name, "--partitions", str(PARTITIONS)),
        *("--replication-factor", "3"),
    )
    assert created.lines == [f"Created topic {name}."]
    ClusterView(cluster).full_isr({f"{name}-{number}": 3 for number in range(PARTITIONS)})
    return name


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait for what a command shows: each look starts a JVM or asks three nodes."""
    wait_until(condition, what, pause_s=0.2)


def described(tools: KafkaTools, topic: str, *more: str) -> dict[int, dict[str, str]]:
    """Columns of kafka-topics --describe by partition."""
    lines = tools("kafka-topics", "--describe", "--topic", topic, *more).lines
    rows = {}
    for line in lines:
        columns = dict(re.findall(r"(\w+): (\S*)", line))
        if "Partition" in columns:
            rows[int(columns["Partition"])] = columns
    return rows


def isr(row: dict[str, str]) -> list[int]:
    return sorted(int(node) for node in row["Isr"].split(","))


def test_topics_with_three_replicas(
    cluster: ClusterProcesses, tools: KafkaTools, topic: str
) -> None:
    rows = described(tools, topic)
    assert sorted(rows) == [0, 1, 2]
    assert {row["Leader"] for row in rows.values()} == {"1", "2", "3"}, "leaders are spread"
    assert all(isr(row) == [1, 2, 3] for row in rows.values())
    head = tools("kafka-topics", "--describe", "--topic", topic).lines[0]
    assert "ReplicationFactor: 3" in head and "PartitionCount: 3" in head
    assert described(tools, topic, "--under-replicated-partitions") == {}

    too_many = tools.run(
        "kafka-topics",
        *("--bootstrap-server", cluster.bootstrap, "--create", "--topic", f"{topic}-x"),
        *("--partitions", "1", "--replication-factor", "9"),  # another test starts a fourth broker
    )
    assert too_many.exit == 1
    assert "InvalidReplicationFactorException" in too_many.stdout + too_many.stderr


def test_a_broker_that_is_down_shows_and_comes_back_to_lead(
    cluster: ClusterProcesses, tools: KafkaTools, topic: str, tmp_path: Path
) -> None:
    tools.produce(topic, 30)
    cluster.kill(2)
    under = ("--under-replicated-partitions",)
    eventually(lambda: len(described(tools, topic, *under)) == PARTITIONS, "nobody shows it")
    rows = described(tools, topic)
    assert all(isr(row) == [1, 3] and row["Leader"] in "13" for row in rows.values()), rows
    cluster.start_node(2)
    eventually(lambda: described(tools, topic, *under) == {}, "it does not come back")
    preferred = {number: row["Replicas"].split(",")[0] for number, row in rows.items()}
    elect = tmp_path / "elect.json"
    parts = [{"topic": topic, "partition": number} for number in rows]
    elect.write_text(json.dumps({"partitions": parts}))
    elected = tools(
        *("kafka-leader-election", "--election-type", "preferred"),
        *("--path-to-json-file", str(elect)),
    )
    assert "Successfully completed leader election (PREFERRED) for partitions" in elected.stdout
    eventually(
        lambda: {n: row["Leader"] for n, row in described(tools, topic).items()} == preferred,
        "the first replicas do not lead",
    )
    assert tools.offsets(topic, "latest") and sum(tools.offsets(topic, "latest")) == 30


def test_partitions_are_reassigned(
    cluster: ClusterProcesses, tools: KafkaTools, topic: str, tmp_path: Path
) -> None:
    tools.produce(topic, 30)
    wanted = tmp_path / "topics.json"
    wanted.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    generated = tools(
        "kafka-reassign-partitions",
        *("--topics-to-move-json-file", str(wanted), "--broker-list", "1,2,3", "--generate"),
    )
    assert generated.lines[0] == "Current partition replica assignment"
    proposal = json.loads(generated.lines[-1])
    assert len(proposal["partitions"]) == PARTITIONS

    plan = tmp_path / "plan.json"
    moves = [
        {"topic": topic, "partition": 0, "replicas": [2, 3]},
        {"topic": topic, "partition": 1, "replicas": [3, 1]},
        {"topic": topic, "partition": 2, "replicas": [1, 2]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    file = ("--reassignment-json-file", str(plan))
    executed = tools("kafka-reassign-partitions", *file, "--execute", "--throttle", "10000000")
    assert "Successfully started partition reassignments for" in executed.stdout
    assert "The inter-broker throttle limit was set to 10000000 B/s" in executed.stdout

    def verified() -> bool:
        said = tools("kafka-reassign-partitions", *file, "--verify", "--preserve-throttles").stdout
        return said.count("is completed.") == PARTITIONS

    eventually(verified, "the reassignment does not end")
    rows = described(tools, topic)
    assert {n: row["Replicas"] for n, row in rows.items()} == {0: "2,3", 1: "3,1", 2: "1,2"}
    cleared = tools("kafka-reassign-partitions", *file, "--verify").stdout
    assert f"Clearing topic-level throttles on topic {topic}" in cleared
    assert "Clearing broker-level throttles on brokers 1,2,3" in cleared
    assert sum(tools.offsets(topic, "latest")) == 30


def fill(bootstrap: str, topic: str, megabytes: int) -> None:
    """So much into partition 0."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for _ in range(megabytes * 10):
        producer.produce(topic, bytes(100_000), partition=0)
    assert producer.flush(60) == 0


def test_a_reassignment_is_cancelled(
    cluster: ClusterProcesses, tools: KafkaTools, topic: str, tmp_path: Path
) -> None:
    """Throttled to next to nothing it does not end, and goes back to what was."""
    plan = tmp_path / "plan.json"
    file = ("--reassignment-json-file", str(plan))
    narrow = [{"topic": topic, "partition": 0, "replicas": [1, 2]}]
    plan.write_text(json.dumps({"version": 1, "partitions": narrow}))
    tools("kafka-reassign-partitions", *file, "--execute")
    eventually(lambda: described(tools, topic)[0]["Replicas"] == "1,2", "it does not narrow")
    fill(cluster.bootstrap, topic, 12)  # a fetch of 10 MB may pass before a throttle acts
    wide = [{"topic": topic, "partition": 0, "replicas": [1, 2, 3]}]
    plan.write_text(json.dumps({"version": 1, "partitions": wide}))
    tools("kafka-reassign-partitions", *file, "--execute", "--throttle", "100")
    listed = tools("kafka-reassign-partitions", "--list").stdout
    assert f"{topic}-0: replicas: 1,2,3. adding: 3." in listed, listed
    in_progress = tools("kafka-reassign-partitions", *file, "--verify", "--preserve-throttles")
    assert f"Reassignment of partition {topic}-0 is still in progress." in in_progress.stdout
    cancelled = tools("kafka-reassign-partitions", *file, "--cancel").stdout
    assert f"Successfully cancelled partition reassignment for: {topic}-0" in cancelled
    assert described(tools, topic)[0]["Replicas"] == "1,2"
    assert (
        "No partition reassignments found." in tools("kafka-reassign-partitions", "--list").stdout
    )


def test_a_fourth_broker_takes_partitions_over_under_load(
    cluster: ClusterProcesses, tools: KafkaTools, topic: str, tmp_path: Path
) -> None:
    """Nothing lost, nothing repeated, no error of the client."""
    producer = Confluent(cluster.bootstrap, topic, PARTITIONS, 1)
    producer.start()
    fourth = cluster.add_broker()
    cluster.start_node(fourth.node_id)
    plan = tmp_path / "plan.json"
    moves = [
        {"topic": topic, "partition": 0, "replicas": [4, 1, 2]},
        {"topic": topic, "partition": 1, "replicas": [2, 3, 4]},
        {"topic": topic, "partition": 2, "replicas": [3, 4, 1]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    file = ("--reassignment-json-file", str(plan))
    tools("kafka-reassign-partitions", *file, "--execute")
    eventually(
        lambda: (
            tools("kafka-reassign-partitions", *file, "--verify").stdout.count("is completed.")
            == PARTITIONS
        ),
        "the reassignment does not end",
    )
    tools(
        "kafka-leader-election",
        "--election-type",
        "preferred",
        "--topic",
        topic,
        "--partition",
        "0",
    )
    eventually(lambda: described(tools, topic)[0]["Leader"] == "4", "the new one does not lead")
    moved = producer.acknowledged()
    eventually(lambda: producer.acknowledged() > moved + 100, "nothing is acknowledged")
    producer.stop()
    assert producer.errors == []
    keys = [f"{topic}-{number}" for number in range(PARTITIONS)]
    read = ClusterView(cluster).read_all(keys)
    assert check(History([*producer.history().events, *read])) == []
    assert sum(len(final.records) for final in read) == producer.sent
    cluster.terminate(fourth.node_id)
    del cluster.nodes[fourth.node_id]


def test_the_java_producer_sees_no_restart(
    cluster: ClusterProcesses, tools: KafkaTools, topic: str
) -> None:
    """Each node in turn is stopped and started: no delivery error, none lost, none repeated. An ACL
    is still there."""
    records = 1_800
    kept = acls.allow("User:ann", Operation.WRITE, Resource.TOPIC, topic)
    with WireClient(cluster.brokers[0].client_door) as client:
        acls.add(client, kept)
    arguments = [
        *("--topic", topic, "--num-records", str(records), "--record-size", "100"),
        *("--throughput", "100", "--print-metrics", "--producer-props"),
        *(f"bootstrap.servers={cluster.bootstrap}", "acks=all", "enable.idempotence=true"),
    ]
    producer = subprocess.Popen(
        java_command(TOOLS["kafka-producer-perf-test"], *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    try:
        eventually(lambda: sum(tools.offsets(topic, "latest")) > 50, "nothing is produced")
        view = ClusterView(cluster)
        under_load = 0
        for node_id in (1, 2, 3):
            under_load += producer.poll() is None
            cluster.restart(node_id)
            view.full_isr({f"{topic}-{number}": 3 for number in range(PARTITIONS)})
        said, _ = producer.communicate(timeout=120)
    finally:
        producer.kill()
        producer.wait()
    assert producer.returncode == 0, said
    assert under_load, "it was done before the first restart"
    assert f"{records} records sent" in said
    errors = re.findall(r"record-error-total:\{[^}]*\}\s*: (\S+)", said)
    assert errors and set(errors) == {"0.000"}, said
    assert sum(tools.offsets(topic, "latest")) == records
    for node in cluster.brokers:
        with WireClient(node.client_door) as client:
            assert acls.described(client) == {kept}
    with WireClient(cluster.brokers[0].client_door) as client:
        assert acls.remove(client) == [kept]


def test_the_quorum_is_described(cluster: ClusterProcesses, tools: KafkaTools) -> None:
    status = tools("kafka-metadata-quorum", "describe", "--status").stdout
    columns = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.MULTILINE))
    assert columns["ClusterId"] == cluster.cluster_id
    assert columns["LeaderId"] in "123" and int(columns["LeaderEpoch"]) >= 1
    assert int(columns["HighWatermark"]) > 0
    for node in (1, 2, 3):
        assert f'"id": {node}' in columns["CurrentVoters"], status
    replication = tools("kafka-metadata-quorum", "describe", "--replication").lines
    assert replication[0].split()[:3] == ["NodeId", "DirectoryId", "LogEndOffset"]
    roles = {line.split()[0]: line.split()[-1] for line in replication[1:]}
    # A fourth node that was there before is still remembered as an observer.
    voters = {node: role for node, role in roles.items() if role != "Observer"}
    assert sorted(voters) == ["1", "2", "3"]
    assert sorted(voters.values()) == ["Follower", "Follower", "Leader"]
    assert roles[columns["LeaderId"]] == "Leader"

    by_controller = tools.run(
        *("kafka-metadata-quorum", "--bootstrap-controller", cluster.bootstrap_controllers),
        *("describe", "--status"),
    )
    assert by_controller.exit == 0, by_controller
    assert cluster.cluster_id in by_controller.stdout


def test_features_and_endpoints(cluster: ClusterProcesses, tools: KafkaTools) -> None:
    features = tools("kafka-features", "describe").lines
    named = {line.split()[1]: line for line in features}
    newest = f"FinalizedVersionLevel: {level_name(LATEST_LEVEL)}"
    assert newest in named["metadata.version"], features
    assert "kraft.version" in named or "group.version" in named

    # This one wants its command first.
    brokers = tools.run(
        *("kafka-cluster", "list-endpoints", "--bootstrap-server", cluster.bootstrap)
    ).lines
    assert sorted(line.split()[0] for line in brokers[1:]) == ["1", "2", "3"], brokers
    ports = {str(node.client_door) for node in cluster.brokers}
    assert {line.split()[2] for line in brokers[1:]} == ports
    controllers = tools.run(
        *("kafka-cluster", "list-endpoints"),
        *("--bootstrap-controller", cluster.bootstrap_controllers),
    )
    assert controllers.exit == 0, controllers
    rows = [line.split() for line in controllers.lines[1:]]
    assert sorted(row[0] for row in rows) == ["1", "2", "3"]
    assert {row[-1] for row in rows} == {"controller"}


def test_acls_by_brokers_and_by_controllers(cluster: ClusterProcesses, tools: KafkaTools) -> None:
    """What one of them was told, all tell."""
    by_controllers = ("--bootstrap-controller", cluster.bootstrap_controllers)
    topic = ("--topic", "secret", "--resource-pattern-type", "prefixed")

    def told(*arguments: str) -> str:
        done = tools.run("kafka-acls", *arguments)
        assert done.exit == 0, done
        return done.stdout

    told(*by_controllers, "--add", "--allow-principal", "User:ann", "--operation", "Read", *topic)
    made = acls.allow(
        "User:ann", Operation.READ, Resource.TOPIC, "secret", pattern=PatternType.PREFIXED
    )
    for node in cluster.brokers:
        with WireClient(node.client_door) as client:
            eventually(lambda c=client: made in acls.described(c), "a broker does not tell of it")
    servers = [by_controllers, *(("--bootstrap-server", one.address) for one in cluster.brokers)]
    for server in servers:
        assert "(principal=User:ann, host=*, operation=READ" in told(*server, "--list", *topic)
    told("--bootstrap-server", cluster.bootstrap, "--remove", "--force", *topic)
    eventually(
        lambda: not any("User:ann" in told(*server, "--list", *topic) for server in servers),
        "it does not go",
    )


def test_configs_of_topics_and_brokers(tools: KafkaTools, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    tools("kafka-configs", *entity, "--alter", "--add-config", "min.insync.replicas=2")
    eventually(
        lambda: "min.insync.replicas=2" in tools("kafka-configs", *entity, "--describe").stdout,
        "the config does not show",
    )
    broker = ("--entity-type", "brokers", "--entity-name", "3")
    tools("kafka-configs", *broker, "--alter", "--add-config", "message.max.bytes=2000000")
    eventually(
        lambda: "message.max.bytes=2000000" in tools("kafka-configs", *broker, "--describe").stdout,
        "the config of broker 3 does not show",
    )
    tools("kafka-configs", *broker, "--alter", "--delete-config", "message.max.bytes")
