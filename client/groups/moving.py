"""The plan of moving a group: the new offset of each partition beside the committed one.

Commits nothing (`committed.commit_offsets` does). Owns no connection. Follows
`kafka-consumer-groups --reset-offsets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.place_offsets import offsets_at, spans
from client.places import Place


class Moved(NamedTuple):
    """A partition with its new offset for the group; `committed` None: the group has none yet."""

    topic: str
    partition: int
    committed: int | None
    new: int


def planned(
    cluster: ClusterClient, committed: Mapping[Partition, int], wanted: Mapping[Partition, Place]
) -> list[Moved]:
    """Return the new offset of each partition in `wanted`, in the order of partitions.

    Each offset is within the range that its partition holds. Raises Refused.
    """
    if not wanted:
        return []
    topics = cluster.led_topics([name for name, _ in wanted])
    spans_by_partition = spans(cluster, topics, list(wanted))
    by_place: dict[Place, list[Partition]] = {}
    for at, place in wanted.items():
        by_place.setdefault(place, []).append(at)
    new: dict[Partition, int] = {}
    for place, partitions in by_place.items():
        new |= offsets_at(
            cluster,
            topics,
            {at: spans_by_partition[at] for at in partitions if at in spans_by_partition},
            place,
        )
    return [Moved(*at, committed.get(at), offset) for at, offset in sorted(new.items())]
