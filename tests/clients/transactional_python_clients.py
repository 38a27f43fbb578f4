"""kafka-python and aiokafka behind the interface of `tests/clients/transactional_faces.py`.

The interface describes the methods; this module only maps them to each client's own calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tests.clients.kafka_python_joins import with_whole_joins
from tests.clients.transactional_faces import (
    CALL_S,
    HEARTBEAT_MS,
    METADATA_MS,
    SESSION_MS,
    Failed,
    Fenced,
    Row,
    TopicReader,
)

T = TypeVar("T")

REQUEST_MS = 5_000
"""The request timeout of kafka-python's producer, which waits that long for a node that has died.
"""

# --- kafka-python --------------------------------------------------------------------------------


@contextlib.contextmanager
def _kafka_python() -> Iterator[None]:
    from kafka import errors

    try:
        yield
    except errors.KafkaError as error:
        fencing = (errors.ProducerFencedError, errors.InvalidProducerEpochError)
        # In its error state the producer names the first error only in the text.
        fenced = isinstance(error, fencing) or any(f.__name__ in str(error) for f in fencing)
        raise (Fenced if fenced else Failed)(f"{type(error).__name__}: {error}") from error
    except RuntimeError as error:
        raise Failed(str(error)) from error


class KafkaPythonProducer:
    """A transactional producer of kafka-python."""

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int) -> None:
        from kafka import KafkaProducer

        self._producer = KafkaProducer(
            bootstrap_servers=servers.split(","),
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            linger_ms=2,
            retry_backoff_ms=20,
            request_timeout_ms=REQUEST_MS,
        )
        with _kafka_python():
            self._producer.init_transactions()

    def begin(self) -> None:
        with _kafka_python():
            self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        with _kafka_python():
            self._producer.send(topic, value, partition=partition)

    def flush(self) -> None:
        with _kafka_python():
            self._producer.flush(CALL_S)

    def offsets(self, reader: TopicReader, topic: str, offsets: Mapping[int, int]) -> None:
        from kafka import OffsetAndMetadata, TopicPartition

        places = {
            TopicPartition(topic, part): OffsetAndMetadata(offset, "", -1)
            for part, offset in offsets.items()
        }
        with _kafka_python():
            self._producer.send_offsets_to_transaction(places, reader.mark())

    def commit(self) -> None:
        with _kafka_python():
            self._producer.commit_transaction()

    def abort(self) -> None:
        with _kafka_python():
            self._producer.abort_transaction()

    def close(self) -> None:
        sender = self._producer._sender
        with contextlib.suppress(Failed), _kafka_python():
            self._producer.close(timeout=0)
        sender.join(CALL_S)  # without that its thread closes the sockets later, or never


class KafkaPythonReader:
    """A reader of kafka-python."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        group: str | None,
        isolation: str,
        session_ms: int = SESSION_MS,
    ) -> None:
        from kafka import KafkaConsumer, TopicPartition

        self._topic = topic
        self._consumer = KafkaConsumer(
            bootstrap_servers=servers.split(","),
            group_id=group,
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            metadata_max_age_ms=METADATA_MS,
            fetch_max_wait_ms=100,
        )
        if group is None:
            places = [TopicPartition(topic, part) for part in range(partitions)]
            self._consumer.assign(places)
            self._consumer.seek_to_beginning(*places)
        else:
            with_whole_joins(self._consumer).subscribe([topic])

    def poll(self, timeout_s: float) -> list[Row]:
        with _kafka_python():
            batches = self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=500)
        return [
            Row(record.partition, record.offset, record.value or b"")
            for records in batches.values()
            for record in records
        ]

    def commit(self, offsets: Mapping[int, int]) -> None:
        from kafka import OffsetAndMetadata, TopicPartition

        with _kafka_python():
            self._consumer.commit(
                {
                    TopicPartition(self._topic, part): OffsetAndMetadata(offset, "", -1)
                    for part, offset in offsets.items()
                }
            )

    def rewind(self) -> None:
        with _kafka_python():
            for place in self._consumer.assignment():
                self._consumer.seek(place, self._consumer.committed(place) or 0)

    def mark(self) -> Any:
        return self._consumer.group_metadata()

    def close(self) -> None:
        self._consumer.close()


