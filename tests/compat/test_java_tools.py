"""Kafka's own command-line tools against the broker, with what they print.

Expectations were written with `--broker=apache-kafka` and hold there.
"""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from tests.tools.kafka_tools import CONSUME_TIMEOUT_MS, KafkaTools
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.java


# --- kafka-topics --------------------------------------------------------------------------------


def test_topics_from_creation_to_deletion(tools: KafkaTools) -> None:
    name = f"tools-{uuid.uuid4()}"
    created = tools(
        "kafka-topics",
        *("--create", "--topic", name, "--partitions", "2", "--replication-factor", "1"),
        *("--config", "retention.ms=1000000"),
    )
    assert created.lines == [f"Created topic {name}."]
    assert name in tools("kafka-topics", "--list").lines

    head, *partitions = tools("kafka-topics", "--describe", "--topic", name).lines
    described = dict(part.split(": ", 1) for part in head.split("\t"))
    assert described["Topic"] == name
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", described["TopicId"])
    assert (described["PartitionCount"], described["ReplicationFactor"]) == ("2", "1")
    assert "retention.ms=1000000" in described["Configs"].split(",")
    assert len(partitions) == 2
    for number, line in enumerate(partitions):
        cells = dict(cell.split(": ", 1) for cell in line.strip("\t").split("\t"))
        assert cells["Partition"] == str(number)
        assert cells["Leader"] == cells["Replicas"] == cells["Isr"]

    tools("kafka-topics", "--alter", "--topic", name, "--partitions", "4")
    assert len(tools("kafka-topics", "--describe", "--topic", name).lines) == 5
    topic_id = described["TopicId"]
    assert tools("kafka-topics", "--describe", "--topic-id", topic_id).lines[0].startswith("Topic:")

    tools("kafka-topics", "--delete", "--topic", name)
    assert name not in tools("kafka-topics", "--list").lines
    again = tools.run(
        "kafka-topics", "--bootstrap-server", tools.bootstrap, "--delete", "--topic", name
    )
    assert again.exit == 1
    assert f"Topic '{name}' does not exist as expected" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topic", "EXISTING"), "Topic 'EXISTING' already exists."),
        (
            ("--topic", "bad!name"),
            "Topic name is invalid: 'bad!name' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'",
        ),
        (
            ("--topic", "too-many-replicas", "--replication-factor", "3"),
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 "
            "cannot be reached because only 1 broker(s) are registered",
        ),
        (
            ("--topic", "bad-config", "--config", "retention.ms=soon"),
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        (
            ("--topic", "unknown-config", "--config", "no.such.config=1"),
            "Unknown topic config name: no.such.config",
        ),
    ],
)
def test_topics_refuses(
    tools: KafkaTools, topic: str, arguments: tuple[str, ...], message: str
) -> None:
    given = [argument.replace("EXISTING", topic) for argument in arguments]
    refused = tools.run("kafka-topics", "--bootstrap-server", tools.bootstrap, "--create", *given)
    assert refused.exit == 1
    assert message.replace("EXISTING", topic) in refused.stdout + refused.stderr


def test_topics_creates_only_if_missing(tools: KafkaTools, topic: str) -> None:
    assert tools("kafka-topics", "--create", "--topic", topic, "--if-not-exists").exit == 0


def test_topics_refuses_fewer_partitions(tools: KafkaTools, topic: str) -> None:
    arguments = ("--bootstrap-server", tools.bootstrap, "--alter", "--topic", topic)
    refused = tools.run("kafka-topics", *arguments, "--partitions", "2")
    assert refused.exit == 1
    expected = f"The topic {topic} currently has 3 partition(s); 2 would not be an increase."
    assert expected in refused.stdout


# --- kafka-configs -------------------------------------------------------------------------------


def config_lines(tools: KafkaTools, *arguments: str) -> dict[str, str]:
    """Key → the rest of the line, of `kafka-configs --describe`."""
    _, *lines = tools("kafka-configs", "--describe", *arguments).lines
    return dict(line.strip().split("=", 1) for line in lines)


