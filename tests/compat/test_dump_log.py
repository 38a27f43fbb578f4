"""Kafka's `kafka-dump-log` finds nothing wrong in the segments and indexes that the broker wrote.

Expectations were written with `--broker=apache-kafka` and hold there.
"""

from __future__ import annotations

import json
import re
import subprocess
import uuid
from pathlib import Path

import pytest

from ottla.launcher import ottla_command
from tests.tools.kafka_tools import KafkaTools

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def segments(tools: KafkaTools, broker_log_dir: Path) -> Path:
    """The folder of a partition with several segments."""
    name = f"tools-{uuid.uuid4()}"
    configs = ("--config", "segment.bytes=1048576", "--config", "index.interval.bytes=4096")
    tools("kafka-topics", "--create", "--topic", name, "--partitions", "1", *configs)
    tools(
        "kafka-producer-perf-test",
        *("--topic", name, "--num-records", "4000", "--record-size", "1000"),
        *("--throughput", "-1", "--command-property", "compression.type=none"),
    )
    folder = broker_log_dir / f"{name}-0"
    assert len(list(folder.glob("*.log"))) >= 3
    return folder


def dump(tools: KafkaTools, *arguments: str) -> str:
    result = tools.run("kafka-dump-log", *arguments)
    assert result.exit == 0, result
    # The tool starts at -1 in every file, so it finds this wrong in each segment but the first.
    found = re.sub(r"Non-consecutive offsets in \S+\n  -1 is followed by \d+\n", "", result.stderr)
    assert found == ""
    return result.stdout


def test_dump_log_deep_iteration(tools: KafkaTools, segments: Path) -> None:
    logs = sorted(segments.glob("*.log"))
    files = ",".join(map(str, logs))
    lines = dump(tools, "--files", files, "--deep-iteration").splitlines()
    assert [line for line in lines if line.startswith("Dumping")] == [f"Dumping {f}" for f in logs]
    starts = [f"Log starting offset: {int(log.stem)}" for log in logs]
    assert [line for line in lines if line.startswith("Log starting offset")] == starts
    batches = [line for line in lines if line.startswith("baseOffset")]
    assert batches
    assert all(line.endswith("isvalid: true") for line in batches)
    next_offset = 0
    for line in batches:
        first, last = re.findall(r"(?:baseOffset|lastOffset): (\d+)", line)
        assert int(first) == next_offset
        next_offset = int(last) + 1
    assert next_offset == 4000
    records = [line for line in lines if line.startswith("| offset")]
    assert [int(line.split()[2]) for line in records] == list(range(4000))


def test_dump_log_index_sanity_check(tools: KafkaTools, segments: Path) -> None:
    """Of the rolled segments: that of the active one is preallocated in Kafka, and zeros follow."""
    *rolled, _ = sorted(segments.glob("*.log"))
    for suffix in (".index", ".timeindex"):
        for log in rolled:
            index = log.with_suffix(suffix)
            assert index.stat().st_size > 0
            said = dump(tools, "--files", str(index), "--index-sanity-check")
            assert said.splitlines() == [f"Dumping {index}", f"{index} passed sanity check."]


def test_dump_log_finds_indexes_true_to_their_logs(tools: KafkaTools, segments: Path) -> None:
    indexes = sorted([*segments.glob("*.index"), *segments.glob("*.timeindex")])
    said = dump(tools, "--files", ",".join(map(str, indexes)), "--verify-index-only")
    assert said.splitlines() == [f"Dumping {index}" for index in indexes]
    listed = dump(tools, "--files", str(indexes[0]))
    entries = re.findall(r"^offset: (\d+) position: (\d+)$", listed, re.MULTILINE)
    assert len(entries) > 10
    assert entries == sorted(entries, key=lambda entry: int(entry[0]))


def test_dump_log_reads_producer_snapshots(tools: KafkaTools, segments: Path) -> None:
    snapshots = sorted(segments.glob("*.snapshot"))
    assert snapshots
    said = dump(tools, "--files", str(snapshots[0]))
    assert re.search(r"producerId: \d+ producerEpoch: 0 ", said)


