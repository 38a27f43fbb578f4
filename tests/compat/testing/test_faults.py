"""Faults on demand as three clients meet them: what each of them does by itself, and what it says.

On the first request and on the hundredth: until then a client has settled, and the broker would
have prepared its answers.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

from ottla.testing import Broker
from ottla.testing.topic import Topic
from tests.clients.transactional_clients import open_producer
from tests.clients.transactional_faces import Fenced

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
FIRST_AND_HUNDREDTH = (0, 99)
WITHIN_S = 20.0
GIVES_UP_MS = 500
BACKOFF_MS = 20

_names = (f"topic-{number}" for number in itertools.count())


class NotSent(Exception):
    """A client gave up on a record; the text is its own."""


class Sender(Protocol):
    """A producer that sends one record after the other, each in a request of its own."""

    def send(self, value: bytes) -> None:
        """Raises NotSent."""

    def close(self) -> None: ...


class ConfluentSender:
    """confluent-kafka."""

    def __init__(self, broker: Broker, topic: str, client_id: str, patient: bool) -> None:
        from confluent_kafka import Producer

        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "client.id": client_id,
                "linger.ms": 0,
                "retry.backoff.ms": BACKOFF_MS,
                "message.timeout.ms": int(WITHIN_S * 1000) if patient else GIVES_UP_MS,
                "log_level": 0,
            }
        )

    def send(self, value: bytes) -> None:
        told: list[Any] = []
        self._producer.produce(
            self._topic, value, partition=0, on_delivery=lambda error, _: told.append(error)
        )
        assert self._producer.flush(WITHIN_S) == 0
        if told[0] is not None:
            raise NotSent(told[0].name())

    def close(self) -> None:
        """Nothing is kept."""


class KafkaPythonSender:
    """kafka-python."""

    def __init__(self, broker: Broker, topic: str, client_id: str, patient: bool) -> None:
        from kafka import KafkaProducer

        waits: dict[str, Any] = {}
        if not patient:
            waits = {
                "request_timeout_ms": GIVES_UP_MS // 2,
                "delivery_timeout_ms": GIVES_UP_MS,
                "retries": 0,
            }
        self._topic = topic
        self._producer = KafkaProducer(
            bootstrap_servers=broker.bootstrap_servers,
            client_id=client_id,
            linger_ms=0,
            retry_backoff_ms=BACKOFF_MS,
            enable_idempotence=False,
            **waits,
        )

    def send(self, value: bytes) -> None:
        from kafka.errors import KafkaError

        try:
            self._producer.send(self._topic, value, partition=0).get(WITHIN_S)
        except KafkaError as error:
            raise NotSent(type(error).__name__) from error

    def close(self) -> None:
        self._producer.close(timeout=0)


class AiokafkaSender:
    """aiokafka."""

    def __init__(self, broker: Broker, topic: str, client_id: str, patient: bool) -> None:
        from aiokafka import AIOKafkaProducer

        self._topic = topic
        self._runner = asyncio.Runner()

        async def start() -> Any:
            producer = AIOKafkaProducer(
                bootstrap_servers=broker.bootstrap_servers,
                client_id=client_id,
                linger_ms=0,
                retry_backoff_ms=BACKOFF_MS,
                request_timeout_ms=int(WITHIN_S * 1000) if patient else GIVES_UP_MS,
            )
            await producer.start()
            return producer

        self._producer = self._runner.run(start())

    def send(self, value: bytes) -> None:
        from aiokafka.errors import KafkaError

        try:
            self._runner.run(self._producer.send_and_wait(self._topic, value, partition=0))
        except KafkaError as error:
            raise NotSent(type(error).__name__) from error

    def close(self) -> None:
        self._runner.run(self._producer.stop())
        self._runner.close()


_SENDERS: dict[str, Callable[[Broker, str, str, bool], Sender]] = {
    "confluent-kafka": ConfluentSender,
    "kafka-python": KafkaPythonSender,
    "aiokafka": AiokafkaSender,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as one:
        yield one


@pytest.fixture
def topic(broker: Broker) -> Iterator[Topic]:
    yield broker.topic(next(_names))
    broker.faults.clear()


def open_sender(
    client: str, broker: Broker, topic: Topic, client_id: str = "app", *, patient: bool = True
) -> Sender:
    return _SENDERS[client](broker, topic.name, client_id, patient)


def values(topic: Topic, count: int) -> list[bytes | None]:
    return [record.value for record in topic.consume(count=count, timeout=WITHIN_S)]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", FIRST_AND_HUNDREDTH)
def test_it_tries_again_by_itself(broker: Broker, topic: Topic, client: str, after: int) -> None:
    sent = [b"%d" % number for number in range(after + 2)]
    sender = open_sender(client, broker, topic)
    error = "NOT_LEADER_OR_FOLLOWER"
    with broker.fail("Produce", error, topic=topic, after=after, times=2) as fault:
        for value in sent:
            sender.send(value)
        assert (fault.met, fault.seen) == (2, len(sent) + 2)
    sender.close()
    assert values(topic, len(sent)) == sent


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", FIRST_AND_HUNDREDTH)
def test_it_says_what_it_cannot_do(broker: Broker, topic: Topic, client: str, after: int) -> None:
    sender = open_sender(client, broker, topic)
    error = "TOPIC_AUTHORIZATION_FAILED"
    with broker.fail("Produce", error, topic=topic, after=after, times=1):
        for number in range(after):
            sender.send(b"%d" % number)
        with pytest.raises(NotSent, match="(?i)topic_?authorization_?failed"):
            sender.send(b"refused")
        sender.send(b"last")
    sender.close()
    assert values(topic, after + 1)[-1] == b"last"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", FIRST_AND_HUNDREDTH)
def test_its_time_is_up_and_the_record_is_written_all_the_same(
    broker: Broker, topic: Topic, client: str, after: int
) -> None:
    sender = open_sender(client, broker, topic, patient=False)
    with broker.faults.leave_unanswered("Produce", topic=topic, after=after):
        for number in range(after):
            sender.send(b"%d" % number)
        with pytest.raises(NotSent, match="(?i)time"):
            sender.send(b"lost?")
    sender.close()
    assert values(topic, after + 1)[-1] == b"lost?"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", FIRST_AND_HUNDREDTH)
def test_its_answer_is_cut_and_the_record_is_there_twice(
    broker: Broker, topic: Topic, client: str, after: int
) -> None:
    sender = open_sender(client, broker, topic)
    with broker.faults.cut_answers("Produce", topic=topic, after=after, times=1):
        for number in range(after + 1):
            sender.send(b"%d" % number)
    sender.close()
    assert values(topic, after + 2)[-2:] == [b"%d" % after] * 2


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", FIRST_AND_HUNDREDTH)
def test_its_producer_is_fenced(broker: Broker, topic: Topic, client: str, after: int) -> None:
    producer = open_producer(client, broker.bootstrap_servers, topic.name, 60_000)
    error = "PRODUCER_FENCED" if client == "confluent-kafka" else "INVALID_PRODUCER_EPOCH"
    try:
        with broker.fail("EndTxn", error, transactional_id=topic.name, after=after, times=1):
            for _ in range(after):
                in_transaction(producer, topic)
            with pytest.raises(Fenced):
                in_transaction(producer, topic)
    finally:
        producer.close()


def in_transaction(producer: Any, topic: Topic) -> None:
    producer.begin()
    producer.send(topic.name, 0, b"x")
    producer.commit()


@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_seed_gives_a_client_the_same_faults(broker: Broker, client: str) -> None:
    def met(seed: int) -> list[bool]:
        topic = broker.topic(next(_names))
        sender = open_sender(client, broker, topic)
        refused = []
        with broker.fail("Produce", "INVALID_TIMESTAMP", topic=topic, probability=0.4, seed=seed):
            for _ in range(30):
                try:
                    sender.send(b"x")
                except NotSent:
                    refused.append(True)
                else:
                    refused.append(False)
        sender.close()
        return refused

    first = met(7)
    assert True in first and False in first
    assert met(7) == first and met(8) != first


def confluent_reader(broker: Broker, topic: str, group: str) -> Iterator[None]:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "heartbeat.interval.ms": BACKOFF_MS,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    try:
        while True:
            consumer.poll(0.05)
            yield
    finally:
        consumer.close()


def kafka_python_reader(broker: Broker, topic: str, group: str) -> Iterator[None]:
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap_servers,
        group_id=group,
        heartbeat_interval_ms=BACKOFF_MS,
        retry_backoff_ms=BACKOFF_MS,
    )
    try:
        while True:
            consumer.poll(50)
            yield
    finally:
        consumer.close()


def aiokafka_reader(broker: Broker, topic: str, group: str) -> Iterator[None]:
    from aiokafka import AIOKafkaConsumer

    async def start() -> Any:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap_servers,
            group_id=group,
            heartbeat_interval_ms=BACKOFF_MS,
            retry_backoff_ms=BACKOFF_MS,
        )
        await consumer.start()
        return consumer

    with asyncio.Runner() as runner:
        consumer = runner.run(start())
        try:
            while True:
                runner.run(consumer.getmany(timeout_ms=50))
                yield
        finally:
            runner.run(consumer.stop())


_READERS = {
    "confluent-kafka": confluent_reader,
    "kafka-python": kafka_python_reader,
    "aiokafka": aiokafka_reader,
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", (0, 20))
def test_its_group_is_rebalanced(broker: Broker, topic: Topic, client: str, after: int) -> None:
    group = f"g-{topic.name}"
    deadline_s = time.monotonic() + WITHIN_S
    reading = _READERS[client](broker, topic.name, group)
    with broker.fail(
        "Heartbeat", "REBALANCE_IN_PROGRESS", group=group, after=after, times=1
    ) as fault:
        while not fault.met or joins(broker, group) < 2:
            assert time.monotonic() < deadline_s, (fault.met, joins(broker, group))
            next(reading)
    reading.close()


def joins(broker: Broker, group: str) -> int:
    """How often a member has joined, but for asking for its id."""
    asked = [one.fields or {} for one in broker.requests("JoinGroup")]
    return sum(one["group_id"] == group and bool(one["member_id"]) for one in asked)
