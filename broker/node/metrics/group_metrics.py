"""Metrics of groups: their number by state, commits, rebalances, loaded partitions.

Follows Kafka's `group-coordinator-metrics` and the MBeans of its `GroupMetadataManager`.
`partition_metrics` has committed offsets and lags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker.coordinator.coordinator_runtime import ShardState
from broker.groups.classic.group import CLASSIC
from broker.groups.classic.group_state import ClassicGroupState
from broker.groups.consumer.state.group import CONSUMER
from broker.groups.consumer.state.group_state import ConsumerGroupState
from broker.metrics import Sample

if TYPE_CHECKING:
    from broker.groups.group_coordinator import GroupCoordinator
    from broker.groups.group_metrics import GroupMetrics
    from broker.metrics import Metrics

_GROUPS = "kafka_server_group_coordinator_metrics"
_CLASSIC_GROUPS = "kafka_coordinator_group_groupmetadatamanager"
_GROUP_COUNTS: tuple[tuple[str, str, Callable[[GroupMetrics], int]], ...] = (
    ("offset_commit", "Offsets that were committed", lambda counts: counts.offset_commits),
    (
        "offset_deletion",
        "Offsets that OffsetDelete took away",
        lambda counts: counts.offset_deletions,
    ),
    ("offset_expiration", "Offsets that expired", lambda counts: counts.offset_expirations),
    (
        "group_completed_rebalance",
        "Generations of classic groups that their leaders assigned",
        lambda counts: counts.completed_rebalances,
    ),
    (
        "consumer_group_rebalance",
        "Epochs of consumer groups that heartbeats began",
        lambda counts: counts.consumer_rebalances,
    ),
    (
        "share_group_rebalance",
        "Epochs of share groups that heartbeats began",
        lambda counts: counts.share_rebalances,
    ),
)
_SHARE, _SHARE_STATES = "share", ("Empty", "Stable", "Dead")
# As `broker.groups.share.share_group` has them: a start does not load that module.


def register_group_metrics(metrics: Metrics, groups: GroupCoordinator) -> None:
    """Register metrics of the groups that this broker coordinates."""
    for word, help_text, read in _GROUP_COUNTS:
        metrics.counter(f"{_GROUPS}_{word}", help_text, partial(read, groups.metrics))

    def by_protocol() -> Iterator[Sample]:
        """Yield the number of groups of each protocol: classic, consumer and share."""
        counts = groups.group_counts()
        for protocol in (CLASSIC, CONSUMER, _SHARE):
            state_counts = (count for (kind, _), count in counts.items() if kind == protocol)
            yield {"protocol": protocol}, float(sum(state_counts))

    def by_state(protocol: str, states: Sequence[str]) -> Iterator[Sample]:
        """Yield the number of groups of a protocol in each state."""
        counts = groups.group_counts()
        for state in states:
            yield {"state": state}, float(counts[protocol, state])

    def by_load() -> Iterator[Sample]:
        """Yield how many partitions of `__consumer_offsets` led here are active, failed and
        loading."""
        counts = groups.partition_counts()
        for state in (ShardState.ACTIVE, ShardState.FAILED, ShardState.LOADING):
            yield {"state": state.value.lower()}, float(counts[state])

    metrics.gauges(f"{_GROUPS}_group_count", "Groups by protocol", by_protocol)
    metrics.gauges(
        f"{_GROUPS}_classic_group_count",
        "Classic groups by state",
        partial(by_state, CLASSIC, [state.value for state in ClassicGroupState]),
    )
    metrics.gauges(
        f"{_GROUPS}_consumer_group_count",
        "Consumer groups by state",
        partial(by_state, CONSUMER, [state.value for state in ConsumerGroupState]),
    )
    metrics.gauges(
        f"{_GROUPS}_share_group_count",
        "Share groups by state",
        partial(by_state, _SHARE, _SHARE_STATES),
    )
    metrics.gauges(
        f"{_GROUPS}_num_partitions", "Partitions of __consumer_offsets led here", by_load
    )
    metrics.gauge(f"{_GROUPS}_offset_count", "Committed offsets", groups.offset_count)
    _register_classic_metrics(metrics, groups)


def _register_classic_metrics(metrics: Metrics, groups: GroupCoordinator) -> None:
    """Register the metrics under the names of Kafka's `GroupMetadataManager`."""

    def in_state(state: str) -> float:
        """Return the number of classic groups in a state."""
        return groups.group_counts()[CLASSIC, state]

    metrics.gauge(f"{_CLASSIC_GROUPS}_numoffsets", "Committed offsets", groups.offset_count)
    metrics.gauge(
        f"{_CLASSIC_GROUPS}_numgroups",
        "Classic groups",
        lambda: sum(count for (kind, _), count in groups.group_counts().items() if kind == CLASSIC),
    )
    for state in ClassicGroupState:
        metrics.gauge(
            f"{_CLASSIC_GROUPS}_numgroups{state.value.lower()}",
            f"Classic groups that are {state.value}",
            partial(in_state, state.value),
        )
