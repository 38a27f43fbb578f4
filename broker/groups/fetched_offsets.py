"""The offsets of a group at one moment, for an answer that is built later, in slices.

A later commit does not change them. Owns nothing else, and never decides anything.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from broker.groups.committed_offset import CommittedOffset, Key, Plain

RequestedPartitions = list[tuple[str, list[int]]]
"""The topics and partitions whose offsets a client requests."""


class FetchedOffsets:
    """The offsets of a group that OffsetFetch may answer with."""

    __slots__ = ("_group_id", "_unstable", "by_topic")

    def __init__(
        self,
        group_id: str,
        by_topic: Mapping[str, Mapping[int, Plain]],
        unstable: Container[Key] = (),
    ) -> None:
        """Keep the offsets, by topic and partition.

        `unstable`: the partitions whose offset an open transaction may change (KIP-447).
        """
        self._group_id = group_id
        self.by_topic = by_topic
        self._unstable = unstable

    def find(self, topic: str, partition: int, topic_id: bytes) -> CommittedOffset | None:
        """Return the partition's offset, or None if the topic with this name and id has none."""
        plain = self.by_topic.get(topic, {}).get(partition)
        committed = None if plain is None else CommittedOffset(*plain)
        return committed if committed is not None and committed.is_for(topic_id) else None

    def is_unstable(self, topic: str, partition: int) -> bool:
        """Return whether an open transaction may change the partition's offset."""
        return bool(self._unstable) and (self._group_id, topic, partition) in self._unstable
