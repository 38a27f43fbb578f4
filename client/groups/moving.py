"""Where a group would be moved to: offsets of places, beside what it has committed.

Moves nothing (`committed.commit_offsets` does). Owns no connection. Follows
`kafka-consumer-groups --reset-offsets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from client.cluster import Cluster
from client.core.leaders import Partition
from client.place_offsets import offsets_at, spans
from client.places import Place


class Moved(NamedTuple):
    """A partition, and where the group would go on; `committed` None: nowhere yet."""

    topic: str
    partition: int
    committed: int | None
    new: int


def planned(
    cluster: Cluster, committed: Mapping[Partition, int], wanted: Mapping[Partition, Place]
) -> list[Moved]:
    """In order; each offset is within what its partition holds. Raises Refused."""
    if not wanted:
        return []
    topics = cluster.led_topics([name for name, _ in wanted])
    held = spans(cluster, topics, list(wanted))
    by_place: dict[Place, list[Partition]] = {}
    for at, place in wanted.items():
        by_place.setdefault(place, []).append(at)
    new: dict[Partition, int] = {}
    for place, own in by_place.items():
        new |= offsets_at(cluster, topics, {at: held[at] for at in own if at in held}, place)
    return [Moved(*at, committed.get(at), offset) for at, offset in sorted(new.items())]
