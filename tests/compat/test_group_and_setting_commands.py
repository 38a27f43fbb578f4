"""`ottla group`, `config` and `quota` as processes, against the broker of these tests.

With `--broker=apache-kafka` the same against Apache Kafka. What Kafka's own tools answer to the
same question is the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.kafka_tools import KafkaTools
from tests.tools.waiting import wait_until


@pytest.fixture
def ottla(broker: str) -> Ottla:
    return Ottla(broker)


@pytest.fixture
def topic(ottla: Ottla) -> str:
    """Two partitions, with 6 and 3 records."""
    name = f"topic-{uuid.uuid4().hex}"
    ottla("topic", "create", name, "-p", "2")
    for partition, count in (("0", 6), ("1", 3)):
        ottla("produce", name, "-p", partition, data=b"x\n" * count)
    return name


@pytest.fixture
def reading(broker: str, topic: str) -> Iterator[Consumer]:
    """A member of the group of the topic's name, which has read and committed all."""
    settings = {"bootstrap.servers": broker, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "client.id": "reader"})
    consumer.subscribe([topic])
    assert len(consumer.consume(9, WITHIN_S)) == 9
    consumer.commit(asynchronous=False)
    yield consumer
    consumer.close()


def standing(ottla: Ottla, group: str) -> dict[object, tuple[object, object, object]]:
    """Partition → committed, lag, member."""
    (found,) = ottla.objects("group", "describe", group)
    rows = found["partitions"]
    assert isinstance(rows, list)
    return {one["partition"]: (one["committed"], one["lag"], one["member"]) for one in rows}


def test_a_group_with_members_is_shown_and_left_alone(
    ottla: Ottla, topic: str, reading: Consumer
) -> None:
    ottla("produce", topic, "-p", "1", data=b"more\n")
    assert standing(ottla, topic) == {0: (6, 0, "reader"), 1: (3, 1, "reader")}
    (listed,) = (one for one in ottla.objects("group", "list") if one["group"] == topic)
    assert (listed["state"], listed["protocol"]) == ("Stable", "consumer")
    for words in (["delete", topic], ["reset", topic, "--topic", topic, "--to", "start"]):
        ottla("group", *words, "--execute", code=1)
        assert "stop them first" in ottla.said, words


def test_the_life_of_a_group(ottla: Ottla, topic: str, reading: Consumer) -> None:
    reading.close()
    ottla("group", "reset", topic, "--all-topics", "--to", "-2")
    assert standing(ottla, topic) == {0: (6, 0, None), 1: (3, 0, None)}
    ottla("group", "reset", topic, "--all-topics", "--to", "-2", "--execute")
    assert standing(ottla, topic) == {0: (4, 2, None), 1: (1, 2, None)}
    ottla("group", "reset", topic, "--topic", f"{topic}:1", "--to", "@1h", "--execute")
    assert standing(ottla, topic) == {0: (4, 2, None), 1: (0, 3, None)}
    assert ottla("consume", topic, "--group", topic) == b"x\n" * 5
    ottla("group", "delete", topic)
    ottla("group", "delete", topic, "--execute")
    ottla("group", "describe", topic, code=1)
    assert f"no group {topic}" in ottla.said


@pytest.mark.java
def test_kafkas_own_tool_says_the_same(
    ottla: Ottla, topic: str, reading: Consumer, tools: KafkaTools
) -> None:
    reading.close()
    ottla("group", "reset", topic, "--topic", f"{topic}:0", "--to", "1", "--execute")
    done = tools("kafka-consumer-groups", "--describe", "--group", topic)
    rows = [line.split() for line in done.lines]
    theirs = {int(row[2]): (int(row[3]), int(row[5])) for row in rows if row[:2] == [topic, topic]}
    ours = {key: value[:2] for key, value in standing(ottla, topic).items()}
    assert theirs == ours == {0: (1, 5), 1: (3, 0)}


def test_configs(ottla: Ottla, topic: str) -> None:
    ottla("config", "set", "--topic", topic, "retention.ms=86400000", "cleanup.policy=compact")
    ottla("config", "set", "--topic", topic, "--unset", "cleanup.policy")
    assert ottla.objects("config", "show", "--topic", topic) == [
        {"key": "retention.ms", "value": "86400000", "source": "topic"}
    ]
    (one,) = ottla.objects("config", "show", "--topic", topic, "cleanup.policy")
    assert (one["value"], one["source"]) == ("delete", "default")
    every = ottla.objects("config", "show", "--broker", "1", "--all")
    assert {"num.io.threads", "log.dirs"} <= {one["key"] for one in every}
    ottla("config", "set", "--topic", topic, "retention.ms=soon", code=1)
    assert "Invalid value soon" in ottla.said


def test_a_config_of_all_brokers_and_of_a_group(ottla: Ottla, topic: str) -> None:
    ottla("config", "set", "--broker", "all", "log.cleaner.threads=2")
    shown = ottla.objects("config", "show", "--broker", "all", "log.cleaner.threads")
    assert shown == [{"key": "log.cleaner.threads", "value": "2", "source": "all brokers"}]
    ottla("config", "set", "--broker", "all", "--unset", "log.cleaner.threads")
    ottla("config", "set", "--broker", "1", "broker.id=7", code=1)
    assert ottla.said.count("\n") == 1


def test_quotas(ottla: Ottla, topic: str) -> None:
    alice, address = f"alice-{topic}", "10.9.8.7"
    ottla("quota", "set", "--user", alice, "producer_byte_rate=10MB", "request_percentage=50")
    ottla("quota", "set", "--user", alice, "--client-id", "*", "consumer_byte_rate=1kB")
    ottla("quota", "set", "--ip", address, "connection_creation_rate=1000")
    listing = ("quota", "list", "--user", alice)
    wait_until(lambda: len(ottla.objects(*listing)) >= 3, "three quotas")
    found = ottla.objects(*listing)
    assert [(one["client_id"], one["quota"], one["value"]) for one in found] == [
        (None, "producer_byte_rate", 10_000_000),
        (None, "request_percentage", 50),
        ("*", "consumer_byte_rate", 1000),
    ]
    ottla("quota", "remove", "--user", alice, "request_percentage")
    ottla("quota", "remove", "--user", alice)
    ottla("quota", "remove", "--user", alice, "--client-id", "*")
    ottla("quota", "remove", "--ip", address)
    wait_until(lambda: ottla.objects(*listing) == [], "no quotas")
    ottla("quota", "remove", "--user", alice, code=1)


def test_top_shows_topics_and_groups(ottla: Ottla, topic: str, reading: Consumer) -> None:
    ottla("produce", topic, "-p", "0", data=b"x\n" * 5)
    found = ottla.objects("top", "-n", "1", "--interval", "0.1")
    (of_topic,) = (one for one in found if one.get("topic") == topic)
    assert (of_topic["partitions"], of_topic["records"], of_topic["records_per_s"]) == (2, 14, 0)
    (of_group,) = (one for one in found if one.get("group") == topic)
    assert (of_group["lag"], of_group["read_per_s"]) == (5, 0)
