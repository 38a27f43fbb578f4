"""Producers and members of groups, by three clients, as tests of faults use them.

Each tries again soon, and says by one exception that it gave up. Who sends puts one record into a
request; who reads is the one member of its group, and has one batch of an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from ottla.testing import Broker, Cluster
from tests.clients.kafka_python_joins import with_whole_joins

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
WITHIN_S = 60.0
GIVES_UP_MS = 2_500
"""Longer than a busy machine holds a request up that is answered."""
BACKOFF_MS = 20


class NotSent(Exception):
    """A client gave up on a record; the text is its own."""


class Sender(Protocol):
    """A producer that sends one record after the other, each in a request of its own."""

    def send(self, value: bytes) -> None:
        """Raises NotSent."""

    def close(self) -> None: ...


class ConfluentSender:
    """confluent-kafka."""

    def __init__(self, broker: Broker | Cluster, topic: str, client_id: str, patient: bool) -> None:
        from confluent_kafka import Producer

        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "client.id": client_id,
                "linger.ms": 0,
                "retry.backoff.ms": BACKOFF_MS,
                "reconnect.backoff.ms": BACKOFF_MS,
                "reconnect.backoff.max.ms": BACKOFF_MS,
                "message.timeout.ms": int(WITHIN_S * 1000) if patient else GIVES_UP_MS,
                "log_level": 0,
            }
        )

    def send(self, value: bytes, partition: int = 0) -> None:
        told: list[Any] = []
        self._producer.produce(
            self._topic, value, partition=partition, on_delivery=lambda error, _: told.append(error)
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
                "request_timeout_ms": GIVES_UP_MS - 50,
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


SENDERS: dict[str, Callable[[Broker, str, str, bool], Sender]] = {
    "confluent-kafka": ConfluentSender,
    "kafka-python": KafkaPythonSender,
    "aiokafka": AiokafkaSender,
}


class Rebalanced(Exception):
    """A commit was refused, since the group is another one by now."""


class Reader(Protocol):
    """The one member of a group."""

    @property
    def is_assigned(self) -> bool:
        """Whether it has partitions."""

    def poll(self) -> list[bytes]:
        """The values of records that came, maybe none."""

    def commit(self, offset: int) -> None:
        """Of partition 0. Raises Rebalanced."""

    def close(self) -> None: ...


class ConfluentReader:
    """confluent-kafka."""

    def __init__(self, broker: Broker, topic: str, group: str) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": group,
                "heartbeat.interval.ms": BACKOFF_MS,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": BACKOFF_MS,
                "fetch.error.backoff.ms": BACKOFF_MS,
                "queued.min.messages": 1,
                "fetch.queue.backoff.ms": 1,
                "max.partition.fetch.bytes": 1,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])

    @property
    def is_assigned(self) -> bool:
        return bool(self._consumer.assignment())

    def poll(self) -> list[bytes]:
        return [one.value() or b"" for one in self._consumer.consume(1, 0.02) if not one.error()]

    def commit(self, offset: int) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            self._consumer.commit(
                offsets=[TopicPartition(self._topic, 0, offset)], asynchronous=False
            )
        except KafkaException as error:
            raise Rebalanced from error

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonReader:
    """kafka-python."""

    def __init__(self, broker: Broker, topic: str, group: str) -> None:
        from kafka import KafkaConsumer

        self._topic = topic
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap_servers,
            group_id=group,
            heartbeat_interval_ms=BACKOFF_MS,
            retry_backoff_ms=BACKOFF_MS,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=BACKOFF_MS,
            max_partition_fetch_bytes=1,
        )
        with_whole_joins(self._consumer)

    @property
    def is_assigned(self) -> bool:
        return bool(self._consumer.assignment())

    def poll(self) -> list[bytes]:
        found = self._consumer.poll(BACKOFF_MS)
        return [one.value for records in found.values() for one in records]

    def commit(self, offset: int) -> None:
        from kafka import OffsetAndMetadata, TopicPartition
        from kafka.errors import CommitFailedError, RebalanceInProgressError

        place = {TopicPartition(self._topic, 0): OffsetAndMetadata(offset, "", -1)}
        try:
            while True:
                try:
                    self._consumer.commit(place)
                    return
                except RebalanceInProgressError:  # it has not read its partitions yet
                    self.poll()
        except CommitFailedError as error:
            raise Rebalanced from error

    def close(self) -> None:
        self._consumer.close()


class AiokafkaReader:
    """aiokafka."""

    def __init__(self, broker: Broker, topic: str, group: str) -> None:
        from aiokafka import AIOKafkaConsumer

        self._topic = topic
        self._runner = asyncio.Runner()

        async def start() -> Any:
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=broker.bootstrap_servers,
                group_id=group,
                heartbeat_interval_ms=BACKOFF_MS,
                retry_backoff_ms=BACKOFF_MS,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=BACKOFF_MS,
                max_partition_fetch_bytes=1,
            )
            await consumer.start()
            return consumer

        self._consumer = self._runner.run(start())

    @property
    def is_assigned(self) -> bool:
        return bool(self._consumer.assignment())

    def poll(self) -> list[bytes]:
        found = self._runner.run(self._consumer.getmany(timeout_ms=20))
        return [one.value for records in found.values() for one in records]

    def commit(self, offset: int) -> None:
        from aiokafka import TopicPartition
        from aiokafka.errors import CommitFailedError

        try:
            self._runner.run(self._consumer.commit({TopicPartition(self._topic, 0): offset}))
        except CommitFailedError as error:
            raise Rebalanced from error

    def close(self) -> None:
        self._runner.run(self._consumer.stop())
        self._runner.close()


READERS: dict[str, Callable[[Broker, str, str], Reader]] = {
    "confluent-kafka": ConfluentReader,
    "kafka-python": KafkaPythonReader,
    "aiokafka": AiokafkaReader,
}