def test_configs_of_a_topic(tools: KafkaTools, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    assert "retention.ms" not in config_lines(tools, *entity)
    altered = tools(
        "kafka-configs",
        *("--alter", *entity),
        *("--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]"),
    )
    assert altered.lines == [f"Completed updating config for topic {topic}."]
    configs = config_lines(tools, *entity)
    assert configs["retention.ms"].startswith(
        "5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000"
    )
    assert configs["cleanup.policy"] == (
        "compact,delete sensitive=false "
        "synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}"
    )
    tools("kafka-configs", "--alter", *entity, "--delete-config", "retention.ms,cleanup.policy")
    assert "retention.ms" not in config_lines(tools, *entity)

    everything = config_lines(tools, *entity, "--all")
    assert everything["cleanup.policy"].startswith("delete sensitive=false")
    assert everything["compression.type"].startswith("producer sensitive=false")
    assert len(everything) > 25


def test_configs_refuses_a_value(tools: KafkaTools, topic: str) -> None:
    arguments = ["--bootstrap-server", tools.bootstrap, "--alter", "--entity-type", "topics"]
    arguments += ["--entity-name", topic, "--add-config", "segment.bytes=abc"]
    refused = tools.run("kafka-configs", *arguments)
    assert refused.exit == 1
    expected = "Invalid value abc for configuration segment.bytes: Not a number of type INT"
    assert expected in refused.stderr


def test_configs_of_the_broker(tools: KafkaTools) -> None:
    entity = ("--entity-type", "brokers", "--entity-name", "1")
    everything = config_lines(tools, *entity, "--all")
    assert everything["node.id"].startswith("1 sensitive=false synonyms={STATIC_BROKER_CONFIG:")
    assert everything["num.partitions"].startswith("1 sensitive=false")
    assert len(everything) > 200


def test_configs_of_all_brokers_become_a_topics_default(tools: KafkaTools, topic: str) -> None:
    everyone = ("--entity-type", "brokers", "--entity-default")
    of_topic = ("--entity-type", "topics", "--entity-name", topic, "--all")
    altered = tools(
        "kafka-configs", "--alter", *everyone, "--add-config", "message.max.bytes=2000000"
    )
    assert altered.lines == ["Completed updating default config for brokers in the cluster."]
    try:
        dynamic = "DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=2000000"
        described = config_lines(tools, *everyone)["message.max.bytes"]
        assert described == f"2000000 sensitive=false synonyms={{{dynamic}}}"
        inherited = config_lines(tools, *of_topic)["max.message.bytes"]
        assert inherited.startswith(f"2000000 sensitive=false synonyms={{{dynamic}, ")
    finally:
        tools("kafka-configs", "--alter", *everyone, "--delete-config", "message.max.bytes")
    assert "message.max.bytes" not in config_lines(tools, *everyone)
    assert config_lines(tools, *of_topic)["max.message.bytes"].startswith("1048588 ")


def test_configs_of_the_broker_refuses_what_is_read_only(tools: KafkaTools) -> None:
    arguments = ["--bootstrap-server", tools.bootstrap, "--alter", "--entity-type", "brokers"]
    arguments += ["--entity-name", "1", "--add-config", "num.partitions=3"]
    refused = tools.run("kafka-configs", *arguments)
    assert refused.exit == 1
    assert "Cannot update these configs dynamically: [num.partitions]" in refused.stderr


def test_levels_of_the_brokers_loggers(tools: KafkaTools, request: pytest.FixtureRequest) -> None:
    """As docs/operations.md says: a logger of Ottla is named after its file."""
    entity = ("--entity-type", "broker-loggers", "--entity-name", "1")
    before = config_lines(tools, *entity)
    name = "ottla.broker.replication.isr_proposals"
    if request.config.getoption("--broker") == "apache-kafka":
        name = min(key for key in before if key != "root")
    tools("kafka-configs", "--alter", *entity, "--add-config", f"{name}=DEBUG")
    try:
        after = config_lines(tools, *entity)
        assert after[name].startswith("DEBUG ")
        assert {key: line for key, line in after.items() if key != name} == {
            key: line for key, line in before.items() if key != name
        }
    finally:
        tools("kafka-configs", "--alter", *entity, "--delete-config", name)
    assert config_lines(tools, *entity) == before


def test_configs_of_a_scram_user(tools: KafkaTools) -> None:
    name = f"user-{uuid.uuid4()}"
    entity = ("--entity-type", "users", "--entity-name", name)
    for credential in ("SCRAM-SHA-256=[iterations=6000,password=p]", "SCRAM-SHA-512=[password=q]"):
        altered = tools("kafka-configs", "--alter", *entity, "--add-config", credential)
        assert altered.lines == [f"Completed updating config for user {name}."]
    said = f"SCRAM credential configs for user-principal '{name}' are "
    (line,) = tools("kafka-configs", "--describe", *entity).lines
    assert line.startswith(said)
    both = ["SCRAM-SHA-256=iterations=6000", "SCRAM-SHA-512=iterations=4096"]
    assert sorted(line.removeprefix(said).split(", ")) == both
    assert line in tools("kafka-configs", "--describe", "--entity-type", "users").lines

    twice = ",".join(("SCRAM-SHA-256=[password=p]", "SCRAM-SHA-512=[password=p]"))
    refused = _configs_of_users(tools, "--alter", *entity, "--add-config", twice)
    assert "A user credential cannot be altered twice in the same request" in refused
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        tools("kafka-configs", "--alter", *entity, "--delete-config", mechanism)
    refused = _configs_of_users(tools, "--alter", *entity, "--delete-config", "SCRAM-SHA-256")
    assert "Attempt to delete a user credential that does not exist" in refused
    assert tools("kafka-configs", "--describe", *entity).lines == []


def _configs_of_users(tools: KafkaTools, *arguments: str) -> str:
    """What kafka-configs says of a request that is refused."""
    done = tools.run("kafka-configs", "--bootstrap-server", tools.bootstrap, *arguments)
    assert done.exit == 1
    return done.stderr


# --- console producer and consumer ---------------------------------------------------------------


def test_console_producer_and_consumer(tools: KafkaTools, topic: str) -> None:
    tools.produce(topic, 30)
    consumed = tools(
        "kafka-console-consumer",
        *("--topic", topic, "--from-beginning", "--max-messages", "30"),
        *("--timeout-ms", CONSUME_TIMEOUT_MS),
        *("--formatter-property", "print.key=true", "--formatter-property", "print.offset=true"),
    )
    assert sorted(line.split("\t")[1:] for line in consumed.lines) == sorted(
        [f"k{i}", f"value {i}"] for i in range(30)
    )
    assert "Processed a total of 30 messages" in consumed.stderr


def test_console_consumer_from_one_offset(tools: KafkaTools, topic: str) -> None:
    tools.produce(topic, 30)
    (end,) = (tools.offsets(topic, "latest")[0],)
    consumed = tools(
        "kafka-console-consumer",
        *("--topic", topic, "--partition", "0", "--offset", str(end - 1), "--max-messages", "1"),
        *("--timeout-ms", CONSUME_TIMEOUT_MS),
    )
    assert len(consumed.lines) == 1


# --- kafka-consumer-groups -----------------------------------------------------------------------


def described_offsets(tools: KafkaTools, group: str) -> list[dict[str, str]]:
    head, *rows = tools("kafka-consumer-groups", "--describe", "--group", group).lines
    return [dict(zip(head.split(), row.split(), strict=True)) for row in rows]


def listed(tools: KafkaTools, *arguments: str) -> dict[str, list[str]]:
    """What kafka-consumer-groups says of each group."""
    lines = tools("kafka-consumer-groups", "--list", *arguments).lines
    return {row.split()[0]: row.split()[1:] for row in lines[1:]}


def test_consumer_groups_list_and_describe(
    tools: KafkaTools, topic: str, group: str, group_protocol: str
) -> None:
    assert group in tools("kafka-consumer-groups", "--list").lines
    kind = group_protocol.capitalize()
    assert listed(tools, "--type", "--state")[group] == [kind, "Empty"]
    assert group in listed(tools, "--type", group_protocol)
    other = "classic" if group_protocol == "consumer" else "consumer"
    assert group not in listed(tools, "--type", other)
    assert group not in listed(tools, "--state", "Stable")
    rows = [row.split() for row in tools("kafka-groups", "--list").lines]
    assert [group, kind, "consumer"] in rows
    typed = tools("kafka-groups", "--list", "--group-type", group_protocol).lines
    assert any(row.split()[0] == group for row in typed)
    assert listed(tools, "--state")[group] == ["Empty"]
    rows = described_offsets(tools, group)
    assert [(row["TOPIC"], row["PARTITION"]) for row in rows] == [(topic, str(i)) for i in range(3)]
    assert sum(int(row["CURRENT-OFFSET"]) for row in rows) == 30
    assert {row["LAG"] for row in rows} == {"0"}

    _, state = tools("kafka-consumer-groups", "--describe", "--group", group, "--state").lines
    assert state.split()[0] == group
    assert state.split()[-2:] == ["Empty", "0"]


def test_consumer_groups_describes_members(
    tools: KafkaTools, topic: str, group_protocol: str
) -> None:
    name = f"group-{uuid.uuid4()}"
    broker_assigns = group_protocol == "consumer"
    key = "group.remote.assignor" if broker_assigns else "partition.assignment.strategy"
    consumer = Consumer(
        {
            "bootstrap.servers": tools.bootstrap,
            "group.id": name,
            "client.id": "the-member",
            "group.protocol": group_protocol,
            key: "range",
        }
    )
    try:
        consumer.subscribe([topic])
        wait_until(lambda: consumer.poll(0.1) or consumer.assignment(), "an assignment")
        describe = ("--describe", "--group", name)
        head, row = tools("kafka-consumer-groups", *describe, "--members", "--verbose").lines
        assert head.split()[:5] == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
        cells = row.split()
        assert cells[0] == name
        assert cells[1].startswith("the-member-") or broker_assigns
        assert cells[2] == "/127.0.0.1"
        assert cells[3:5] == ["the-member", "3"]
        heads = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        assert head.split()[5:] == heads
        shares = f"{topic}:0,1,2"
        current, target = (cells[5], cells[7]) if broker_assigns else ("-", "-")
        assert cells[5:] == [current, shares, target, shares if broker_assigns else "-"]
        assert current == target, "the member has what the group has decided"
        _, state = tools("kafka-consumer-groups", *describe, "--state").lines
        assert state.split()[-3:] == ["range", "Stable", "1"]
        _, state = tools("kafka-consumer-groups", *describe, "--state", "--verbose").lines
        epochs = ["2", "2"] if broker_assigns else ["-", "-"]
        assert state.split()[-5:] == ["range", "Stable", *epochs, "1"]
        arguments = ("--bootstrap-server", tools.bootstrap, "--delete", "--group", name)
        refused = tools.run("kafka-consumer-groups", *arguments)
        assert "GroupNotEmptyException" in refused.stdout
    finally:
        consumer.close()


def test_consumer_groups_reset_offsets(tools: KafkaTools, topic: str, group: str) -> None:
    reset = ("--reset-offsets", "--group", group)

    def after(*arguments: str) -> list[int]:
        _, *rows = tools("kafka-consumer-groups", *reset, *arguments).lines
        found = {int(row.split()[2]): int(row.split()[3]) for row in rows}
        return [found[partition] for partition in sorted(found)]

    ends = tools.offsets(topic, "latest")
    assert after("--topic", topic, "--to-earliest", "--dry-run") == [0, 0, 0]
    assert {row["LAG"] for row in described_offsets(tools, group)} == {"0"}
    assert after("--topic", topic, "--to-earliest", "--execute") == [0, 0, 0]
    assert {row["CURRENT-OFFSET"] for row in described_offsets(tools, group)} == {"0"}
    assert after("--topic", f"{topic}:0", "--shift-by", "1", "--execute") == [1]
    first = described_offsets(tools, group)[0]
    assert (first["PARTITION"], first["CURRENT-OFFSET"]) == ("0", "1")
    past = ("--to-datetime", "2000-01-01T00:00:00.000")
    assert after("--topic", topic, *past, "--dry-run") == [0, 0, 0]
    assert after("--all-topics", "--to-latest", "--execute") == ends


def test_consumer_groups_delete(tools: KafkaTools, topic: str, group: str) -> None:
    deleted = tools("kafka-consumer-groups", "--delete-offsets", "--group", group, "--topic", topic)
    assert deleted.lines[0] == f"Request succeeded for deleting offsets from group {group}."
    assert [line.split()[2] for line in deleted.lines[2:]] == ["Successful"] * 3

    gone = tools("kafka-consumer-groups", "--delete", "--group", group)
    assert gone.lines == [f"Deletion of requested consumer groups ('{group}') was successful."]
    assert group not in tools("kafka-consumer-groups", "--list").lines
    again = tools("kafka-consumer-groups", "--delete", "--group", group)
    assert "GroupIdNotFoundException: The group id does not exist." in again.stdout


def test_verifiable_consumer(tools: KafkaTools, topic: str, group_protocol: str) -> None:
    group = f"verified-{uuid.uuid4()}"
    tools.produce(topic, 30)
    consumed = tools(
        "kafka-verifiable-consumer",
        *("--topic", topic, "--group-id", group, "--group-protocol", group_protocol),
        *("--max-messages", "30", "--verbose"),
    )
    events = [json.loads(line) for line in consumed.lines]
    named = [event["name"] for event in events]
    assert (named[0], named[-1]) == ("startup_complete", "shutdown_complete")
    given = [one for one in events if one["name"] == "partitions_assigned"]
    assert sorted(p["partition"] for one in given for p in one["partitions"]) == [0, 1, 2]
    read = [one for one in events if one["name"] == "record_data"]
    assert sorted(one["value"] for one in read) == sorted(f"value {n}" for n in range(30))
    commits = [one for one in events if one["name"] == "offsets_committed"]
    assert commits and all(one["success"] for one in commits)
    rows = described_offsets(tools, group)
    assert sum(int(row["CURRENT-OFFSET"]) for row in rows) == 30
    assert listed(tools, "--type")[group] == [group_protocol.capitalize()]


# --- offsets, records, log directories -----------------------------------------------------------


def test_get_offsets(tools: KafkaTools, topic: str) -> None:
    assert tools.offsets(topic, "latest") == [0, 0, 0]
    tools.produce(topic, 30)
    assert sum(tools.offsets(topic, "latest")) == 30
    assert tools.offsets(topic, "-1") == tools.offsets(topic, "latest")
    assert tools.offsets(topic, "earliest") == [0, 0, 0]
    assert tools.offsets(topic, "1000000000000") == [0, 0, 0]
    newest = tools.offsets(topic, "max-timestamp")
    assert all(
        0 <= at < end for at, end in zip(newest, tools.offsets(topic, "latest"), strict=True)
    )


def test_delete_records(tools: KafkaTools, topic: str, tmp_path: Path) -> None:
    tools.produce(topic, 30)
    ends = tools.offsets(topic, "latest")
    wanted = [
        {"topic": topic, "partition": 0, "offset": 1},
        {"topic": topic, "partition": 1, "offset": -1},
    ]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": wanted, "version": 1}))
    deleted = tools("kafka-delete-records", "--offset-json-file", str(file))
    assert sorted(deleted.lines[2:]) == [
        f"partition: {topic}-0\tlow_watermark: 1",
        f"partition: {topic}-1\tlow_watermark: {ends[1]}",
    ]
    assert tools.offsets(topic, "earliest") == [1, ends[1], 0]

    wanted[0]["offset"] = ends[0] + 1
    file.write_text(json.dumps({"partitions": wanted[:1], "version": 1}))
    refused = tools("kafka-delete-records", "--offset-json-file", str(file))
    assert "OffsetOutOfRangeException" in refused.stdout


def test_log_dirs(tools: KafkaTools, topic: str, broker_log_dir: Path) -> None:
    tools.produce(topic, 30)
    arguments = ("--describe", "--topic-list", topic)
    first, second, described = tools("kafka-log-dirs", *arguments).lines
    assert first == "Querying brokers for log directories information"
    assert second == "Received log directory information from brokers 1"
    (of_broker,) = json.loads(described)["brokers"]
    (folder,) = of_broker["logDirs"]
    assert folder["error"] is None
    assert Path(folder["logDir"]) == broker_log_dir
    sizes = {p["partition"]: p["size"] for p in folder["partitions"]}
    assert set(sizes) == {f"{topic}-{partition}" for partition in range(3)}
    for name, size in sizes.items():
        logs = (broker_log_dir / name).glob("*.log")
        assert size == sum(log.stat().st_size for log in logs) > 0
    assert {p["offsetLag"] for p in folder["partitions"]} == {0}
    assert {p["isFuture"] for p in folder["partitions"]} == {False}


# --- what the broker says of itself --------------------------------------------------------------


def test_broker_api_versions(tools: KafkaTools) -> None:
    head, *lines, _ = tools("kafka-broker-api-versions").lines
    assert head == f"{tools.bootstrap} (id: 1 rack: null isFenced: false) -> ("
    ranges = dict(re.findall(r"(\w+\(\d+\)): (\d+ to \d+|\d+|UNSUPPORTED)", "\n".join(lines)))
    served = {
        "Produce(0)": "0 to 13",
        "Fetch(1)": "4 to 18",
        "ListOffsets(2)": "1 to 11",
        "Metadata(3)": "0 to 13",
        "OffsetCommit(8)": "2 to 10",
        "OffsetFetch(9)": "1 to 10",
        "FindCoordinator(10)": "0 to 6",
        "JoinGroup(11)": "0 to 9",
        "Heartbeat(12)": "0 to 4",
        "LeaveGroup(13)": "0 to 5",
        "SyncGroup(14)": "0 to 5",
        "DescribeGroups(15)": "0 to 6",
        "ListGroups(16)": "0 to 5",
        "ApiVersions(18)": "0 to 5",
        "CreateTopics(19)": "2 to 7",
        "DeleteTopics(20)": "1 to 6",
        "DeleteRecords(21)": "0 to 2",
        "InitProducerId(22)": "0 to 5",
        "OffsetForLeaderEpoch(23)": "2 to 4",
        "DescribeConfigs(32)": "1 to 4",
        "AlterConfigs(33)": "0 to 2",
        "DescribeLogDirs(35)": "1 to 5",
        "CreatePartitions(37)": "0 to 3",
        "DeleteGroups(42)": "0 to 3",
        "IncrementalAlterConfigs(44)": "0 to 1",
        "OffsetDelete(47)": "0",
        "DescribeCluster(60)": "0 to 2",
        "DescribeProducers(61)": "0",
        "ListConfigResources(74)": "0 to 1",
        "DescribeTopicPartitions(75)": "0",
    }
    assert {api: ranges.get(api) for api in served} == served


def test_cluster_id(tools: KafkaTools) -> None:
    answer = tools.run("kafka-cluster", "cluster-id", "--bootstrap-server", tools.bootstrap)
    assert re.fullmatch(r"Cluster ID: [A-Za-z0-9_-]{22}", answer.lines[0])


def test_describe_producers(tools: KafkaTools, topic: str) -> None:
    tools.produce(topic, 30)
    arguments = ("describe-producers", "--topic", topic, "--partition", "0")
    head, row = tools("kafka-transactions", *arguments).lines
    producer = dict(zip(head.split(), row.split(), strict=True))
    assert producer["ProducerEpoch"] == "0"
    assert int(producer["LastSequence"]) == tools.offsets(topic, "latest")[0] - 1
    assert producer["CurrentTransactionStartOffset"] == "None"


# --- performance tests ---------------------------------------------------------------------------


def test_producer_and_consumer_perf_test(tools: KafkaTools, topic: str) -> None:
    produced = tools(
        "kafka-producer-perf-test",
        *("--topic", topic, "--num-records", "5000", "--record-size", "100"),
        *("--throughput", "-1", "--command-property", "acks=all"),
    )
    assert produced.lines[-1].startswith("5000 records sent, ")
    consumed = tools(
        "kafka-consumer-perf-test",
        *("--topic", topic, "--num-records", "5000", "--timeout", CONSUME_TIMEOUT_MS),
    )
    head, row = consumed.lines[-2:]
    figures = dict(zip(head.split(", "), row.split(", "), strict=True))
    assert figures["data.consumed.in.nMsg"] == "5000"
