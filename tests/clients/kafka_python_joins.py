"""A consumer of kafka-python whose joins do not end with a poll.

kafka-python 3.0 (seen in 3.0.12, with Apache Kafka too) cancels a join when its poll's time is
over. If SyncGroup's answer arrives at that moment, the consumer stays a member that heartbeats and
never gets its assignment. With polls of 100 ms this happens in about one of thirty joins.
"""

from __future__ import annotations

from typing import Any, TypeVar

JOIN_MS = 2_000
"""The least time of a join, longer than a join takes by itself.

A join that waits for another member of the same thread continues in the background afterwards.
"""

KafkaConsumer = TypeVar("KafkaConsumer")


def with_whole_joins(consumer: KafkaConsumer) -> KafkaConsumer:
    """Return `consumer`, patched so that a join in a short poll still has `JOIN_MS`."""
    coordinator: Any = consumer._coordinator  # type: ignore[attr-defined]
    join = coordinator.ensure_active_group

    def ensure_active_group(timeout_ms: float | None = None) -> Any:
        return join(timeout_ms=None if timeout_ms is None else max(timeout_ms, JOIN_MS))

    coordinator.ensure_active_group = ensure_active_group
    return consumer
