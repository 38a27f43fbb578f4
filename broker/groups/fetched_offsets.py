"""Offsets of one group as they were at one moment, for an answer that is made later, in slices.

What is committed meanwhile does not change it. Owns nothing else, decides nothing.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from broker.groups.committed_offset import CommittedOffset, Key, Plain

Wanted = list[tuple[str, list[int]]]
"""Topics and partitions that somebody asks about."""


class FetchedOffsets:
    """What OffsetFetch may tell of a group."""

    __slots__ = ("_group_id", "_unstable", "by_topic")

    def __init__(
        self,
        group_id: str,
        by_topic: Mapping[str, Mapping[int, Plain]],
        unstable: Container[Key] = (),
    ) -> None:
        """`unstable`: partitions whose offset an open transaction may change (KIP-447)."""
        self._group_id = group_id
        self.by_topic = by_topic
        self._unstable = unstable

    def find(self, topic: str, partition: int, topic_id: bytes) -> CommittedOffset | None:
        """The offset; None where there is none for a topic of that name and id."""
        plain = self.by_topic.get(topic, {}).get(partition)
        committed = None if plain is None else CommittedOffset(*plain)
        return committed if committed is not None and committed.is_for(topic_id) else None

    def is_unstable(self, topic: str, partition: int) -> bool:
        """Whether an open transaction may change it."""
        return bool(self._unstable) and (self._group_id, topic, partition) in self._unstable
