"""The partitions of a group's topics for which the group has committed no offset.

Such a partition has no lag: Kafka's tools show "-". Its records count apart from the lag. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from client.core.leaders import Partition


class Uncommitted(NamedTuple):
    """The number of partitions without a committed offset, and of the records that they hold."""

    partitions: int = 0
    records: int = 0


def without_commit(
    committed: Collection[Partition], indexes_by_topic: Mapping[str, Iterable[int]]
) -> list[Partition]:
    """Return the partitions, sorted, that have no committed offset, of the topics that have one.

    `indexes_by_topic`: the partitions of each topic that exists.
    """
    names = {topic for topic, _ in committed}
    return [
        (topic, index)
        for topic in sorted(names)
        for index in sorted(indexes_by_topic.get(topic, ()))
        if (topic, index) not in committed
    ]


def held(
    partitions: Collection[Partition],
    starts: Mapping[Partition, int],
    ends: Mapping[Partition, int],
) -> Uncommitted:
    """Return the number of these partitions, and of the records between their first and end
    offsets. A partition whose offsets are not known counts with no records."""
    records = sum(max(ends[at] - starts[at], 0) for at in partitions if at in starts and at in ends)
    return Uncommitted(len(partitions), records)
