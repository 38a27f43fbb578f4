"""A consumer of kafka-python whose joins do not end with a poll.

kafka-python 3.0 (seen in 3.0.12, with Apache Kafka too) gives a join up where its poll's time is
over. If that is the moment in which SyncGroup's answer comes, the consumer stays a member that
heartbeats and never has its assignment: polls of 100 ms meet it once in some thirty joins.
"""

from __future__ import annotations

from typing import Any, TypeVar

JOIN_MS = 2_000
"""Longer than a join takes by itself. One that waits for another member of the same thread goes on
in the background when this time is over."""

KafkaConsumer = TypeVar("KafkaConsumer")


def with_whole_joins(consumer: KafkaConsumer) -> KafkaConsumer:
    """The same `consumer`: a join that its poll begins has `JOIN_MS`, however short the poll is."""
    coordinator: Any = consumer._coordinator  # type: ignore[attr-defined]
    join = coordinator.ensure_active_group

    def ensure_active_group(timeout_ms: float | None = None) -> Any:
        return join(timeout_ms=None if timeout_ms is None else max(timeout_ms, JOIN_MS))

    coordinator.ensure_active_group = ensure_active_group
    return consumer
