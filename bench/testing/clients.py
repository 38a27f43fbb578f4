"""The tasks of the three clients: a first record, a first group, a whole small test.

Each task raises an error if it does not succeed within PATIENCE_S. Clients have their default
settings, but a new group reads from the earliest offset.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import Callable, Iterable, Iterator

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

PATIENCE_S = 5.0
RECORDS = 10
VALUES = [f"value {number}".encode() for number in range(RECORDS)]

_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Silence the clients' warnings that a topic does not exist yet."""
    loggers = [logging.getLogger(name) for name in ("aiokafka", "kafka")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


class NotInTime(Exception):
    """A client did not succeed in time."""


def answers(address: str) -> None:
    """Connect, and check the broker's answer to ApiVersions v0."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        connection.sendall(_API_VERSIONS)
        with connection.makefile("rb") as answer:
            (size,) = struct.unpack(">i", answer.read(4))
            correlation, error = struct.unpack(">ih", answer.read(size)[:6])
    if (correlation, error) != (1, 0):
        raise NotInTime(f"ApiVersions was answered by error {error}")


def first_record(servers: str, topic: str) -> None:
    """Produce a record by a new producer, until it is acknowledged."""
    _confluent_produce(servers, topic, VALUES[:1])


def first_group(servers: str, topic: str, group: str) -> None:
    """Consume the first record by a new consumer of a new group."""
    consumer = Consumer(_confluent_group(servers, group))
    consumer.subscribe([topic])
    try:
        if [message.value() for message in consumer.consume(1, PATIENCE_S)] != VALUES[:1]:
            raise NotInTime("no record came")
    finally:
        consumer.close()


def confluent(servers: str, topic: str, group: str) -> None:
    """Produce the records, read them as a group, and commit, by confluent-kafka."""
    _confluent_produce(servers, topic, VALUES)
    consumer = Consumer(_confluent_group(servers, group))
    consumer.subscribe([topic])
    try:
        _check_values(message.value() for message in consumer.consume(RECORDS, PATIENCE_S))
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def kafka_python(servers: str, topic: str, group: str) -> None:
    """Produce the records, read them as a group, and commit, by kafka-python."""
    patience_ms = int(PATIENCE_S * 1000)
    producer = KafkaProducer(
        bootstrap_servers=servers, max_block_ms=patience_ms, bootstrap_timeout_ms=patience_ms
    )
    try:
        for sent in [producer.send(topic, value) for value in VALUES]:
            sent.get(PATIENCE_S)
    finally:
        producer.close(PATIENCE_S)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        auto_offset_reset="earliest",
        consumer_timeout_ms=patience_ms,
        bootstrap_timeout_ms=patience_ms,
    )
    try:
        # In this order: with the consumer first, `zip` would wait for another record.
        _check_values(record.value for _, record in zip(VALUES, consumer, strict=False))
        consumer.commit()
    finally:
        consumer.close()


def aiokafka(servers: str, topic: str, group: str) -> None:
    """Produce the records, read them as a group, and commit, by aiokafka."""
    asyncio.run(asyncio.wait_for(_aiokafka(servers, topic, group), 2 * PATIENCE_S))


async def _aiokafka(servers: str, topic: str, group: str) -> None:
    """Produce and consume all values by aiokafka, and commit."""
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    try:
        for sent in [await producer.send(topic, value) for value in VALUES]:
            await sent
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        _check_values([(await consumer.getone()).value for _ in VALUES])
        await consumer.commit()
    finally:
        await consumer.stop()


CLIENTS: dict[str, Callable[[str, str, str], None]] = {
    "confluent-kafka": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}


def leave_behind(servers: str, name: str) -> None:
    """Create three topics, a group and a transactional id, as a test leaves them."""
    topics = [f"{name}-{number}" for number in range(3)]
    producer = Producer({**_confluent(servers), "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for topic in topics:
        producer.produce(topic, VALUES[0])
    producer.commit_transaction(PATIENCE_S)
    consumer = Consumer(_confluent_group(servers, name))
    consumer.subscribe(topics)
    try:
        messages = consumer.consume(len(topics), PATIENCE_S)
        if len(messages) != len(topics):
            raise NotInTime(f"{len(messages)} of {len(topics)} records came")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def _confluent_produce(servers: str, topic: str, values: list[bytes]) -> None:
    """Produce the values, and wait until all are delivered. Raises NotInTime if one is not."""
    failed: list[object] = []
    producer = Producer(_confluent(servers))
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error))
    if producer.flush(PATIENCE_S) or failed != [None] * len(values):
        raise NotInTime(f"not delivered: {failed}")


def _confluent_group(servers: str, group: str) -> dict[str, str]:
    return {**_confluent(servers), "group.id": group, "auto.offset.reset": "earliest"}


def _confluent(servers: str) -> dict[str, str]:
    return {"bootstrap.servers": servers, "log_level": "4"}


def _check_values(values: Iterable[bytes | None]) -> None:
    """Raise NotInTime unless the values are those that were produced, in any order."""
    received = list(values)
    if sorted(value or b"" for value in received) != VALUES:  # a topic may have several partitions
        raise NotInTime(f"{len(received)} of {RECORDS} records came")
