"""Where partitions begin and end, and which offset belongs to a time: asked of their leaders.

Owns no connection. Follows KIP-79 (offsets by time) and KIP-734 (the offset of the latest time).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from client.cluster import Cluster, Partition
from client.refusals import Refused, why
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataResponseTopic

EARLIEST = -2
LATEST = -1
NO_OFFSET = -1
"""Of a time after the last record."""

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
_CONSUMER = -1


def list_offsets(
    cluster: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
    isolation_level: int = READ_UNCOMMITTED,
) -> dict[Partition, int]:
    """The offset of each partition for EARLIEST, LATEST or a time (ms since the epoch).

    NO_OFFSET where no record is that late. Partitions without a leader are left out.
    With READ_COMMITTED the latest is the last stable offset. Raises Refused.
    """
    found: dict[Partition, int] = {}
    for at, one in _asked(cluster, topics, wanted, isolation_level):
        if one.error_code:
            reason = why(one.error_code, None, f"Describe on topic {at[0]}")
            raise Refused(f"{at[0]}-{at[1]}: {reason}")
        found[at] = one.offset
    return found


def list_known_offsets(
    cluster: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
) -> dict[Partition, int]:
    """The same, without the partitions whose leader refuses: it may be another one by now."""
    answers = _asked(cluster, topics, wanted, READ_UNCOMMITTED)
    return {at: one.offset for at, one in answers if not one.error_code}


def _asked(
    cluster: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
    isolation_level: int,
) -> Iterator[tuple[Partition, ListOffsetsPartitionResponse]]:
    """What each leader answers of its own."""
    for leader, partitions in cluster.by_leader(topics, wanted).items():
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for name, index in partitions:
            asked = ListOffsetsPartition(index, timestamp=wanted[name, index])
            by_topic.setdefault(name, []).append(asked)
        request = ListOffsetsRequest(
            _CONSUMER,
            isolation_level,
            [ListOffsetsTopic(name, asked) for name, asked in by_topic.items()],
        )
        answer = cluster.call_at(leader, request, ListOffsetsResponse)
        for topic in answer.topics:
            for one in topic.partitions:
                yield (topic.name, one.partition_index), one


def ends(
    cluster: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Iterable[Partition],
    isolation_level: int = READ_UNCOMMITTED,
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """The first offset of each partition, and the one after its last. Raises Refused."""
    wanted = list(partitions)
    first = list_offsets(cluster, topics, dict.fromkeys(wanted, EARLIEST))
    last = list_offsets(cluster, topics, dict.fromkeys(wanted, LATEST), isolation_level)
    return first, last
