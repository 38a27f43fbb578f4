"""Batches through librdkafka: the producer that scenarios share, and its bounded waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Self

import confluent_kafka

from bench.librdkafka import LibrdkafkaProducer, Lot

CLIENT = f"librdkafka {confluent_kafka.libversion()[0]}"
# librdkafka's queue is never empty and never full, and soon sent when a window is over.
QUEUED_MAX = 100_000
QUEUED_KIB = 16_384
FLUSH_S = 130.0


class BatchProducer:
    """Keeps librdkafka's queue full for so many seconds; refuses to measure failed deliveries."""

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
        """Produce the lots in turn for so many seconds; how many messages, all delivered."""
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
        """Until all is delivered; an error where something is not."""
        deadline = time.monotonic() + FLUSH_S
        while left := len(self._producer):
            # Short turns: a long one inside librdkafka would let no signal through.
            self._producer.poll(0.1)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} messages are not delivered after {FLUSH_S:.0f} s")
        if self._failed:
            raise RuntimeError(f"{len(self._failed)} deliveries failed: {self._failed[0]}")


@contextmanager
def producing(
    bootstrap: str, values: Sequence[bytes], settings: Mapping[str, object], count: int
) -> Iterator[Callable[[str, float], list[int]]]:
    """So many producers, each with a partition of its own. What this gives takes a topic and
    seconds, has them all produce `values`, and tells how many messages of each are delivered."""
    with ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(count))
        made = [stack.enter_context(BatchProducer(bootstrap, **settings)) for _ in range(count)]

        def produce(topic: str, seconds: float) -> list[int]:
            def one(partition: int) -> int:
                return made[partition].load(topic, [Lot(values, partition)], seconds)

            return list(threads.map(one, range(count)))

        yield produce