def test_dump_log_reads_committed_offsets(
    tools: KafkaTools, topic: str, group: str, group_protocol: str, broker_log_dir: Path
) -> None:
    logs = [f for f in broker_log_dir.glob("__consumer_offsets-*/*.log") if f.stat().st_size]
    files = ",".join(map(str, sorted(logs)))
    said = dump(tools, "--files", files, "--offsets-decoder")
    assert "isvalid: false" not in said
    pairs = re.findall(r" key: (\{.*\}) payload: (\{.*\})$", said, re.MULTILINE)
    read = [(json.loads(key), json.loads(payload)) for key, payload in pairs]
    committed = {
        key["data"]["partition"]: payload["data"]["offset"]
        for key, payload in read
        if key["type"] == "1" and (key["data"]["group"], key["data"]["topic"]) == (group, topic)
    }
    ends = tools.offsets(topic, "latest")
    assert [committed[partition] for partition in range(3)] == ends
    if group_protocol == "classic":
        states = [value for key, value in read if key == {"type": "2", "data": {"group": group}}]
        assert {state["version"] for state in states} == {"3"}
        clients = {m["clientId"] for state in states for m in state["data"]["members"]}
    else:
        members = [
            value
            for key, value in read
            if (key["type"], key["data"].get("groupId")) == ("5", group)
        ]
        assert {member["version"] for member in members} == {"0"}
        clients = {member["data"]["clientId"] for member in members}
    assert clients == {"console-consumer"}


def test_dump_log_reads_the_metadata_log(
    tools: KafkaTools, topic: str, broker_log_dir: Path
) -> None:
    (log, *_) = sorted(broker_log_dir.glob("__cluster_metadata-0/*.log"))
    said = dump(tools, "--files", str(log), "--cluster-metadata-decoder")
    assert "isvalid: false" not in said
    payloads = re.findall(r"payload: (\{.*\})$", said, re.MULTILINE)
    records = [json.loads(payload) for payload in payloads]
    types = {record["type"] for record in records}
    assert {"FEATURE_LEVEL_RECORD", "REGISTER_BROKER_RECORD", "PARTITION_RECORD"} <= types
    topics = [r["data"]["name"] for r in records if r["type"] == "TOPIC_RECORD"]
    assert topic in topics


def decoded_here(*files: Path) -> list[tuple[object, object]]:
    """Key and value of each record, as `ottla dump-log` decodes them."""
    command = ottla_command("dump-log", "--records", "--json", *map(str, files))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [(one["key"], one["payload"]) for one in found if "payload" in one]


def assert_same_where_both_say(ours: object, theirs: object) -> None:
    """Each field that Kafka's tool prints; ours has those of newer versions, too, and what members
    have subscribed to in words."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict)
        for name, value in theirs.items():
            if name not in ("subscription", "assignment"):
                assert_same_where_both_say(ours[name], value)
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same_where_both_say(one, other)
    else:
        assert ours == theirs


def test_ottla_decodes_groups_as_kafkas_tool_does(
    tools: KafkaTools, topic: str, group: str, broker_log_dir: Path
) -> None:
    logs = sorted(f for f in broker_log_dir.glob("__consumer_offsets-*/*.log") if f.stat().st_size)
    said = dump(tools, "--files", ",".join(map(str, logs)), "--offsets-decoder")
    theirs = re.findall(r" key: (\{.*\}) payload: (.*)$", said, re.MULTILINE)
    ours = decoded_here(*logs)
    assert theirs and len(ours) == len(theirs)
    for (key, value), (their_key, their_value) in zip(ours, theirs, strict=True):
        assert_same_where_both_say(key, json.loads(their_key))
        if value is not None:
            assert_same_where_both_say(value, json.loads(their_value))


def test_ottla_decodes_metadata_as_kafkas_tool_does(
    tools: KafkaTools, topic: str, broker_log_dir: Path
) -> None:
    (log, *_) = sorted(broker_log_dir.glob("__cluster_metadata-0/*.log"))
    said = dump(tools, "--files", str(log), "--cluster-metadata-decoder")
    theirs = [json.loads(one) for one in re.findall(r"payload: (\{.*\})$", said, re.MULTILINE)]
    ours = [value for _, value in decoded_here(log)]
    shown = [one for one in ours if isinstance(one, dict)]  # secrets, ACLs and tokens are in words
    types = {one["type"] for one in shown}
    assert {"TOPIC_RECORD", "PARTITION_RECORD", "REGISTER_BROKER_RECORD"} <= types
    for one, other in zip(shown, [one for one in theirs if one["type"] in types], strict=False):
        assert_same_where_both_say(one, other)
