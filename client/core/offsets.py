"""The first, last and timestamped offsets of partitions, which their leaders report.

Follows KIP-79 (offsets by time) and KIP-734 (the offset of the latest time).
"""

from __future__ import annotations

from collections.abc import Mapping

from client.core.leaders import Partition, by_leader, by_topic
from client.core.operation import RequestStep, Steps
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

EARLIEST = -2
LATEST = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
VERSION = 5

_CONSUMER = -1


def list_offsets(
    leaders: Mapping[Partition, int],
    wanted: Mapping[Partition, int],
    isolation_level: int = READ_UNCOMMITTED,
) -> Steps[dict[Partition, ListOffsetsPartitionResponse]]:
    """Send ListOffsets to each leader, and return its response for each partition, which may have
    an error code.

    `wanted`: EARLIEST, LATEST or a time (ms since the epoch). With READ_COMMITTED, LATEST is the
    last stable offset. Partitions without a leader are left out. Raises NoAnswer.
    """
    offsets: dict[Partition, ListOffsetsPartitionResponse] = {}
    for leader, partitions in by_leader(leaders, wanted).items():
        request = offsets_request({at: wanted[at] for at in partitions}, isolation_level)
        for topic in (yield RequestStep(request, VERSION, leader)).topics:
            for partition in topic.partitions:
                offsets[topic.name, partition.partition_index] = partition
    return offsets


def offsets_request(
    wanted: Mapping[Partition, int], isolation_level: int = READ_UNCOMMITTED, epoch: int = -1
) -> ListOffsetsRequest:
    """Return a ListOffsets request for one leader; `epoch`: the leader epoch, -1 if not known."""
    topics = [
        ListOffsetsTopic(
            name, [ListOffsetsPartition(index, epoch, wanted[name, index]) for index in indexes]
        )
        for name, indexes in by_topic(wanted).items()
    ]
    return ListOffsetsRequest(_CONSUMER, isolation_level, topics)
