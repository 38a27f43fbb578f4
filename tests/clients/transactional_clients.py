"""Transactions with the three Python clients behind one interface, for `compat/` and `chaos/`.

`open_producer` and `open_reader` take a client's name. confluent-kafka is here, the other two are
in `tests/clients/transactional_python_clients.py`; `tests/clients/transactional_faces.py` has the
interface.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tests.clients.transactional_faces import (
    CALL_S,
    COMMITTED,
    HEARTBEAT_MS,
    METADATA_MS,
    SESSION_MS,
    Failed,
    Fenced,
    Row,
    TopicReader,
    TransactionalProducer,
)
from tests.clients.transactional_python_clients import (
    AiokafkaProducer,
    AiokafkaReader,
    KafkaPythonProducer,
    KafkaPythonReader,
)

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")

# --- confluent-kafka -----------------------------------------------------------------------------

_QUIET = {"log_level": 0, "error_cb": lambda _: None}
_FENCING = {-144, 47, 90}
"""Error codes of a fenced producer: _FENCED, INVALID_PRODUCER_EPOCH, PRODUCER_FENCED."""


@contextlib.contextmanager
def _confluent() -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        kafka_error = error.args[0]
        raise (Fenced if kafka_error.code() in _FENCING else Failed)(str(error)) from error


class ConfluentProducer:
    """A transactional producer of confluent-kafka, which is librdkafka."""

    def __init__(
        self,
        servers: str,
        transactional_id: str,
        timeout_ms: int,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from confluent_kafka import Producer

        config: dict[str, Any] = {
            "bootstrap.servers": servers,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "linger.ms": 2,
            **_QUIET,
            **settings,
        }
        self._undelivered: list[Any] = []
        self._producer = Producer(config)
        self._patiently(self._producer.init_transactions)

    def _patiently(self, call: Any, *args: Any) -> None:
        """Make a call, and repeat it while its error is retriable and `CALL_S` is not over."""
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + CALL_S
        with _confluent():
            while True:
                try:
                    call(*args, 10.0)
                    return
                except KafkaException as error:
                    if not error.args[0].retriable() or time.monotonic() > deadline:
                        raise

    def begin(self) -> None:
        with _confluent():
            self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        with _confluent():
            while True:
                try:
                    self._producer.produce(topic, value, partition=partition)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            self._producer.poll(0)

    def flush(self) -> None:
        if self._producer.flush(CALL_S):
            raise Failed("messages are left in the queue")

    def offsets(self, reader: TopicReader, topic: str, offsets: Mapping[int, int]) -> None:
        from confluent_kafka import TopicPartition

        places = [TopicPartition(topic, part, offset) for part, offset in offsets.items()]
        self._patiently(self._producer.send_offsets_to_transaction, places, reader.mark())

    def commit(self) -> None:
        self._patiently(self._producer.commit_transaction)

    def abort(self) -> None:
        self._patiently(self._producer.abort_transaction)

    def close(self) -> None:
        self._producer.purge(in_queue=True, in_flight=True, blocking=False)


class ConfluentReader:
    """A reader of confluent-kafka, which is librdkafka."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        group: str | None,
        isolation: str,
        session_ms: int = SESSION_MS,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from confluent_kafka import Consumer, TopicPartition

        config: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": group or "nobody",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "topic.metadata.refresh.interval.ms": METADATA_MS,
            **self._of_protocol(session_ms),
            **_QUIET,
            **settings,
        }
        self._topic = topic
        self._consumer = Consumer(config)
        if group is None:
            self._consumer.assign([TopicPartition(topic, part, 0) for part in range(partitions)])
        else:
            self._consumer.subscribe([topic])

    @staticmethod
    def _of_protocol(session_ms: int) -> dict[str, Any]:
        return {"session.timeout.ms": session_ms, "heartbeat.interval.ms": HEARTBEAT_MS}

    def poll(self, timeout_s: float) -> list[Row]:
        messages = self._consumer.consume(500, timeout_s)
        return [
            Row(message.partition() or 0, message.offset() or 0, message.value() or b"")
            for message in messages
            if message.error() is None
        ]

    def commit(self, offsets: Mapping[int, int]) -> None:
        from confluent_kafka import TopicPartition

        places = [TopicPartition(self._topic, part, offset) for part, offset in offsets.items()]
        with _confluent():
            self._consumer.commit(offsets=places, asynchronous=False)

    def rewind(self) -> None:
        from confluent_kafka import TopicPartition

        with _confluent():
            for place in self._consumer.committed(self._consumer.assignment(), CALL_S):
                start = max(0, place.offset)
                self._consumer.seek(TopicPartition(self._topic, place.partition, start))

    def mark(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        self._consumer.close()


class ConfluentGroupReader(ConfluentReader):
    """A reader of confluent-kafka in groups of the consumer protocol (KIP-848)."""

    @staticmethod
    def _of_protocol(session_ms: int) -> dict[str, Any]:
        return {"group.protocol": "consumer"}


CONSUMER_PROTOCOL = "/consumer"
"""The end of a client's name for the same client in groups of the consumer protocol."""

PRODUCERS: dict[str, type[Any]] = {
    "confluent-kafka": ConfluentProducer,
    "confluent-kafka/consumer": ConfluentProducer,
    "kafka-python": KafkaPythonProducer,
    "aiokafka": AiokafkaProducer,
}
READERS: dict[str, type[Any]] = {
    "confluent-kafka": ConfluentReader,
    "confluent-kafka/consumer": ConfluentGroupReader,
    "kafka-python": KafkaPythonReader,
    "aiokafka": AiokafkaReader,
}


def open_producer(
    client: str,
    servers: str,
    transactional_id: str,
    timeout_ms: int = 60_000,
    settings: Mapping[str, str] | None = None,
) -> TransactionalProducer:
    """Return an initialized producer. Raises Failed or Fenced if it gets no epoch.

    `settings` are further properties of confluent-kafka, such as a login.
    """
    more = {"settings": settings} if settings else {}
    producer: TransactionalProducer = PRODUCERS[client](
        servers, transactional_id, timeout_ms, **more
    )
    return producer


def open_reader(
    client: str,
    servers: str,
    topic: str,
    partitions: int = 1,
    *,
    group: str | None = None,
    isolation: str = COMMITTED,
    session_ms: int = SESSION_MS,
    settings: Mapping[str, str] | None = None,
) -> TopicReader:
    """Return a reader of all partitions from their start, or a member of `group`.

    `settings` are further properties of confluent-kafka, such as a login.
    """
    more = {"settings": settings} if settings else {}
    reader: TopicReader = READERS[client](
        servers, topic, partitions, group, isolation, session_ms, **more
    )
    return reader


def read_until(reader: TopicReader, last: bytes, timeout_s: float = 90.0) -> list[bytes]:
    """Return all values of a one-partition topic before `last`; assert that `last` comes."""
    values: list[bytes] = []
    deadline = time.monotonic() + timeout_s
    while last not in values:
        assert time.monotonic() < deadline, f"{last!r} does not come; {len(values)} values came"
        values += [row.value for row in reader.poll(0.2)]
    return values[: values.index(last)]
