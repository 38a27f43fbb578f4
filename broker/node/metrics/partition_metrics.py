"""What is shown of each partition and of consumer groups: who is in sync, and how far they lag.

The names are those that public dashboards ask for: of Kafka's MBeans, and of the exporters that
are run beside Kafka (`kafka_consumergroup_…`, `kafka_topic_partition_…`). A group's offsets are
shown by its coordinator, the lag of a partition where the coordinator has a replica of it;
elsewhere it is the difference of two series. All is read when it is asked for, in slices: each
value is as it is when its turn comes. It changes nothing.
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
        lambda one: one.log.segments.size_bytes,
    ),
    (
        "kafka_log_log_logstartoffset",
        "First offset of a partition's log",
        lambda one: one.log.log_start_offset,
    ),
    (
        "kafka_log_log_logendoffset",
        "Offset after a partition's last record",
        lambda one: one.log.log_end_offset,
    ),
)
_OF_LEADERS: tuple[Value, ...] = (
    (
        "kafka_cluster_partition_insyncreplicascount",
        "Replicas in sync of a partition that is led here",
        lambda one: len(one.isr),
    ),
    (
        "kafka_cluster_partition_replicascount",
        "Replicas of a partition that is led here",
        lambda one: len(one.replicas),
    ),
    (
        "kafka_cluster_partition_underminisr",
        "1 where a partition led here has fewer replicas in sync than min.insync.replicas",
        lambda one: len(one.isr) < min_isr(one),
    ),
    (
        "kafka_cluster_partition_atminisr",
        "1 where a partition led here has just as many replicas in sync",
        lambda one: len(one.isr) == min_isr(one),
    ),
    (
        "kafka_topic_partition_current_offset",
        "The high watermark of a partition that is led here",
        lambda one: one.log.high_watermark,
    ),
    (
        "kafka_topic_partition_oldest_offset",
        "The first offset of a partition that is led here",
        lambda one: one.log.log_start_offset,
    ),
    (
        "kafka_topic_partition_replicas",
        "Replicas of a partition that is led here",
        lambda one: len(one.replicas),
    ),
    (
        "kafka_topic_partition_in_sync_replica",
        "Replicas in sync of a partition that is led here",
        lambda one: len(one.isr),
    ),
    (
        "kafka_topic_partition_under_replicated_partition",
        "1 where a partition led here has replicas that are not in sync",
        lambda one: len(one.isr) < len(one.replicas),
    ),
    (
        "kafka_topic_partition_leader_is_preferred",
        "1 where a partition led here has this broker as its first replica",
        lambda one: one.replicas[0] == one.node_id,
    ),
)

Committed = tuple[int, "int | None"]
"""An offset, and the end of its partition."""
_OF_COMMITTED: tuple[tuple[str, str, Callable[[Committed], float | None]], ...] = (
    (
        "kafka_consumergroup_current_offset",
        "The committed offset of a group",
        lambda one: one[0],
    ),
    (
        "kafka_consumergroup_lag",
        "Records that a group has not committed yet, where a replica of the partition is here",
        lambda one: None if one[1] is None else max(0, one[1] - one[0]),
    ),
)


def min_isr(partition: Partition) -> int:
    """How many replicas in sync a partition needs for acks=all."""
    return min(partition.log.config.min_insync_replicas, len(partition.replicas))


def register_partition_metrics(metrics: Metrics, replicas: ReplicaManager) -> None:
    """Of the replicas here, and of the partitions that this broker leads."""
    led = [(name, help_text, partial(_of_leader, read)) for name, help_text, read in _OF_LEADERS]
    metrics.many([*_OF_LOGS, *led], partial(_shown, metrics, replicas))


def register_lag_metrics(
    metrics: Metrics, groups: GroupCoordinator, replicas: ReplicaManager
) -> None:
    """Of the groups that this broker coordinates."""
    metrics.many(_OF_COMMITTED, partial(_committed, metrics, groups, replicas))


def _shown(metrics: Metrics, replicas: ReplicaManager) -> Iterator[tuple[Labels, Partition]]:
    for one in list(replicas.partitions()):
        if metrics.shows(one.topic):
            yield {"topic": one.topic, "partition": str(one.index)}, one


def _of_leader(read: Callable[[Partition], float], one: Partition) -> float | None:
    return read(one) if one.is_leader else None


def _committed(
    metrics: Metrics, groups: GroupCoordinator, replicas: ReplicaManager
) -> Iterator[tuple[Labels, Committed]]:
    """Each committed offset, with the end of its partition where that is known here."""
    for group_id, topic, offsets in groups.committed_offsets():
        if not metrics.shows(topic):
            continue
        for index, offset, topic_id in offsets:
            found = replicas.partition(topic, index)
            if found is not None and topic_id not in (ZERO_UUID, found.topic_id):
                continue  # of an earlier topic of that name
            labels: Labels = {"consumergroup": group_id, "topic": topic, "partition": str(index)}
            yield labels, (offset, None if found is None else found.log.high_watermark)
