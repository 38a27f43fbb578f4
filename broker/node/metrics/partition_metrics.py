"""Metrics of each partition and of consumer groups: in-sync replicas, offsets and lags.

The names are those of public dashboards: of Kafka's MBeans, and of the exporters that run beside
Kafka (`kafka_consumergroup_…`, `kafka_topic_partition_…`). A group's coordinator shows the group's
offsets. It also shows the lag of a partition if it has a replica of the partition; otherwise the
lag is the difference of two series. Values are read at each scrape, in slices: each value is
current when its turn comes. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from broker.metrics import Labels, Metrics
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from broker.groups.group_coordinator import GroupCoordinator
    from broker.replication.partition import Partition
    from broker.replication.replica_manager import ReplicaManager

Value = tuple[str, str, "Callable[[Partition], float]"]

_OF_LOGS: tuple[Value, ...] = (
    (
        "kafka_log_log_size",
        "Bytes of a partition's log",
        lambda partition: partition.log.segments.size_bytes,
    ),
    (
        "kafka_log_log_logstartoffset",
        "First offset of a partition's log",
        lambda partition: partition.log.log_start_offset,
    ),
    (
        "kafka_log_log_logendoffset",
        "Offset after a partition's last record",
        lambda partition: partition.log.log_end_offset,
    ),
)
_OF_LEADERS: tuple[Value, ...] = (
    (
        "kafka_cluster_partition_insyncreplicascount",
        "Replicas in sync of a partition that is led here",
        lambda partition: len(partition.isr),
    ),
    (
        "kafka_cluster_partition_replicascount",
        "Replicas of a partition that is led here",
        lambda partition: len(partition.replicas),
    ),
    (
        "kafka_cluster_partition_underminisr",
        "1 where a partition led here has fewer replicas in sync than min.insync.replicas",
        lambda partition: len(partition.isr) < min_isr(partition),
    ),
    (
        "kafka_cluster_partition_atminisr",
        "1 where a partition led here has just as many replicas in sync",
        lambda partition: len(partition.isr) == min_isr(partition),
    ),
    (
        "kafka_topic_partition_current_offset",
        "The high watermark of a partition that is led here",
        lambda partition: partition.log.high_watermark,
    ),
    (
        "kafka_topic_partition_oldest_offset",
        "The first offset of a partition that is led here",
        lambda partition: partition.log.log_start_offset,
    ),
    (
        "kafka_topic_partition_replicas",
        "Replicas of a partition that is led here",
        lambda partition: len(partition.replicas),
    ),
    (
        "kafka_topic_partition_in_sync_replica",
        "Replicas in sync of a partition that is led here",
        lambda partition: len(partition.isr),
    ),
    (
        "kafka_topic_partition_under_replicated_partition",
        "1 where a partition led here has replicas that are not in sync",
        lambda partition: len(partition.isr) < len(partition.replicas),
    ),
    (
        "kafka_topic_partition_leader_is_preferred",
        "1 where a partition led here has this broker as its first replica",
        lambda partition: partition.replicas[0] == partition.node_id,
    ),
)

Committed = tuple[int, "int | None"]
"""A committed offset, and the end of its partition, None if unknown here."""
_OF_COMMITTED: tuple[tuple[str, str, Callable[[Committed], float | None]], ...] = (
    (
        "kafka_consumergroup_current_offset",
        "The committed offset of a group",
        lambda committed: committed[0],
    ),
    (
        "kafka_consumergroup_lag",
        "Records that a group has not committed yet, where a replica of the partition is here",
        lambda committed: None if committed[1] is None else max(0, committed[1] - committed[0]),
    ),
)


def min_isr(partition: Partition) -> int:
    """Return the number of in-sync replicas that a partition needs for acks=all."""
    return min(partition.log.config.min_insync_replicas, len(partition.replicas))


def register_partition_metrics(metrics: Metrics, replicas: ReplicaManager) -> None:
    """Register metrics of the local replicas, and of the partitions that this broker leads."""
    led = [(name, help_text, partial(_of_leader, read)) for name, help_text, read in _OF_LEADERS]
    metrics.many([*_OF_LOGS, *led], partial(_shown_partitions, metrics, replicas))


def register_lag_metrics(
    metrics: Metrics, groups: GroupCoordinator, replicas: ReplicaManager
) -> None:
    """Register the offsets and lags of the groups that this broker coordinates."""
    metrics.many(_OF_COMMITTED, partial(_committed, metrics, groups, replicas))


def _shown_partitions(
    metrics: Metrics, replicas: ReplicaManager
) -> Iterator[tuple[Labels, Partition]]:
    """Yield the labels of each partition whose topic is shown."""
    for partition in list(replicas.partitions()):
        if metrics.shows(partition.topic):
            yield {"topic": partition.topic, "partition": str(partition.index)}, partition


def _of_leader(read: Callable[[Partition], float], partition: Partition) -> float | None:
    """Return the value, or None on a follower."""
    return read(partition) if partition.is_leader else None


def _committed(
    metrics: Metrics, groups: GroupCoordinator, replicas: ReplicaManager
) -> Iterator[tuple[Labels, Committed]]:
    """Yield each committed offset, with the end of its partition if there is a local replica."""
    for group_id, topic, offsets in groups.committed_offsets():
        if not metrics.shows(topic):
            continue
        for index, offset, topic_id in offsets:
            replica = replicas.partition(topic, index)
            if replica is not None and topic_id not in (ZERO_UUID, replica.topic_id):
                continue  # the offset is of an earlier topic of that name
            labels: Labels = {"consumergroup": group_id, "topic": topic, "partition": str(index)}
            yield labels, (offset, None if replica is None else replica.log.high_watermark)
