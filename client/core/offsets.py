"""Where partitions begin and end, and which offset belongs to a time: asked of their leaders.

Follows KIP-79 (offsets by time) and KIP-734 (the offset of the latest time).
"""

from __future__ import annotations

from collections.abc import Mapping

from client.core.leaders import Partition, by_leader, by_topic
from client.core.operation import Ask, Steps
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
    """What each leader answers of its own, for EARLIEST, LATEST or a time (ms since the epoch).

    With READ_COMMITTED the latest is the last stable offset.
    """
    found: dict[Partition, ListOffsetsPartitionResponse] = {}
    for leader, partitions in by_leader(leaders, wanted).items():
        request = offsets_request({at: wanted[at] for at in partitions}, isolation_level)
        for topic in (yield Ask(request, VERSION, leader)).topics:
            for one in topic.partitions:
                found[topic.name, one.partition_index] = one
    return found


def offsets_request(
    wanted: Mapping[Partition, int], isolation_level: int = READ_UNCOMMITTED, epoch: int = -1
) -> ListOffsetsRequest:
    """The question for one leader; `epoch` is that since which it leads, where that is known."""
    topics = [
        ListOffsetsTopic(
            name, [ListOffsetsPartition(one, epoch, wanted[name, one]) for one in indexes]
        )
        for name, indexes in by_topic(wanted).items()
    ]
    return ListOffsetsRequest(_CONSUMER, isolation_level, topics)
