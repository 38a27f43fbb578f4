"""Two things that programs do, with each Python client, and the error that it is told.

`READS[client](way, topic, group)` reads one record as a member of the group and commits;
`COPIES[client](way, source, target, group, transactional_id)` writes one record and the group's
offset in a transaction. Both give Kafka's number of the error, 0 where there was none.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from typing import Any

from tests.clients.kafka_python_joins import with_whole_joins
from tests.compat.security import ways
from tests.compat.security.ways import Way

Read = Callable[[Way, str, str], int]
Copy = Callable[[Way, str, str, str, str], int]

TIMEOUT_S = 60
_GROUPED = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "fetch_max_wait_ms": 50}


def _kafka_python_reads(way: Way, topic: str, group: str) -> int:
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    consumer = KafkaConsumer(topic, group_id=group, **_GROUPED, **ways.kafka_python(way))
    with_whole_joins(consumer)
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while not consumer.poll(timeout_ms=200):
            assert time.monotonic() < deadline, "nothing is read, and nothing told"
        consumer.commit()
    except KafkaError as error:
        return _number(error)
    finally:
        consumer.close(autocommit=False, timeout_ms=0)
    return 0


def _kafka_python_copies(way: Way, source: str, target: str, group: str, name: str) -> int:
    from kafka import KafkaProducer, TopicPartition
    from kafka.errors import KafkaError
    from kafka.structs import OffsetAndMetadata

    settings = {"linger_ms": 0, "retry_backoff_ms": 20, **ways.kafka_python(way)}
    producer = KafkaProducer(transactional_id=name, **settings)
    try:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(target, b"v").get(TIMEOUT_S)
        at = {TopicPartition(source, 0): OffsetAndMetadata(1, "", -1)}
        producer.send_offsets_to_transaction(at, group)
        producer.commit_transaction()
    except KafkaError as error:
        return _number(error)
    finally:
        with contextlib.suppress(KafkaError):
            producer.close(timeout=0)
    return 0


def _aiokafka_reads(way: Way, topic: str, group: str) -> int:
    from aiokafka import AIOKafkaConsumer
    from aiokafka.errors import KafkaError

    async def read() -> int:
        settings: dict[str, Any] = {**_GROUPED, **ways.aiokafka(way)}
        consumer = AIOKafkaConsumer(topic, group_id=group, **settings)
        try:
            await consumer.start()
            await consumer.getone()
            await consumer.commit()
        except KafkaError as error:
            return _number(error)
        finally:
            await consumer.stop()
        return 0

    return asyncio.run(asyncio.wait_for(read(), TIMEOUT_S))


def _aiokafka_copies(way: Way, source: str, target: str, group: str, name: str) -> int:
    from aiokafka import AIOKafkaProducer, TopicPartition
    from aiokafka.errors import KafkaError

    async def copy() -> int:
        settings = {"linger_ms": 0, "retry_backoff_ms": 20, **ways.aiokafka(way)}
        producer = AIOKafkaProducer(transactional_id=name, **settings)
        try:
            await producer.start()
            await producer.begin_transaction()
            await producer.send_and_wait(target, b"v")
            at = {TopicPartition(source, 0): 1}
            await producer.send_offsets_to_transaction(at, group)
            await producer.commit_transaction()
        except KafkaError as error:
            return _number(error)
        finally:
            await producer.stop()
        return 0

    return asyncio.run(asyncio.wait_for(copy(), TIMEOUT_S))


def _number(error: BaseException | None) -> int:
    """Of the broker's error, which some of the clients' errors only tell of."""
    while error is not None:
        told = re.search(r"\[Error (\d+)\]", str(error))
        if told is not None:
            return int(told[1])
        error = error.__cause__
    raise AssertionError("an error that is not the broker's")


READS: dict[str, Read] = {"kafka-python": _kafka_python_reads, "aiokafka": _aiokafka_reads}
COPIES: dict[str, Copy] = {"kafka-python": _kafka_python_copies, "aiokafka": _aiokafka_copies}
