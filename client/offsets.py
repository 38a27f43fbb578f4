"""Where partitions begin and end, and which offset belongs to a time: for commands.

Owns no connection; `client.core.offsets` says what their leaders are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import Cluster
from client.core import offsets
from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST, READ_UNCOMMITTED
from client.refusals import Refused, why
from protocol.messages.list_offsets import ListOffsetsPartitionResponse
from protocol.messages.metadata import MetadataResponseTopic

NO_OFFSET = -1
"""Of a time after the last record."""


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
    for at, one in _told(cluster, topics, wanted, isolation_level).items():
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
    told = _told(cluster, topics, wanted, READ_UNCOMMITTED)
    return {at: one.offset for at, one in told.items() if not one.error_code}


def _told(
    cluster: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
    isolation_level: int,
) -> dict[Partition, ListOffsetsPartitionResponse]:
    """What each leader answers of its own."""
    return cluster.run(offsets.list_offsets(cluster.leaders(topics), wanted, isolation_level))


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
