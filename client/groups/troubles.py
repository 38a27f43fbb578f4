"""The troubles of a share group: no members, records near their last delivery, a full window.

Pure: judges the answers of a cluster. A record that a member has locked for long cannot be found,
because no response reports locks; its group only stops to finish records. Follows KIP-932.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from client.core.deliveries import ARCHIVING, AVAILABLE, Delivered
from client.core.groups import GroupDescription
from client.core.leaders import Partition
from client.groups.groups import Standing
from client.groups.total_lag import total_lag
from client.tables import counted


class ShareLimits(NamedTuple):
    """The configs of a share group that limit its deliveries, by default those of Kafka."""

    deliveries: int = 5
    """`share.delivery.count.limit`: the most deliveries of a record."""
    locks: int = 2000
    """`share.partition.max.record.locks`: the most records from the first unfinished one on."""


def troubles(
    group: GroupDescription,
    rows: Sequence[Standing],
    ranges: Sequence[Delivered],
    limits: ShareLimits,
) -> list[str]:
    """Return the troubles of a share group, a sentence each; none if nothing holds it up.

    `ranges`: the deliveries of its records, empty if they are not known.
    """
    texts = []
    lag = total_lag(row.lag for row in rows)
    if lag.records and not group.members:
        waiting = counted(lag.records, "record")
        verb = "waits" if lag.records == 1 else "wait"
        texts.append(f"{waiting} {verb}, and the group has no members")
    for at, own in groupby(ranges, key=_place):
        texts += _of_partition(at, list(own), limits)
    return texts


def _of_partition(at: Partition, ranges: Sequence[Delivered], limits: ShareLimits) -> Iterator[str]:
    """Yield the troubles of a share-partition."""
    name = f"{at[0]}-{at[1]}"
    for delivered in ranges:
        if delivered.state == AVAILABLE and (delivered.deliveries or 0) >= limits.deliveries - 1:
            yield (
                f"{name}: {_offsets(delivered)} had {delivered.deliveries} of "
                f"{limits.deliveries} deliveries: the next one is the last"
            )
        elif delivered.state == ARCHIVING:
            yield f"{name}: {_offsets(delivered)} not written to the dead letter topic yet"
    open_ranges = [delivered for delivered in ranges if delivered.state == AVAILABLE]
    ended = [delivered for delivered in ranges if delivered.deliveries is not None]
    if open_ranges and ended:
        first = open_ranges[0].first
        window = max(delivered.last for delivered in ended) + 1 - first
        if window >= limits.locks:
            yield (
                f"{name}: offset {first} is not finished, and share.partition.max.record.locks="
                f"{limits.locks} allows no deliveries of further records until it is"
            )


def _place(delivered: Delivered) -> Partition:
    return delivered.topic, delivered.partition


def _offsets(delivered: Delivered) -> str:
    """Return text such as `offset 5` or `offsets 5 to 7`."""
    if delivered.first == delivered.last:
        return f"offset {delivered.first}"
    return f"offsets {delivered.first} to {delivered.last}"
