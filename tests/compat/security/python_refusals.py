"""What the Python clients tell when nobody lets them in.

`ATTEMPTS[client](way, enough)` tries to produce and returns all that the client told: errors, and
lines of its log, as `<what it is> <text>`. It ends at once when `enough` holds for one of them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.compat.security import ways
from tests.compat.security.ways import Way

Enough = Callable[[str], bool]
Attempt = Callable[[Way, Enough], list[str]]

TOPIC = "nobody-comes-here"
PATIENCE_S = 60.0
GIVES_UP_MS = 400
"""When kafka-python is told to end its tries, if it has a reason by then; as it is, it goes on for
30 s."""


def confluent(way: Way, enough: Enough) -> list[str]:
    """confluent-kafka: its `error_cb`, then the fate of the record."""
    from confluent_kafka import Producer

    told: list[str] = []
    producer = Producer(
        {
            **ways.librdkafka(way),
            "log_level": 0,
            "message.timeout.ms": 1000,
            "error_cb": lambda error: told.append(f"{error.name()} {error.str()}"),
        }
    )
    producer.produce(
        TOPIC, b"", on_delivery=lambda error, _: told.append(f"delivery {error and error.name()}")
    )
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not any(map(enough, told)):
        producer.poll(0.05)
    producer.purge()
    producer.flush(0)
    return told


def kafka_python(way: Way, enough: Enough) -> list[str]:
    """kafka-python: its log, then how it ends. On a busy machine it may have to try for longer."""
    tries_ms = GIVES_UP_MS
    while True:
        told = _kafka_python(way, tries_ms)
        if any(map(enough, told)) or tries_ms > 1_000 * PATIENCE_S:
            return told
        tries_ms *= 3


def _kafka_python(way: Way, tries_ms: int) -> list[str]:
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    # A producer that cannot begin leaves its client, with its thread and its sockets, to nobody.
    clients: list[Any] = []
    default = KafkaProducer.DEFAULT_CONFIG["kafka_client"]

    def new_client(**config: Any) -> Any:
        clients.append(default(**config))
        return clients[-1]

    settings = {"bootstrap_timeout_ms": tries_ms, "kafka_client": new_client}
    with _log("kafka") as told:
        try:
            KafkaProducer(**ways.kafka_python(way), **settings).close()
        except KafkaError as error:
            told.append(f"{type(error).__name__} {error}")
        finally:
            for client in clients:
                client.close()
    return told


def aiokafka(way: Way, enough: Enough) -> list[str]:
    """aiokafka: its log, then how it ends."""
    with _log("aiokafka") as told:
        asyncio.run(_aiokafka(way, told))
    return told


async def _aiokafka(way: Way, told: list[str]) -> None:
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import KafkaError

    producer = AIOKafkaProducer(**ways.aiokafka(way))
    try:
        await producer.start()
    except KafkaError as error:
        told.append(f"{type(error).__name__} {error}")
    finally:
        await producer.stop()


@contextmanager
def _log(name: str) -> Iterator[list[str]]:
    """What a client says in its log meanwhile."""
    told: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(f"log {record.getMessage()}")

    logger, listener = logging.getLogger(name), Listener()
    logger.addHandler(listener)
    try:
        yield told
    finally:
        logger.removeHandler(listener)


ATTEMPTS: dict[str, Attempt] = {
    "confluent-kafka": confluent,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
