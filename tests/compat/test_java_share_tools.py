"""Kafka's own tools on a share group: consumers, `kafka-share-groups`, configs, the feature.

Expectations were written with `--broker=apache-kafka` and hold there.
"""

from __future__ import annotations

import json
import uuid

import pytest

from tests.tools.kafka_tools import CONSUME_TIMEOUT_MS, KafkaTools

pytestmark = pytest.mark.java

RECORDS = 12


@pytest.fixture
def group(tools: KafkaTools) -> str:
    """A share group without members, and a topic of its name with records in one partition."""
    name = f"share-{uuid.uuid4().hex}"
    tools("kafka-topics", "--create", "--topic", name, "--partitions", "1")
    configure(tools, name, "share.auto.offset.reset=earliest")
    tools.produce(name, RECORDS)
    return name


def configure(tools: KafkaTools, group: str, *configs: str) -> None:
    entity = ("--entity-type", "groups", "--entity-name", group)
    tools("kafka-configs", "--alter", *entity, "--add-config", ",".join(configs))


def consume(tools: KafkaTools, group: str, count: int, *options: str) -> list[str]:
    """Return the lines of a console consumer that ends after `count` records."""
    consumed = tools(
        "kafka-console-share-consumer",
        *("--topic", group, "--group", group, "--max-messages", str(count), *options),
        *("--timeout-ms", CONSUME_TIMEOUT_MS, "--formatter-property", "print.delivery=true"),
    )
    assert f"Processed a total of {count} messages" in consumed.stderr
    return consumed.lines


def verified(tools: KafkaTools, group: str, count: int, *options: str) -> list[dict[str, object]]:
    """Return the events of a verifiable consumer that ends after `count` records."""
    lines = tools(
        "kafka-verifiable-share-consumer",
        *("--topic", group, "--group-id", group, "--max-messages", str(count), *options),
    ).lines
    events = [json.loads(line) for line in lines]
    assert [events[0]["name"], events[-1]["name"]] == ["startup_complete", "shutdown_complete"]
    return events


def rows(tools: KafkaTools, *options: str) -> list[list[str]]:
    """Return the cells of the rows below the heading of a table that kafka-share-groups prints."""
    return [line.split() for line in tools("kafka-share-groups", *options).lines[1:]]


def numbers(first: int, last: int, delivery: int) -> list[str]:
    return [f"Delivery:{delivery}\tvalue {number}" for number in range(first, last + 1)]


def test_console_consumers_release_accept_and_reject(tools: KafkaTools, group: str) -> None:
    assert consume(tools, group, RECORDS, "--release") == numbers(0, RECORDS - 1, 1)
    assert consume(tools, group, RECORDS, "--reject") == numbers(0, RECORDS - 1, 2)
    tools.produce(group, 2)
    assert consume(tools, group, 2) == numbers(0, 1, 1)
    assert rows(tools, "--describe", "--group", group)[0][-1] == "0"


@pytest.mark.parametrize("mode", ["auto", "sync", "async"])
def test_verifiable_consumer(tools: KafkaTools, group: str, mode: str) -> None:
    events = verified(tools, group, RECORDS, "--acknowledgement-mode", mode)
    counts = {
        name: sum(int(str(event["count"])) for event in events if event["name"] == name)
        for name in ("records_consumed", "offsets_acknowledged")
    }
    assert counts == {"records_consumed": RECORDS, "offsets_acknowledged": RECORDS}
    assert all(one["success"] for one in events if one["name"] == "offsets_acknowledged")


def test_the_group_from_its_list_to_its_deletion(tools: KafkaTools, group: str) -> None:
    consume(tools, group, RECORDS)
    assert group in tools("kafka-share-groups", "--list").lines
    assert [group, "Empty"] in rows(tools, "--list", "--state", "Empty")
    described = ("--describe", "--group", group)
    assert rows(tools, *described)[0][1:3] == [group, "0"]
    (state,) = rows(tools, *described, "--state")
    assert (state[0], state[-2:]) == (group, ["Empty", "0"])
    for scope, how, offset in (
        (("--all-topics",), ("--to-latest",), RECORDS),
        (("--topic", group), ("--to-offset", "3"), 3),
        (("--topic", f"{group}:0"), ("--to-datetime", "2000-01-01T00:00:00.000"), 0),
        (("--topic", group), ("--to-offset", "5"), 5),
        (("--topic", group), ("--to-earliest", "--dry-run"), 0),
    ):
        execute = () if "--dry-run" in how else ("--execute",)
        reset = ("--reset-offsets", "--group", group, *scope, *how, *execute)
        assert rows(tools, *reset) == [[group, group, "0", str(offset)]]
    assert rows(tools, *described) == [[group, group, "0", "5", str(RECORDS - 5)]]
    kind = ("--bootstrap-server", tools.bootstrap, "--describe", "--group", group)
    other = tools.run("kafka-consumer-groups", *kind)
    assert f"Group {group} is not a consumer group." in other.stdout + other.stderr
    deleted = rows(tools, "--delete-offsets", "--group", group, "--topic", group)
    assert deleted == [[group, "Successful"]]
    assert "has no offset information" in tools("kafka-share-groups", *described).stdout
    gone = tools("kafka-share-groups", "--delete", "--group", group)
    assert "was successful" in gone.stdout
    assert group not in tools("kafka-share-groups", "--list").lines


def test_configs_of_a_group(tools: KafkaTools, group: str) -> None:
    configure(
        tools, group, "share.isolation.level=read_committed", "share.renew.acknowledge.enable=false"
    )
    entity = ("--entity-type", "groups", "--entity-name", group)
    _, *lines = tools("kafka-configs", "--describe", *entity).lines
    assert {line.split(" ")[2] for line in lines} == {
        "share.auto.offset.reset=earliest",
        "share.isolation.level=read_committed",
        "share.renew.acknowledge.enable=false",
    }
    refused = tools.run(
        "kafka-configs",
        *("--bootstrap-server", tools.bootstrap, "--alter", *entity),
        *("--add-config", "share.delivery.count.limit=1"),
    )
    assert refused.exit == 1
    assert "Value must be at least 2" in refused.stdout + refused.stderr


def test_the_feature_of_share_groups(tools: KafkaTools) -> None:
    (line,) = (
        line for line in tools("kafka-features", "describe").lines if "share.version" in line
    )
    assert "SupportedMaxVersion: 2" in line and "FinalizedVersionLevel: 2" in line