# --- aiokafka ------------------------------------------------------------------------------------


class _Loop:
    """An event loop in a thread, so that heartbeats continue between two calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(CALL_S)
        except (ProducerFenced, InvalidProducerEpoch) as error:
            raise Fenced(repr(error)) from error
        except (KafkaError, AssertionError) as error:
            raise Failed(repr(error)) from error
        except TimeoutError as error:
            future.cancel()
            raise Failed("no end of it") from error

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AiokafkaProducer:
    """A transactional producer of aiokafka."""

    def __init__(self, servers: str, transactional_id: str, timeout_ms: int) -> None:
        self._run = _Loop()
        self._queued: list[tuple[str, bytes, int]] = []
        self._run(self._start(servers, transactional_id, timeout_ms))

    async def _start(self, servers: str, transactional_id: str, timeout_ms: int) -> None:
        from aiokafka import AIOKafkaProducer

        self._producer = AIOKafkaProducer(
            bootstrap_servers=servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            linger_ms=2,
            metadata_max_age_ms=METADATA_MS,
        )
        await self._producer.start()

    def begin(self) -> None:
        self._queued.clear()
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._queued.append((topic, value, partition))  # `flush` sends all in one call

    def flush(self) -> None:
        queued, self._queued = self._queued, []
        self._run(self._send_all(queued))

    async def _send_all(self, queued: Sequence[tuple[str, bytes, int]]) -> None:
        sent = [
            await self._producer.send(topic, value, partition=partition)
            for topic, value, partition in queued
        ]
        await asyncio.gather(*sent)

    def offsets(self, reader: TopicReader, topic: str, offsets: Mapping[int, int]) -> None:
        from aiokafka import TopicPartition

        places = {TopicPartition(topic, part): offset for part, offset in offsets.items()}
        self._run(self._producer.send_offsets_to_transaction(places, reader.mark()))

    def commit(self) -> None:
        self.flush()
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def close(self) -> None:
        with contextlib.suppress(Failed):
            self._run(self._producer.stop())
        self._run.end()


class AiokafkaReader:
    """A reader of aiokafka."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        group: str | None,
        isolation: str,
        session_ms: int = SESSION_MS,
    ) -> None:
        self._run = _Loop()
        self._topic, self._group = topic, group
        self._run(self._start(servers, partitions, isolation, session_ms))

    async def _start(self, servers: str, partitions: int, isolation: str, session_ms: int) -> None:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=servers,
            group_id=self._group,
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            metadata_max_age_ms=METADATA_MS,
            fetch_max_wait_ms=100,
        )
        if self._group is None:
            self._consumer.assign([TopicPartition(self._topic, p) for p in range(partitions)])
        else:
            self._consumer.subscribe([self._topic])
        await self._consumer.start()
        if self._group is None:
            await self._consumer.seek_to_beginning()

    def poll(self, timeout_s: float) -> list[Row]:
        wait_ms = int(timeout_s * 1000)
        batches = self._run(self._consumer.getmany(timeout_ms=wait_ms, max_records=500))
        return [
            Row(record.partition, record.offset, record.value or b"")
            for records in batches.values()
            for record in records
        ]

    def commit(self, offsets: Mapping[int, int]) -> None:
        from aiokafka import TopicPartition

        places = {TopicPartition(self._topic, part): offset for part, offset in offsets.items()}
        self._run(self._consumer.commit(places))

    def rewind(self) -> None:
        self._run(self._rewind())

    async def _rewind(self) -> None:
        for place in self._consumer.assignment():
            self._consumer.seek(place, await self._consumer.committed(place) or 0)

    def mark(self) -> Any:
        return self._group

    def close(self) -> None:
        self._run(self._consumer.stop())
        self._run.end()
