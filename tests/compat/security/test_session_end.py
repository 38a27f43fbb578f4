"""Clients that go on beyond the end of their login (KIP-368).

The three Python clients produce side by side for some sessions, each by a mechanism and a listener
of its own. Two of them log in again meanwhile, on the connection that they have; aiokafka does not
know how to, is closed at the end of each session and connects anew. No record is lost, and no
client sees an error.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from tests.compat.security import ways
from tests.compat.security.secured_broker import SHORT, SecuredBroker
from tests.compat.security.ways import PLAIN, SASL_PLAINTEXT, SHA_256, SHA_512, Way
from tests.tools.waiting import wait_until

SESSIONS = 3
PAUSE_S = 0.05
SLOWEST_S = 60.0

Outcome = tuple[int, list[str]]


def confluent(way: Way, topic: str, done: Event) -> Outcome:
    """How many records were acknowledged, and what went wrong."""
    from confluent_kafka import KafkaError, Producer

    # A login that comes too late on a busy machine ends the connection, and another one is made. If
    # that was amid a login, librdkafka says that the login failed, by the loss of the connection.
    lost = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
    amid_login = "Local: Broker transport failure"
    wrong: list[str] = []
    count = 0

    def heard(error: KafkaError) -> None:
        if error.code() not in lost and amid_login not in error.str():
            wrong.append(str(error))

    producer = Producer({**ways.librdkafka(way), "error_cb": heard})
    while not done.is_set():
        producer.produce(topic, b"x", on_delivery=lambda e, _: wrong.append(str(e)) if e else None)
        assert producer.flush(SLOWEST_S) == 0
        count += 1
        time.sleep(PAUSE_S)
    return count, wrong


def kafka_python(way: Way, topic: str, done: Event) -> Outcome:
    """As `confluent`."""
    from kafka import KafkaProducer

    count = 0
    producer = KafkaProducer(**ways.kafka_python(way))
    while not done.is_set():
        producer.send(topic, b"x").get(SLOWEST_S)
        count += 1
        time.sleep(PAUSE_S)
    producer.close()
    return count, []


def aiokafka(way: Way, topic: str, done: Event) -> Outcome:
    """As `confluent`."""
    return asyncio.run(_aiokafka(way, topic, done))


async def _aiokafka(way: Way, topic: str, done: Event) -> Outcome:
    from aiokafka import AIOKafkaProducer

    count = 0
    producer = AIOKafkaProducer(**ways.aiokafka(way))
    await producer.start()
    while not done.is_set():
        await asyncio.wait_for(producer.send_and_wait(topic, b"x"), SLOWEST_S)
        count += 1
        await asyncio.sleep(PAUSE_S)
    await producer.stop()
    return count, []


CLIENTS: dict[Callable[[Way, str, Event], Outcome], str] = {
    confluent: PLAIN,
    kafka_python: SHA_256,
    aiokafka: SHA_512,
}


def test_clients_produce_over_their_sessions_ends(secured: SecuredBroker) -> None:
    topic = secured.topic(f"sessions-{uuid.uuid4()}")
    mark, done = secured.mark(), Event()
    with ThreadPoolExecutor(len(CLIENTS)) as threads:
        running = [
            threads.submit(
                client, secured.way(SASL_PLAINTEXT, mechanism, SHORT[mechanism]), topic, done
            )
            for client, mechanism in CLIENTS.items()
        ]
        try:
            for mechanism in (PLAIN, SHA_256):
                until_logged_in(secured, mechanism, "reauthentication", SESSIONS - 1, running)
            # Its first two are of the connection that it asks for brokers, and of the other one.
            until_logged_in(secured, SHA_512, "authentication", 2 + SESSIONS - 1, running)
        finally:
            done.set()
        outcomes = [client.result() for client in running]
    for count, wrong in outcomes:
        assert count > SESSIONS and wrong == []
    assert logins(secured, SHA_512, "reauthentication") == 0, "aiokafka has learnt it"
    assert secured.said_since(mark, lambda line: "Failed" in line, 0) is None


def until_logged_in(
    secured: SecuredBroker,
    mechanism: str,
    kind: str,
    count: int,
    running: list[Future[Outcome]],
) -> None:
    """Wait until so many logins have been made by that mechanism; all clients go on meanwhile."""

    def are_made() -> bool:
        for client in running:
            assert not client.done(), client.result()
        return logins(secured, mechanism, kind) >= count

    wait_until(are_made, f"{count} times {kind} by {mechanism}", pause_s=0.1)


def logins(secured: SecuredBroker, mechanism: str, kind: str) -> float:
    """How many clients have logged in, or logged in again, by that mechanism."""
    name = f"kafka_server_socket_server_metrics_successful_{kind}_total"
    return secured.metric(name, SHORT[mechanism])
