"""Batches through librdkafka: the producer that scenarios share, and its bounded waits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import Producer

CLIENT = f"confluent-kafka {confluent_kafka.__version__}"
# librdkafka's queue is never empty and never full, and soon sent when a window is over.
QUEUED_MAX = 100_000
QUEUED_KIB = 16_384
FLUSH_S = 130.0


class BatchProducer:
    """Keeps librdkafka's queue full for so many seconds; refuses to measure failed deliveries."""

    def __init__(self, bootstrap: str, **settings: Any) -> None:
        failed = self._failed = list[object]()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 5,
                "batch.size": 1_000_000,
                "batch.num.messages": 100_000,
                "queue.buffering.max.messages": 2 * QUEUED_MAX,
                "queue.buffering.max.kbytes": 4 * QUEUED_KIB,
                "message.timeout.ms": 120_000,
                "delivery.report.only.error": True,
                # Refers not to self: the producer goes as soon as nobody refers to it.
                "on_delivery": lambda error, _: failed.append(error) if error else None,
                **settings,
            }
        )

    def load(
        self, topic: str, lots: Sequence[list[dict[str, Any]]], seconds: float, most: int = 1 << 62
    ) -> int:
        """Produce the lots in turn for so many seconds, or `most` messages; how many, all sent."""
        message = lots[0][0]["value"]
        queued_max = min(QUEUED_MAX, QUEUED_KIB * 1024 // max(1, len(message)))
        end = time.monotonic() + seconds
        sent = 0
        while time.monotonic() < end and sent < most:
            if len(self._producer) > queued_max:
                self._producer.poll(0.001)
                continue
            for lot in lots:
                sent += self._producer.produce_batch(topic, lot)
            self._producer.poll(0)
        self.flush()
        return sent

    def send(self, topic: str, value: bytes) -> None:
        """One message, at once."""
        self._producer.produce(topic, value)
        self._producer.poll(0)

    def flush(self) -> None:
        """Until all is delivered; an error where something is not."""
        deadline = time.monotonic() + FLUSH_S
        # Short turns: a long one inside librdkafka would let no signal through.
        while left := self._producer.flush(0.5):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} messages are not delivered after {FLUSH_S:.0f} s")
        if self._failed:
            raise RuntimeError(f"{len(self._failed)} deliveries failed: {self._failed[0]}")
