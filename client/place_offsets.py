"""The offsets of places such as `end` or `@2h` in the partitions of a cluster.

Used to read records and to move groups. Owns no connection; `places` parses the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.core.offsets import READ_UNCOMMITTED
from client.offsets import NO_OFFSET, ends, list_offsets
from client.places import END, LAST, OFFSET, TIME, Place
from protocol.messages.metadata import MetadataResponseTopic


class Span(NamedTuple):
    """The offsets that a partition holds: from `first` up to, without, `last`."""

    first: int
    last: int


def spans(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    wanted: Sequence[Partition],
    isolation_level: int = READ_UNCOMMITTED,
) -> dict[Partition, Span]:
    """Return the span of offsets of each partition that has a leader. Raises Refused."""
    first, last = ends(cluster, topics, wanted, isolation_level)
    return {at: Span(first[at], last[at]) for at in wanted if at in first and at in last}


def offsets_at(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    spans_by_partition: Mapping[Partition, Span],
    place: Place,
) -> dict[Partition, int]:
    """Return the offset of the place in each partition, within its span. Raises Refused.

    The offset of a time is that of the first record at or after it, or the end if there is none.
    """
    if place.kind == TIME:
        first_offsets = list_offsets(
            cluster, topics, dict.fromkeys(spans_by_partition, place.number)
        )
        late = {at for at, offset in first_offsets.items() if offset == NO_OFFSET}
        return {
            at: span.last if at in late else first_offsets[at]
            for at, span in spans_by_partition.items()
        }
    return {at: _within(span, _offset_at(place, span)) for at, span in spans_by_partition.items()}


def _offset_at(place: Place, span: Span) -> int:
    """Return the offset of a place that needs no lookup by time; it may be outside the span."""
    if place.kind == OFFSET:
        return place.number
    if place.kind == LAST:
        return span.last - place.number
    return span.last if place == END else span.first


def _within(span: Span, offset: int) -> int:
    """Return the offset in the span, its end included, that is nearest to `offset`."""
    return min(max(offset, span.first), span.last)
