"""A round trip with each Python client: transactions, and a group that reads and commits them.

`ROUND_TRIPS[client](way, topic, values)` writes the values in one transaction, others in one that
is aborted, reads what is committed as a member of a group, commits, and lets a second member begin
behind it. It returns what the first member read, and where the second one began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.clients.kafka_python_joins import with_whole_joins
from tests.compat.security import ways
from tests.compat.security.ways import Way

RoundTrip = Callable[[Way, str, Sequence[bytes]], tuple[list[bytes], int]]

TIMEOUT_S = 60
ABORTED = b"aborted"


def confluent(way: Way, topic: str, values: Sequence[bytes]) -> tuple[list[bytes], int]:
    """confluent-kafka."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    settings = {**ways.librdkafka(way), "log_level": 0}
    producer = Producer({**settings, "transactional.id": topic, "linger.ms": 2})
    producer.init_transactions(TIMEOUT_S)
    for batch, end in (((ABORTED,), "abort"), (values, "commit")):
        producer.begin_transaction()
        for value in batch:
            producer.produce(topic, value)
        assert producer.flush(TIMEOUT_S) == 0  # else what is aborted never leaves
        getattr(producer, f"{end}_transaction")(TIMEOUT_S)

    grouped = {
        **settings,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 100,
    }
    read: list[bytes] = []
    consumer = Consumer(grouped)
    consumer.subscribe([topic])
    while len(read) < len(values):
        for message in consumer.consume(len(values), 1.0):
            assert message.error() is None, message.error()
            read.append(message.value())
    (committed,) = consumer.commit(asynchronous=False)
    consumer.close()

    second = Consumer(grouped)
    (begins,) = second.committed([TopicPartition(topic, 0)], TIMEOUT_S)
    second.close()
    assert begins.offset == committed.offset
    return read, begins.offset


def kafka_python(way: Way, topic: str, values: Sequence[bytes]) -> tuple[list[bytes], int]:
    """kafka-python."""
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    settings = ways.kafka_python(way)
    producer = KafkaProducer(**settings, transactional_id=topic, linger_ms=2, retry_backoff_ms=20)
    producer.init_transactions()
    for batch, end in (((ABORTED,), "abort"), (values, "commit")):
        producer.begin_transaction()
        for value in batch:
            producer.send(topic, value)
        producer.flush(TIMEOUT_S)
        getattr(producer, f"{end}_transaction")()
    producer.close(timeout=TIMEOUT_S)

    grouped = {
        **settings,
        "group_id": topic,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "isolation_level": "read_committed",
        "fetch_max_wait_ms": 100,
    }
    read: list[bytes] = []
    consumer = with_whole_joins(KafkaConsumer(topic, **grouped))
    while len(read) < len(values):
        for records in consumer.poll(timeout_ms=1000).values():
            read += [record.value for record in records]
    consumer.commit()
    consumer.close()

    second = KafkaConsumer(**grouped)
    begins = second.committed(TopicPartition(topic, 0))
    second.close()
    return read, begins


def aiokafka(way: Way, topic: str, values: Sequence[bytes]) -> tuple[list[bytes], int]:
    """aiokafka."""
    return asyncio.run(asyncio.wait_for(_aiokafka(way, topic, values), TIMEOUT_S))


async def _aiokafka(way: Way, topic: str, values: Sequence[bytes]) -> tuple[list[bytes], int]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    settings = ways.aiokafka(way)
    producer = AIOKafkaProducer(
        **settings, transactional_id=topic, linger_ms=2, retry_backoff_ms=20
    )
    await producer.start()
    for batch, end in (((ABORTED,), "abort"), (values, "commit")):
        await producer.begin_transaction()
        await asyncio.gather(*[await producer.send(topic, value) for value in batch])
        await getattr(producer, f"{end}_transaction")()
    await producer.stop()

    grouped: dict[str, Any] = {
        **settings,
        "group_id": topic,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "isolation_level": "read_committed",
        "fetch_max_wait_ms": 100,
    }
    read: list[bytes] = []
    consumer = AIOKafkaConsumer(topic, **grouped)
    await consumer.start()
    while len(read) < len(values):
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            read += [record.value for record in records]
    await consumer.commit()
    await consumer.stop()

    second = AIOKafkaConsumer(**grouped)
    await second.start()
    begins = await second.committed(TopicPartition(topic, 0))
    await second.stop()
    return read, begins


ROUND_TRIPS: dict[str, RoundTrip] = {
    "confluent-kafka": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
