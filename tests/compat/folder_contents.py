"""What clients put into a broker's data folder, and what they find there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

TOPIC = "moving"
GROUP = "movers"
PARTITIONS = 3
TIMESTAMP_MS = 1_700_000_000_000
_NOT_YET = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
T = TypeVar("T")


@dataclass(frozen=True)
class Contents:
    """What clients can see of a broker's data."""

    cluster_id: str
    topics: dict[str, int]
    configs: dict[str, str]
    records: list[tuple[Any, ...]]
    committed: dict[int, int]


def create_topic(bootstrap: str) -> None:
    configs = {"retention.ms": "-1", "segment.bytes": str(1024 * 1024), "cleanup.policy": "delete"}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (created,) = admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config=configs)]).values()
    created.result(60)


def produce(bootstrap: str, first: int, count: int) -> None:
    """Records of every compression, with and without keys, values and headers."""
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 5,
            }
        )
        for i in range(first, first + count):
            producer.produce(
                TOPIC,
                partition=i % PARTITIONS,
                key=None if i % 7 == 0 else f"key-{i}",
                value=None if i % 11 == 0 else f"{codec} value {i} " * 20,
                headers=[("number", str(i).encode()), ("nothing", None)] if number else [],
                timestamp=TIMESTAMP_MS + i,
            )
        assert producer.flush(60) == 0


def commit(bootstrap: str) -> None:
    """Read some records in the group and commit them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([TOPIC])
        assert len(consumer.consume(100, 60)) == 100
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def once_up(ask: Callable[[], T]) -> T:
    """The answer of a broker that may have just started, and not lead its partitions yet."""
    deadline = time.monotonic() + 90
    while True:
        try:
            return ask()
        except KafkaException as refused:
            if refused.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def end_offset(consumer: Consumer, partition: TopicPartition) -> int:
    """The high watermark."""
    end: int = once_up(lambda: consumer.get_watermark_offsets(partition, 60))[1]
    return end


def contents(bootstrap: str) -> Contents:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    metadata = admin.list_topics(timeout=60)
    topics = {name: len(t.partitions) for name, t in sorted(metadata.topics.items())}
    resource = ConfigResource(ResourceType.TOPIC, TOPIC)
    described = admin.describe_configs([resource])[resource].result(60)
    configs = {entry.name: entry.value for entry in described.values() if not entry.is_default}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
    )
    try:
        partitions = [TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)]
        ends = [end_offset(consumer, p) for p in partitions]
        consumer.assign(partitions)
        messages = consumer.consume(sum(ends), 60)
        committed = once_up(lambda: consumer.committed(partitions, 60))
    finally:
        consumer.close()
    assert len(messages) == sum(ends)
    records = sorted(
        (m.partition(), m.offset(), m.timestamp(), m.key(), m.value(), tuple(m.headers() or ()))
        for m in messages
    )
    return Contents(
        metadata.cluster_id, topics, configs, records, {p.partition: p.offset for p in committed}
    )


def assert_same(one: Contents, two: Contents) -> None:
    assert one.cluster_id == two.cluster_id
    assert one.topics == two.topics
    assert one.configs == two.configs
    assert one.committed == two.committed
    assert one.records == two.records
