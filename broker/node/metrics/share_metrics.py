"""Metrics of the share coordinator: writes and their times, loaded partitions, deleted records.

Follows Kafka's `share-coordinator-metrics`. Before the share coordinator is created, its counts are
zero and its times NaN, as in Kafka without a write.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from broker.apis.auto_topic_creation import SHARE_TOPIC
from broker.coordinator.coordinator_runtime import ShardState
from broker.metrics import Sample

if TYPE_CHECKING:
    from broker.metrics import Metrics
    from broker.node.shares import NodeShares

_SHARES = "kafka_server_share_coordinator_metrics"


def register_share_metrics(
    metrics: Metrics, shares: NodeShares, now_ms: Callable[[], float]
) -> None:
    """Register metrics of this broker's share coordinator. `now_ms` is the node's monotonic
    clock."""

    def writes() -> float:
        """Return the number of writes."""
        coordinator = shares.begun_coordinator
        return 0.0 if coordinator is None else coordinator.metrics.writes

    def average_ms() -> float:
        """Return the average time of recent writes."""
        coordinator = shares.begun_coordinator
        if coordinator is None:
            return math.nan
        return coordinator.metrics.write_times.average_ms(now_ms())

    def highest_ms() -> float:
        """Return the longest time of recent writes."""
        coordinator = shares.begun_coordinator
        if coordinator is None:
            return math.nan
        return coordinator.metrics.write_times.highest_ms(now_ms())

    def by_load() -> Iterator[Sample]:
        """Yield how many partitions of `__share_group_state` led here are active, failed and
        loading."""
        coordinator = shares.begun_coordinator
        counts = {} if coordinator is None else coordinator.partition_counts()
        for state in (ShardState.ACTIVE, ShardState.FAILED, ShardState.LOADING):
            yield {"state": state.value.lower()}, float(counts.get(state, 0))

    def pruned() -> Iterator[Sample]:
        """Yield the offset before which the records of each partition were deleted last."""
        coordinator = shares.begun_coordinator
        offsets = {} if coordinator is None else coordinator.deleted_before
        for partition, offset in offsets.items():
            yield {"topic": SHARE_TOPIC, "partition": str(partition)}, float(offset)

    metrics.counter(f"{_SHARES}_write", "Writes of a share-partition's state", writes)
    metrics.gauge(
        f"{_SHARES}_write_latency_avg", "Average time of recent writes, in ms", average_ms
    )
    metrics.gauge(
        f"{_SHARES}_write_latency_max", "Longest time of recent writes, in ms", highest_ms
    )
    metrics.gauges(
        f"{_SHARES}_num_partitions", "Partitions of __share_group_state led here", by_load
    )
    metrics.gauges(
        f"{_SHARES}_last_pruned_offset",
        "The offset before which a partition's records were deleted last",
        pruned,
    )
