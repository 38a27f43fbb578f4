"""The first, last and timestamped offsets of partitions, with errors for commands.

Owns no connection; the requests to leaders are `client.core.offsets`'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import ClusterClient
from client.core import offsets
from client.core.leaders import Partition
from client.core.offsets import EARLIEST, LATEST, READ_UNCOMMITTED
from client.core.retries import LEADER
from client.refusals import Leaderless, Refused, why
from protocol.messages.list_offsets import ListOffsetsPartitionResponse
from protocol.messages.metadata import MetadataResponseTopic

NO_OFFSET = -1
"""The offset in a response if no record is at or after the time that was asked for."""


def list_offsets(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
    isolation_level: int = READ_UNCOMMITTED,
) -> dict[Partition, int]:
    """Ask the leaders for offsets, and return that of each partition: EARLIEST, LATEST or a time
    (ms since the epoch).

    NO_OFFSET: no record is at or after that time. Partitions without a leader are left out. With
    READ_COMMITTED, LATEST is the last stable offset. Raises Refused if a response has an error:
    Leaderless if another broker leads the partition now, or the new leader is not ready.
    """
    offsets_found: dict[Partition, int] = {}
    for at, response in _responses(cluster, topics, wanted, isolation_level).items():
        if response.error_code:
            reason = why(response.error_code, None, f"Describe on topic {at[0]}")
            kind = Leaderless if response.error_code in LEADER else Refused
            raise kind(f"{at[0]}-{at[1]}: {reason}")
        offsets_found[at] = response.offset
    return offsets_found


def list_known_offsets(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
) -> dict[Partition, int]:
    """Return the offsets as `list_offsets` does, but leave out partitions with errors.

    An error may mean that the leader has changed. Raises StartError.
    """
    responses = _responses(cluster, topics, wanted, READ_UNCOMMITTED)
    return {at: response.offset for at, response in responses.items() if not response.error_code}


def _responses(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Mapping[Partition, int],
    isolation_level: int,
) -> dict[Partition, ListOffsetsPartitionResponse]:
    """Ask the leaders for offsets, and return the part of the response for each partition, which
    may have an error code. Partitions without a leader are left out."""
    return cluster.run(offsets.list_offsets(cluster.leaders(topics), wanted, isolation_level))


def ends(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Iterable[Partition],
    isolation_level: int = READ_UNCOMMITTED,
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """Return the first offset of each partition, and the offset after its last; with READ_COMMITTED
    the last stable offset. Partitions without a leader are left out. Raises Refused; StartError if
    a broker does not answer."""
    wanted = list(partitions)
    first = list_offsets(cluster, topics, dict.fromkeys(wanted, EARLIEST))
    last = list_offsets(cluster, topics, dict.fromkeys(wanted, LATEST), isolation_level)
    return first, last
