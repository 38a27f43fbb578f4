"""Rows of the list of partitions on this machine: each partition once, with all its replicas."""

from __future__ import annotations

from collections.abc import Iterable

from console.segments.answers import PartitionSize, ReplicaSize
from console.segments.disk import SizedFolder


def partition_sizes(folders: Iterable[SizedFolder]) -> list[PartitionSize]:
    """Return the partitions of these folders, the largest first."""
    by_partition: dict[tuple[str, int], list[ReplicaSize]] = {}
    for sized in folders:
        folder = sized.folder
        replica = ReplicaSize(
            folder.directory.key, folder.directory.node_id, sized.segments, sized.bytes
        )
        by_partition.setdefault((folder.topic, folder.partition), []).append(replica)
    rows = [
        PartitionSize(
            topic=topic,
            partition=partition,
            segments=sum(replica.segments for replica in replicas),
            bytes=sum(replica.bytes for replica in replicas),
            replicas=sorted(replicas, key=_by_node),
        )
        for (topic, partition), replicas in by_partition.items()
    ]
    rows.sort(key=_largest_first)
    return rows


def _by_node(replica: ReplicaSize) -> tuple[int, str]:
    return replica.node, replica.dir


def _largest_first(row: PartitionSize) -> tuple[int, str, int]:
    return -row.bytes, row.topic, row.partition
