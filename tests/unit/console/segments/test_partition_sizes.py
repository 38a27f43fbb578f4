"""The list of partitions has each partition once, with its replicas on this machine."""

from __future__ import annotations

from console.segments.answers import PartitionSize, ReplicaSize
from console.segments.disk import SizedFolder
from console.segments.files.folders import LogDirectory, PartitionFolder
from console.segments.partition_sizes import partition_sizes


def sized(node: int, topic: str, partition: int, size: int) -> SizedFolder:

    directory = LogDirectory(f"dir-{node}", f"/data/{node}", "cluster", node)
    folder = PartitionFolder(directory, f"{directory.path}/{topic}-{partition}", topic, partition)
    return SizedFolder(folder, 2, size)


def test_the_replicas_of_a_partition_are_one_row() -> None:
    folders = [
        sized(3, "t", 0, 10),
        sized(1, "t", 0, 12),
        sized(1, "t", 1, 30),
        sized(2, "s", 0, 22),
    ]
    assert partition_sizes(folders) == [
        PartitionSize("t", 1, 2, 30, [ReplicaSize("dir-1", 1, 2, 30)]),
        PartitionSize("s", 0, 2, 22, [ReplicaSize("dir-2", 2, 2, 22)]),
        PartitionSize(
            "t", 0, 4, 22, [ReplicaSize("dir-1", 1, 2, 12), ReplicaSize("dir-3", 3, 2, 10)]
        ),
    ]
    assert partition_sizes([]) == []
