"""Each client reads many partitions in order though no record fits into what it asks for.

A broker gives the first batch that it has whole, and of the other partitions nothing (KIP-74): what
it gives of them that is less than a batch, a client takes for a record that it can never read.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.tools.kafka_tools import CONSUME_TIMEOUT_MS, KafkaTools

TOPICS = 8
PARTITIONS = 10
RECORDS = 3  # of each partition, each in a batch of its own
RECORD_BYTES = 20_000
ASKED_BYTES = 100  # max.partition.fetch.bytes
TIMEOUT_S = 90

Read = tuple[str, int, int, bytes]
"""Topic, partition, offset and key of a record."""


@pytest.fixture(scope="module")
def topics(broker: str) -> list[str]:
    """Eight topics of ten partitions, with the records."""
    prefix = f"small-fetches-{uuid4().hex[:8]}"
    names = [f"{prefix}-{number}" for number in range(TOPICS)]
    admin = AdminClient({"bootstrap.servers": broker})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        made.result(60)
    # one batch for each record, in order whatever has to be sent again
    producer = Producer(
        {"bootstrap.servers": broker, "enable.idempotence": True, "batch.num.messages": 1}
    )
    for offset in range(RECORDS):
        for name in names:
            for index in range(PARTITIONS):
                producer.produce(name, b"v" * RECORD_BYTES, key_of(name, index, offset), index)
    assert producer.flush(TIMEOUT_S) == 0
    return names


def key_of(topic: str, partition: int, offset: int) -> bytes:
    return f"{topic}/{partition}/{offset}".encode()


def with_kafka_python(
    servers: str, topics: Sequence[str], deadline: float
) -> Generator[Read, None, None]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        group_id=None,
        auto_offset_reset="none",
        max_partition_fetch_bytes=ASKED_BYTES,
    )
    try:
        partitions = [TopicPartition(t, p) for t in topics for p in range(PARTITIONS)]
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, 0)
        while time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=200).values():
                for one in records:
                    yield one.topic, one.partition, one.offset, one.key
    finally:
        consumer.close()


def with_aiokafka(
    servers: str, topics: Sequence[str], deadline: float
) -> Generator[Read, None, None]:
    from aiokafka import AIOKafkaConsumer
    from aiokafka.structs import TopicPartition

    async def started() -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            auto_offset_reset="none",
            max_partition_fetch_bytes=ASKED_BYTES,
        )
        await consumer.start()
        partitions = [TopicPartition(t, p) for t in topics for p in range(PARTITIONS)]
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, 0)
        return consumer

    with asyncio.Runner() as runner:
        consumer = runner.run(started())
        try:
            while time.monotonic() < deadline:
                for records in runner.run(consumer.getmany(timeout_ms=200)).values():
                    for one in records:
                        yield one.topic, one.partition, one.offset, one.key
        finally:
            runner.run(consumer.stop())


def with_confluent_kafka(
    servers: str, topics: Sequence[str], deadline: float
) -> Generator[Read, None, None]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "max.partition.fetch.bytes": ASKED_BYTES,
        }
    )
    try:
        consumer.assign([TopicPartition(t, p, 0) for t in topics for p in range(PARTITIONS)])
        while time.monotonic() < deadline:
            for message in consumer.consume(500, 0.2):
                assert message.error() is None, message.error()
                yield message.topic(), message.partition(), message.offset(), message.key()
    finally:
        consumer.close()


def is_in_order(reads: Iterable[Read], topics: Sequence[str]) -> None:
    """Every record of every partition, each after the one before it."""
    expected = {(topic, index): 0 for topic in topics for index in range(PARTITIONS)}
    left = len(expected) * RECORDS
    for topic, partition, offset, key in reads:
        assert offset == expected[topic, partition], (topic, partition, offset)
        assert key == key_of(topic, partition, offset)
        expected[topic, partition] += 1
        left -= 1
        if not left:
            return
    pytest.fail(f"{left} records did not come")


@pytest.mark.parametrize("read", [with_kafka_python, with_aiokafka, with_confluent_kafka])
def test_a_python_client_reads_all_in_order(
    broker: str, topics: list[str], read: Callable[..., Generator[Read, None, None]]
) -> None:
    reads = read(broker, topics, time.monotonic() + TIMEOUT_S)
    try:
        is_in_order(reads, topics)
    finally:
        reads.close()


@pytest.mark.java
def test_the_java_client_reads_all_in_order(tools: KafkaTools, topics: list[str]) -> None:
    consumed = tools(
        "kafka-console-consumer",
        *("--include", re.escape(topics[0])[:-1] + r"\d", "--from-beginning"),
        *("--max-messages", str(TOPICS * PARTITIONS * RECORDS), "--timeout-ms", CONSUME_TIMEOUT_MS),
        *("--command-property", f"max.partition.fetch.bytes={ASKED_BYTES}"),
        *("--formatter-property", "print.key=true", "--formatter-property", "print.value=false"),
        *("--formatter-property", "print.offset=true"),
        *("--formatter-property", "print.partition=true"),
    )
    is_in_order(map(read_of, consumed.lines), topics)


def read_of(line: str) -> Read:
    """`Partition:0<tab>Offset:0<tab>key`"""
    partition, offset, key = line.split("\t")
    topic = key.split("/")[0]
    return topic, int(partition.split(":")[1]), int(offset.split(":")[1]), key.encode()
