"""`python -m tests.compat.quota_rates.workers CELL WAY TOPIC`: the clients of one cell, in Python.

CELL and WAY are JSON. Each client sends as much as it can, with two requests unacknowledged,
or reads on from the beginning. Ten times a second a line says when it was and how many bytes of
values there are by then, acknowledged or come. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.compat.quota_rates.cells import PRODUCE, VALUE_BYTES, Cell
from tests.compat.security.ways import Way, aiokafka, kafka_python, librdkafka

EVERY_S = 0.1
POLL_S = 0.2
PAUSE_S = 0.01


class Count:
    """Bytes of all clients. Added to by many threads, each call under a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.total = 0

    def add(self, size: int) -> None:
        with self._lock:
            self.total += size


def confluent_producers(way: Way, topic: str, cell: Cell, done: Count) -> None:
    """Until the process ends."""
    from confluent_kafka import Producer

    config = {**librdkafka(way), "linger.ms": 5, "batch.size": cell.request_bytes, "acks": 1}
    producers = [Producer(config) for _ in range(cell.count)]
    under_way = [0] * cell.count

    def acknowledged(number: int) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            if error is not None:
                raise RuntimeError(str(error))
            under_way[number] -= 1
            done.add(len(message.value()))

        return report

    reports = [acknowledged(number) for number in range(cell.count)]
    value = bytes(VALUE_BYTES)
    while True:
        for number, producer in enumerate(producers):
            while under_way[number] < cell.under_way:
                under_way[number] += 1
                producer.produce(topic, value, partition=0, on_delivery=reports[number])
            producer.poll(0)
        time.sleep(PAUSE_S)


def confluent_consumers(way: Way, topic: str, cell: Cell, done: Count) -> None:
    """Until the process ends."""
    from confluent_kafka import Consumer, TopicPartition

    config = {
        **librdkafka(way),
        "group.id": "unused",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "max.partition.fetch.bytes": cell.request_bytes,
    }
    consumers = [Consumer(config) for _ in range(cell.count)]
    for one in consumers:
        one.assign([TopicPartition(topic, 0, 0)])
    while True:
        for one in consumers:
            for message in one.consume(100, 0):
                if message.error() is not None:
                    raise RuntimeError(str(message.error()))
                done.add(len(message.value()))
        time.sleep(PAUSE_S)


def kafka_python_producers(way: Way, topic: str, cell: Cell, done: Count) -> None:
    """Until the process ends; a thread for each."""
    from kafka import KafkaProducer

    def produce() -> None:
        producer = KafkaProducer(
            **kafka_python(way),
            acks=1,
            linger_ms=5,
            batch_size=cell.request_bytes,
            enable_idempotence=False,
        )
        room = threading.Semaphore(cell.under_way)

        def acknowledged(_: Any) -> None:
            done.add(VALUE_BYTES)
            room.release()

        value = bytes(VALUE_BYTES)
        while True:
            room.acquire()
            producer.send(topic, value, partition=0).add_callback(acknowledged)

    _in_threads(produce, cell.count)


def kafka_python_consumers(way: Way, topic: str, cell: Cell, done: Count) -> None:
    """Until the process ends; a thread for each."""
    from kafka import KafkaConsumer, TopicPartition

    partition = TopicPartition(topic, 0)

    def consume() -> None:
        consumer = KafkaConsumer(
            **kafka_python(way),
            group_id=None,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=cell.request_bytes,
        )
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        while True:
            for records in consumer.poll(timeout_ms=int(POLL_S * 1e3)).values():
                done.add(sum(len(one.value) for one in records))

    _in_threads(consume, cell.count)


def _in_threads(run: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    raise RuntimeError("all clients have ended")


def aiokafka_producers(way: Way, topic: str, cell: Cell, done: Count) -> None:
    """Until the process ends; all in one loop."""
    from aiokafka import AIOKafkaProducer

    async def produce() -> None:
        producer = AIOKafkaProducer(
            **aiokafka(way), acks=1, linger_ms=5, max_batch_size=cell.request_bytes
        )
        await producer.start()
        room = asyncio.Semaphore(cell.under_way)
        value = bytes(VALUE_BYTES)

        def acknowledged(sent: asyncio.Future[Any]) -> None:
            sent.result()
            done.add(VALUE_BYTES)
            room.release()

        while True:
            await room.acquire()
            sent = await producer.send(topic, value, partition=0)
            sent.add_done_callback(acknowledged)

    asyncio.run(_all(produce, cell.count))


def aiokafka_consumers(way: Way, topic: str, cell: Cell, done: Count) -> None:
    """Until the process ends; all in one loop."""
    from aiokafka import AIOKafkaConsumer
    from aiokafka.structs import TopicPartition

    partition = TopicPartition(topic, 0)

    async def consume() -> None:
        consumer = AIOKafkaConsumer(
            **aiokafka(way),
            group_id=None,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=cell.request_bytes,
        )
        await consumer.start()
        consumer.assign([partition])
        consumer.seek(partition, 0)
        while True:
            for records in (await consumer.getmany(timeout_ms=int(POLL_S * 1e3))).values():
                done.add(sum(len(one.value) for one in records))

    asyncio.run(_all(consume, cell.count))


async def _all(run: Callable[[], Any], count: int) -> None:
    await asyncio.gather(*(run() for _ in range(count)))


Clients = Callable[[Way, str, Cell, Count], None]
WORK: Mapping[str, tuple[Clients, Clients]] = {
    "confluent-kafka": (confluent_producers, confluent_consumers),
    "kafka-python": (kafka_python_producers, kafka_python_consumers),
    "aiokafka": (aiokafka_producers, aiokafka_consumers),
}
"""Producers, consumers."""


def main(words: Sequence[str]) -> None:
    """See the module."""
    cell, way, topic = Cell(**json.loads(words[0])), Way(**json.loads(words[1])), words[2]
    done = Count()
    threading.Thread(target=_tell, args=[done], daemon=True).start()
    threading.Thread(target=_end_with_input, daemon=True).start()
    produce, consume = WORK[cell.client]
    (produce if cell.operation == PRODUCE else consume)(way, topic, cell, done)


def _tell(done: Count) -> None:
    while True:
        print(json.dumps([time.monotonic(), done.total]), flush=True)
        time.sleep(EVERY_S)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)  # a throttled client would wait before it says goodbye


if __name__ == "__main__":
    main(sys.argv[1:])
