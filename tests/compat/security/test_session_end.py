"""Clients that go on beyond the end of their login (KIP-368).

The three Python clients produce side by side for a little more than three sessions, each by a
mechanism of its own. Two of them log in again meanwhile, on the connection that they have; aiokafka
does not know how to, is closed at the end of each session and connects anew. No record is lost or
late, and nobody sees an error.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.compat.security import ways
from tests.compat.security.secured_broker import SESSION_MS, SecuredBroker
from tests.compat.security.ways import PLAIN, SASL_PLAINTEXT, SHA_256, SHA_512, Way

SESSIONS = 3
LASTS_S = SESSIONS * SESSION_MS / 1000 + 0.1
PAUSE_S = 0.05
SLOWEST_S = 5.0


def confluent(way: Way, topic: str) -> tuple[int, list[str]]:
    """How many records were acknowledged, and what went wrong."""
    from confluent_kafka import Producer

    wrong: list[str] = []
    sent: list[float] = []
    producer = Producer({**ways.librdkafka(way), "error_cb": lambda e: wrong.append(str(e))})
    ends = time.monotonic() + LASTS_S
    while time.monotonic() < ends:
        producer.produce(topic, b"x", on_delivery=lambda e, _: wrong.append(str(e)) if e else None)
        assert producer.flush(SLOWEST_S) == 0
        sent.append(time.monotonic())
        time.sleep(PAUSE_S)
    return len(sent), wrong


def kafka_python(way: Way, topic: str) -> tuple[int, list[str]]:
    """As `confluent`."""
    from kafka import KafkaProducer

    count = 0
    producer = KafkaProducer(**ways.kafka_python(way))
    ends = time.monotonic() + LASTS_S
    while time.monotonic() < ends:
        producer.send(topic, b"x").get(SLOWEST_S)
        count += 1
        time.sleep(PAUSE_S)
    producer.close()
    return count, []


def aiokafka(way: Way, topic: str) -> tuple[int, list[str]]:
    """As `confluent`."""
    return asyncio.run(_aiokafka(way, topic))


async def _aiokafka(way: Way, topic: str) -> tuple[int, list[str]]:
    from aiokafka import AIOKafkaProducer

    count = 0
    producer = AIOKafkaProducer(**ways.aiokafka(way))
    await producer.start()
    ends = time.monotonic() + LASTS_S
    while time.monotonic() < ends:
        await asyncio.wait_for(producer.send_and_wait(topic, b"x"), SLOWEST_S)
        count += 1
        await asyncio.sleep(PAUSE_S)
    await producer.stop()
    return count, []


CLIENTS: dict[Callable[[Way, str], tuple[int, list[str]]], str] = {
    confluent: PLAIN,
    kafka_python: SHA_256,
    aiokafka: SHA_512,
}


def test_clients_produce_over_three_sessions(secured: SecuredBroker) -> None:
    topic = secured.topic(f"sessions-{uuid.uuid4()}")
    mark = secured.mark()
    with ThreadPoolExecutor(len(CLIENTS)) as threads:
        running = [
            threads.submit(client, secured.way(SASL_PLAINTEXT, mechanism, "SHORT"), topic)
            for client, mechanism in CLIENTS.items()
        ]
        time.sleep(LASTS_S / SESSIONS / 2)
        before = logins(secured, "authentication")
        outcomes = [one.result() for one in running]
    for count, wrong in outcomes:
        assert count > SESSIONS and wrong == []
    assert logins(secured, "reauthentication") >= (len(CLIENTS) - 1) * (SESSIONS - 1)
    assert 1 <= logins(secured, "authentication") - before <= SESSIONS, "aiokafka alone does"
    assert secured.said_since(mark, lambda line: "Failed" in line, 0) is None


def logins(secured: SecuredBroker, kind: str) -> float:
    """So many of the listener's clients have logged in, or logged in again."""
    return secured.metric(f"kafka_server_socket_server_metrics_successful_{kind}_total", "SHORT")
