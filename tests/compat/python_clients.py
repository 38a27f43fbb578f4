"""The three Python clients behind one face: produce some messages, read a partition.

Each keeps its own ways (threads, callbacks, an event loop) to itself; a refusal of the broker is
`Refused` with Kafka's error code. What a client does not have stands in `LACKS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_S = 60
REQUEST_SIZE_MAX = 10_000_000

# What a client cannot do, by (client, feature).
LACKS: dict[tuple[str, str], str] = {
    ("kafka-python", codec): f"the package {module} is not installed"
    for codec, module in (("snappy", "snappy"), ("lz4", "lz4"), ("zstd", "zstandard"))
    if find_spec(module) is None
}


class Refused(Exception):
    """The broker refused; `code` is the error code on the wire."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Message(NamedTuple):
    """What is sent, and what a test compares with what came."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp_ms: int | None = None


class Received(NamedTuple):
    """What came."""

    offset: int
    value: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


@dataclass(frozen=True)
class Sending:
    """How messages are sent."""

    acks: int = -1
    compression: str = "none"
    idempotent: bool = False
    transactional_id: str | None = None


class Consumer(Protocol):
    """Reads one partition, without a group."""

    def __enter__(self) -> Consumer: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def poll(self, timeout_s: float) -> list[Received]:
        """What came meanwhile, perhaps nothing. Raises Refused."""

    def seek(self, offset: int) -> None: ...

    def offset_for_time(self, timestamp_ms: int) -> int | None: ...

    def watermarks(self) -> tuple[int, int]: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Client(Protocol):
    """One of the three."""

    def produce(
        self, servers: str, topic: str, messages: Sequence[Message], sending: Sending
    ) -> list[int]:
        """Send to partition 0 and wait; the offsets (-1 with acks=0). Raises Refused."""

    def produce_in_steps(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        """One idempotent producer: send what each step gives, wait, take the next."""

    def produce_without_idempotence(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        """The same with acks=all and retries only."""

    def consumer(self, servers: str, topic: str, start: int, reset: str = "none") -> Consumer:
        """Begins at offset `start`; `reset` is what an offset that is not there leads to."""


def read(consumer: Consumer, count: int) -> list[Received]:
    """Exactly `count` messages."""
    import time

    received: list[Received] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(received) < count:
        assert time.monotonic() < deadline, f"{len(received)} of {count} messages came"
        received += consumer.poll(0.2)
    assert len(received) == count
    return received


# --- confluent-kafka -----------------------------------------------------------------------------


class ConfluentClient:
    """librdkafka."""

    def produce(
        self, servers: str, topic: str, messages: Sequence[Message], sending: Sending
    ) -> list[int]:
        config = {"acks": sending.acks, "compression.type": sending.compression}
        if sending.idempotent:
            config["enable.idempotence"] = True
        producer = self._producer(servers, config)
        return self._send(producer, topic, messages)

    def produce_in_steps(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        producer = self._producer(servers, {"enable.idempotence": True})
        for step in steps:
            self._send(producer, topic, step())

    def produce_without_idempotence(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        producer = self._producer(servers, {"acks": -1})
        for step in steps:
            self._send(producer, topic, step())

    def _producer(self, servers: str, config: dict[str, Any]) -> Any:
        from confluent_kafka import Producer

        settled = {
            "bootstrap.servers": servers,
            "message.max.bytes": REQUEST_SIZE_MAX,
            "linger.ms": 20,
        }
        return Producer({**settled, **config})

    def _send(self, producer: Any, topic: str, messages: Sequence[Message]) -> list[int]:
        outcomes: list[tuple[Any, Any]] = []
        for message in messages:
            producer.produce(
                topic,
                message.value,
                message.key,
                0,
                on_delivery=lambda error, sent: outcomes.append((error, sent)),
                timestamp=message.timestamp_ms or 0,
                headers=list(message.headers),
            )
        assert producer.flush(TIMEOUT_S) == 0, "messages are left in the queue"
        for error, _ in outcomes:
            if error is not None:
                raise Refused(error.code(), error.str())
        # with acks=0 librdkafka tells an offset that it made up
        return [sent.offset() for _, sent in outcomes]

    def consumer(self, servers: str, topic: str, start: int, reset: str = "none") -> Consumer:
        return ConfluentConsumer(servers, topic, start, reset)


class ConfluentConsumer:
    """A `Consumer`."""

    def __init__(self, servers: str, topic: str, start: int, reset: str) -> None:
        from confluent_kafka import Consumer as Confluent
        from confluent_kafka import TopicPartition

        self._partition = TopicPartition(topic, 0, start)
        self._consumer = Confluent(
            {
                "bootstrap.servers": servers,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error" if reset == "none" else reset,
            }
        )
        self._consumer.assign([self._partition])

    def __enter__(self) -> ConfluentConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def poll(self, timeout_s: float) -> list[Received]:
        from confluent_kafka import KafkaError

        received = []
        for message in self._consumer.consume(500, timeout_s):
            error = message.error()
            if error is not None:
                # its own code for a reset that is forbidden
                forbidden = error.code() == KafkaError._AUTO_OFFSET_RESET
                raise Refused(1 if forbidden else error.code(), error.str())
            received.append(
                Received(
                    message.offset(),
                    message.value(),
                    message.key(),
                    tuple(message.headers() or ()),
                    message.timestamp()[1],
                )
            )
        return received

    def seek(self, offset: int) -> None:
        from confluent_kafka import TopicPartition

        self._consumer.seek(TopicPartition(self._partition.topic, 0, offset))

    def offset_for_time(self, timestamp_ms: int) -> int | None:
        from confluent_kafka import TopicPartition

        asked = TopicPartition(self._partition.topic, 0, timestamp_ms)
        (found,) = self._consumer.offsets_for_times([asked], TIMEOUT_S)
        return found.offset if found.offset >= 0 else None

    def watermarks(self) -> tuple[int, int]:
        low, high = self._consumer.get_watermark_offsets(self._partition, TIMEOUT_S)
        return low, high

    def pause(self) -> None:
        self._consumer.pause([self._partition])

    def resume(self) -> None:
        self._consumer.resume([self._partition])


# --- kafka-python --------------------------------------------------------------------------------


class KafkaPythonClient:
    """kafka-python."""

    def produce(
        self, servers: str, topic: str, messages: Sequence[Message], sending: Sending
    ) -> list[int]:
        compression = None if sending.compression == "none" else sending.compression
        producer = self._producer(
            servers,
            acks=sending.acks,
            compression_type=compression,
            enable_idempotence=sending.idempotent,
        )
        try:
            return self._send(producer, topic, messages)
        finally:
            producer.close(timeout=TIMEOUT_S)

    def produce_in_steps(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        self._in_steps(self._producer(servers, enable_idempotence=True), topic, steps)

    def produce_without_idempotence(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        self._in_steps(self._producer(servers, enable_idempotence=False, acks=-1), topic, steps)

    def _in_steps(
        self, producer: Any, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        try:
            for step in steps:
                self._send(producer, topic, step())
        finally:
            producer.close(timeout=TIMEOUT_S)

    def _producer(self, servers: str, **config: Any) -> Any:
        from kafka import KafkaProducer

        return KafkaProducer(
            bootstrap_servers=servers,
            max_request_size=REQUEST_SIZE_MAX,
            linger_ms=20,
            **config,
        )

    def _send(self, producer: Any, topic: str, messages: Sequence[Message]) -> list[int]:
        from kafka.errors import BrokerResponseError

        futures = [
            producer.send(
                topic,
                value=message.value,
                key=message.key,
                headers=list(message.headers),
                partition=0,
                timestamp_ms=message.timestamp_ms,
            )
            for message in messages
        ]
        try:
            return [future.get(timeout=TIMEOUT_S).offset for future in futures]
        except BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error

    def consumer(self, servers: str, topic: str, start: int, reset: str = "none") -> Consumer:
        return KafkaPythonConsumer(servers, topic, start, reset)


class KafkaPythonConsumer:
    """A `Consumer`."""

    def __init__(self, servers: str, topic: str, start: int, reset: str) -> None:
        from kafka import KafkaConsumer, TopicPartition

        self._partition = TopicPartition(topic, 0)
        self._consumer = KafkaConsumer(
            bootstrap_servers=servers,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset=reset,
        )
        self._consumer.assign([self._partition])
        self._consumer.seek(self._partition, start)

    def __enter__(self) -> KafkaPythonConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def poll(self, timeout_s: float) -> list[Received]:
        from kafka.errors import BrokerResponseError

        try:
            batches = self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=500)
        except BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error
        return [_received(record) for records in batches.values() for record in records]

    def seek(self, offset: int) -> None:
        self._consumer.seek(self._partition, offset)

    def offset_for_time(self, timestamp_ms: int) -> int | None:
        found = self._consumer.offsets_for_times({self._partition: timestamp_ms})
        one = found[self._partition]
        return None if one is None else one.offset

    def watermarks(self) -> tuple[int, int]:
        low = self._consumer.beginning_offsets([self._partition])
        high = self._consumer.end_offsets([self._partition])
        return low[self._partition], high[self._partition]

    def pause(self) -> None:
        self._consumer.pause(self._partition)

    def resume(self) -> None:
        self._consumer.resume(self._partition)


# --- aiokafka ------------------------------------------------------------------------------------


class AiokafkaClient:
    """aiokafka, each call in a loop of its own."""

    def produce(
        self, servers: str, topic: str, messages: Sequence[Message], sending: Sending
    ) -> list[int]:
        compression = None if sending.compression == "none" else sending.compression
        acks: dict[str, Any] = {} if sending.idempotent else {"acks": sending.acks}
        offsets: list[int] = []
        config = {"compression_type": compression, "enable_idempotence": sending.idempotent, **acks}
        asyncio.run(self._run(servers, topic, [lambda: messages], config, offsets))
        return offsets

    def produce_in_steps(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        asyncio.run(self._run(servers, topic, steps, {"enable_idempotence": True}, []))

    def produce_without_idempotence(
        self, servers: str, topic: str, steps: Sequence[Callable[[], Sequence[Message]]]
    ) -> None:
        asyncio.run(self._run(servers, topic, steps, {"acks": -1}, []))

    async def _run(
        self,
        servers: str,
        topic: str,
        steps: Sequence[Callable[[], Sequence[Message]]],
        config: dict[str, Any],
        offsets: list[int],
    ) -> None:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=servers, max_request_size=REQUEST_SIZE_MAX, linger_ms=20, **config
        )
        await producer.start()
        try:
            for step in steps:
                offsets += await self._send(producer, topic, step())
        finally:
            await producer.stop()

    async def _send(self, producer: Any, topic: str, messages: Sequence[Message]) -> list[int]:
        from aiokafka.errors import BrokerResponseError

        futures = [
            await producer.send(
                topic,
                value=message.value,
                key=message.key,
                partition=0,
                timestamp_ms=message.timestamp_ms,
                headers=list(message.headers),
            )
            for message in messages
        ]
        try:
            results = await asyncio.wait_for(asyncio.gather(*futures), TIMEOUT_S)
        except BrokerResponseError as error:
            raise Refused(error.errno, str(error)) from error
        return [-1 if one is None else one.offset for one in results]

    def consumer(self, servers: str, topic: str, start: int, reset: str = "none") -> Consumer:
        return AiokafkaConsumer(servers, topic, start, reset)


class AiokafkaConsumer:
    """A `Consumer`, with a loop that runs during its calls."""

    def __init__(self, servers: str, topic: str, start: int, reset: str) -> None:
        from aiokafka.structs import TopicPartition

        self._runner = asyncio.Runner()
        self._partition = TopicPartition(topic, 0)
        self._consumer = self._run(self._started(servers, start, reset))

    async def _started(self, servers: str, start: int, reset: str) -> Any:
        from aiokafka import AIOKafkaConsumer

        consumer = AIOKafkaConsumer(
            bootstrap_servers=servers, enable_auto_commit=False, auto_offset_reset=reset
        )
        await consumer.start()
        consumer.assign([self._partition])
        consumer.seek(self._partition, start)
        return consumer

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        """Plain functions of aiokafka want a running loop too."""

        async def run() -> None:
            function(*arguments)

        self._run(run())

    def __enter__(self) -> AiokafkaConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._consumer.stop())
        self._runner.close()

    def poll(self, timeout_s: float) -> list[Received]:
        from aiokafka.errors import OffsetOutOfRangeError

        try:
            batches = self._run(
                self._consumer.getmany(timeout_ms=int(timeout_s * 1000), max_records=500)
            )
        except OffsetOutOfRangeError as error:
            # its own exception, without the code
            raise Refused(1, str(error)) from error
        return [_received(record) for records in batches.values() for record in records]

    def seek(self, offset: int) -> None:
        self._call(self._consumer.seek, self._partition, offset)

    def offset_for_time(self, timestamp_ms: int) -> int | None:
        found = self._run(self._consumer.offsets_for_times({self._partition: timestamp_ms}))
        one = found[self._partition]
        return None if one is None else one.offset

    def watermarks(self) -> tuple[int, int]:
        low = self._run(self._consumer.beginning_offsets([self._partition]))
        high = self._run(self._consumer.end_offsets([self._partition]))
        return low[self._partition], high[self._partition]

    def pause(self) -> None:
        self._call(self._consumer.pause, self._partition)

    def resume(self) -> None:
        self._call(self._consumer.resume, self._partition)


def _received(record: Any) -> Received:
    """A record of kafka-python or aiokafka."""
    headers = tuple((key, value) for key, value in record.headers)
    return Received(record.offset, record.value, record.key, headers, record.timestamp)


def python_client(name: str) -> Client:
    """The client called `name`."""
    clients: dict[str, Client] = {
        "confluent-kafka": ConfluentClient(),
        "kafka-python": KafkaPythonClient(),
        "aiokafka": AiokafkaClient(),
    }
    return clients[name]
