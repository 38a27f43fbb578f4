"""Stock clients that produce through whatever happens to a cluster, and write down what they saw.

confluent-kafka, kafka-python and aiokafka, each with idempotence and acks=all and its defaults
otherwise, in a thread of its own. Values are whole numbers, each sent once by us; the clients send
again by themselves.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from typing import Any

from tests.chaos.history import OK, History, Send
from tests.tools.cluster_security import ClusterLogin

PACE_S = 0.01
FLUSH_S = 60


class StockProducer(threading.Thread):
    """Sends a value every ten milliseconds, over the partitions in turn, until `stop`."""

    client = ""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        first_value: int,
        login: ClusterLogin | None = None,
    ) -> None:
        super().__init__(name=self.client, daemon=True)
        self.bootstrap = bootstrap
        self.login = login
        self.topic = topic
        self.partitions = partitions
        self.first_value = first_value
        self.sent = 0
        self.errors: list[str] = []
        self.failure: BaseException | None = None
        self._acknowledged: dict[int, tuple[int, int]] = {}
        self._times: dict[int, list[float]] = defaultdict(list)
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            self.produce_until_stopped()
        except BaseException as error:  # noqa: BLE001 - told to whoever joins
            self.failure = error

    def produce_until_stopped(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """End it once everything has been acknowledged; raises what went wrong in it."""
        self._stopping.set()
        self.join(FLUSH_S + 30)
        assert not self.is_alive(), f"{self.client} does not end"
        if self.failure is not None:
            raise self.failure

    def delivered(self, value: int, partition: int, offset: int) -> None:
        with self._lock:
            self._acknowledged[value] = (partition, offset)
            self._times[partition].append(time.monotonic())

    def acknowledged(self) -> int:
        with self._lock:
            return len(self._acknowledged)

    def last_acknowledgement(self, partition: int) -> float:
        """When (`time.monotonic`), 0 if never."""
        with self._lock:
            return self._times[partition][-1] if self._times[partition] else 0.0

    def longest_pause(self, since: float = 0.0) -> float:
        """Seconds between two acknowledgements of one partition, the worst of all partitions."""
        with self._lock:
            kept = [[t for t in times if t >= since] for times in self._times.values()]
        return max(
            (b - a for times in kept for a, b in zip(times, times[1:], strict=False)), default=0.0
        )

    def history(self) -> History:
        """Its sends as events for the checker."""
        return History(
            Send(
                *(self.client, self.first_value, self.key(partition), value, value),
                *(OK, offset if offset >= 0 else None, -1, 0.0, 0.0),
            )
            for value, (partition, offset) in self._acknowledged.items()
        )

    def key(self, number: int) -> str:
        """The topic and partition of what it counts as partition `number`."""
        return f"{self.topic}-{number}"

    def next_value(self) -> tuple[int, int]:
        """A value and its partition."""
        value = self.first_value + self.sent
        self.sent += 1
        return value, value % self.partitions


class Confluent(StockProducer):
    """librdkafka."""

    client = "confluent-kafka"

    def produce_until_stopped(self) -> None:
        from confluent_kafka import Producer

        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                **({} if self.login is None else self.login.of_librdkafka()),
                "enable.idempotence": True,
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )
        while not self._stopping.is_set():
            value, partition = self.next_value()
            producer.produce(
                self.topic, b"%d" % value, partition=partition, on_delivery=self._report
            )
            producer.poll(PACE_S)
        left = producer.flush(FLUSH_S)
        if left:
            self.errors.append(f"{left} records were never reported")

    def _report(self, error: Any, message: Any) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            # None: it was acknowledged as a duplicate, without its offset.
            offset = -1 if message.offset() is None else message.offset()
            self.delivered(int(message.value()), message.partition(), offset)


class KafkaPython(StockProducer):
    """kafka-python."""

    client = "kafka-python"

    def produce_until_stopped(self) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap.split(","),
            acks="all",
            enable_idempotence=True,
            **({} if self.login is None else self.login.of_python_clients()),
        )
        while not self._stopping.is_set():
            value, partition = self.next_value()
            future = producer.send(self.topic, b"%d" % value, partition=partition)
            future.add_callback(
                lambda done, value=value: self.delivered(value, done.partition, done.offset)
            )
            future.add_errback(lambda error: self.errors.append(repr(error)))
            time.sleep(PACE_S)
        producer.flush(FLUSH_S)
        producer.close(10)


class AioKafka(StockProducer):
    """aiokafka."""

    client = "aiokafka"

    def produce_until_stopped(self) -> None:
        asyncio.run(self._produce())

    async def _produce(self) -> None:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            enable_idempotence=True,
            **({} if self.login is None else self.login.of_python_clients()),
        )
        await producer.start()
        try:
            while not self._stopping.is_set():
                value, partition = self.next_value()
                future = await producer.send(self.topic, b"%d" % value, partition=partition)
                future.add_done_callback(lambda done, value=value: self._report(done, value))
                await asyncio.sleep(PACE_S)
            await asyncio.wait_for(producer.flush(), FLUSH_S)
        finally:
            await producer.stop()

    def _report(self, done: asyncio.Future[Any], value: int) -> None:
        error = done.exception()
        if error is not None:
            self.errors.append(repr(error))
        else:
            self.delivered(value, done.result().partition, done.result().offset)


STOCK: tuple[type[StockProducer], ...] = (Confluent, KafkaPython, AioKafka)
