"""Batches through librdkafka: the producer that scenarios share, with bounded waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Self

import confluent_kafka

from bench.librdkafka import LibrdkafkaProducer, Lot

CLIENT = f"librdkafka {confluent_kafka.libversion()[0]}"
# With these bounds the queue is never empty or full, and soon sent at the end of a window.
QUEUED_MAX = 100_000
QUEUED_KIB = 16_384
FLUSH_S = 130.0


class BatchProducer:
    """A producer that keeps librdkafka's queue filled. Failed deliveries raise an error."""

    def __init__(self, bootstrap: str, **settings: object) -> None:
        self._failed = list[str]()
        self._producer = LibrdkafkaProducer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 5,
                "batch.size": 1_000_000,
                "batch.num.messages": 100_000,
                "queue.buffering.max.messages": 2 * QUEUED_MAX,
                "queue.buffering.max.kbytes": 4 * QUEUED_KIB,
                "message.timeout.ms": 120_000,
                "delivery.report.only.error": "true",
                **settings,
            },
            self._failed.append,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close()

    def load(self, topic: str, lots: Sequence[Lot], seconds: float) -> int:
        """Produce the lots in turn for `seconds`.

        Return the number of messages, all delivered.
        """
        queued_max = min(QUEUED_MAX, QUEUED_KIB * 1024 // max(1, len(lots[0].values[0])))
        end = time.monotonic() + seconds
        sent = 0
        while time.monotonic() < end:
            if len(self._producer) > queued_max:
                self._producer.poll(0.001)
                continue
            sent += sum(self._producer.produce(topic, lot) for lot in lots)
            self._producer.poll(0)
        self._flush()
        return sent

    def _flush(self) -> None:
        """Wait until all messages are delivered.

        Raises TimeoutError or RuntimeError if some are not.
        """
        deadline = time.monotonic() + FLUSH_S
        while left := len(self._producer):
            # Short polls: a long one inside librdkafka would delay signals.
            self._producer.poll(0.1)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} messages are not delivered after {FLUSH_S:.0f} s")
        if self._failed:
            raise RuntimeError(f"{len(self._failed)} deliveries failed: {self._failed[0]}")


@contextmanager
def producing(
    bootstrap: str, values: Sequence[bytes], settings: Mapping[str, object], count: int
) -> Iterator[Callable[[str, float], list[int]]]:
    """Yield a function for `count` producers, each with a partition of its own.

    The function takes a topic and seconds. All producers send `values`; it returns the number of
    messages that each has delivered.
    """
    with ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(count))
        producers = [
            stack.enter_context(BatchProducer(bootstrap, **settings)) for _ in range(count)
        ]

        def produce(topic: str, seconds: float) -> list[int]:
            def load(partition: int) -> int:
                return producers[partition].load(topic, [Lot(values, partition)], seconds)

            return list(threads.map(load, range(count)))

        yield produce
