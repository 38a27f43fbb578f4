"""Offsets by group, topic and partition: as appended, and as committed in `__consumer_offsets`.

The next decision uses the appended offsets. A client gets the committed ones, whose records are
below the log's high watermark: later records may be lost with the leadership. Owns both: the
appended offsets, and for each change that is not committed yet the offset before it. Never keeps
more earlier offsets than there are uncommitted records. Replaces the snapshots of Kafka's
`TimelineHashMap`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from broker.groups.committed_offset import CommittedOffset, Key, Plain

_Partitions = dict[int, Plain]
PartitionOffset = tuple[int, int, bytes]
"""A partition's number, its offset, and the topic id of the commit."""


class OffsetTable:
    """The offsets of a partition of `__consumer_offsets`, with that log's high watermark as
    `committed_below()`."""

    def __init__(self, committed_below: Callable[[], int]) -> None:
        """Create an empty table. `committed_below()` returns the high watermark of the log."""
        self._committed_below = committed_below
        self.count = 0
        """The number of all offsets, as appended."""
        self._groups: dict[str, dict[str, _Partitions]] = {}
        self._changes: deque[tuple[int, Key]] = deque()
        self._before: dict[Key, deque[CommittedOffset | None]] = {}
        self._shared: dict[str, dict[str, None]] = {}
        """The topics, by group, whose offsets an answer still reads; a change copies them first."""

    def get(self, key: Key) -> CommittedOffset | None:
        """Return the offset as appended, or None."""
        group_id, topic, partition = key
        held = self._groups.get(group_id, {}).get(topic, {}).get(partition)
        return None if held is None else CommittedOffset(*held)

    def get_committed(self, key: Key) -> CommittedOffset | None:
        """Return the offset as committed, or None."""
        self._forget_committed_changes()
        before = self._before.get(key)
        return before[0] if before else self.get(key)

    def keys(self, group_id: str) -> list[Key]:
        """Return the keys of the group's offsets, as appended."""
        return [
            (group_id, topic, partition)
            for topic, partitions in self._groups.get(group_id, {}).items()
            for partition in partitions
        ]

    def group_ids(self) -> list[str]:
        """Return the ids of the groups that have offsets, as appended."""
        return list(self._groups)

    def topics(self, group_id: str) -> list[str]:
        """Return the topics for which the group has offsets, as appended."""
        return list(self._groups.get(group_id, ()))

    def all(self, group_id: str, *, committed: bool) -> dict[str, _Partitions]:
        """Return the group's offsets by topic, as appended or as committed.

        Later appends do not change the result. Topics are copied only when they change.
        """
        by_topic = dict(self._groups.get(group_id, {}))
        if by_topic:
            self._shared[group_id] = dict.fromkeys(by_topic)
        if not committed:
            return by_topic
        self._forget_committed_changes()
        copied: dict[str, _Partitions] = {}
        for (group, topic, partition), before in self._before.items():
            if group != group_id:
                continue
            partitions = copied.get(topic)
            if partitions is None:
                partitions = by_topic[topic] = copied[topic] = by_topic.get(topic, {}).copy()
            if before[0] is not None:
                partitions[partition] = before[0].plain()
            else:
                partitions.pop(partition, None)
        for topic, partitions in copied.items():
            if not partitions:
                del by_topic[topic]
        return by_topic

    def _to_change(self, group_id: str, topic: str) -> _Partitions:
        """Return the stored offsets of a group and topic, by partition, for a change.

        They are created if missing. If a fetch still reads them, a copy takes their place first.
        """
        topics = self._groups.setdefault(group_id, {})
        shared = self._shared.get(group_id)
        if shared is not None and topic in shared:
            del shared[topic]
            if not shared:
                del self._shared[group_id]
            topics[topic] = topics[topic].copy()
        return topics.setdefault(topic, {})

    def committed_of(self, group_id: str, topic: str) -> list[PartitionOffset]:
        """Return the committed offsets of the group's partitions of `topic`.

        A partition without an appended offset is left out, even if its removal is not committed.
        """
        self._forget_committed_changes()
        held = self._groups.get(group_id, {}).get(topic, {})
        before = self._before
        offsets: list[PartitionOffset] = []
        for partition, (offset, _, _, _, _, topic_id, _) in held.items():
            earlier = before.get((group_id, topic, partition)) if before else None
            if earlier is None:
                offsets.append((partition, offset, topic_id))
            elif earlier[0] is not None:
                offsets.append((partition, earlier[0].offset, earlier[0].topic_id))
        return offsets

    def keys_of_topic(self, group_id: str, topic: str) -> list[Key]:
        """Return the keys of the group's offsets of `topic`, as appended."""
        partitions = self._groups.get(group_id, {}).get(topic, ())
        return [(group_id, topic, partition) for partition in partitions]

    def put(self, key: Key, committed: CommittedOffset, position: int) -> None:
        """Set an offset from the record at `position` of the log. Positions only increase."""
        self._keep_until_committed(key, position)
        group_id, topic, partition = key
        partitions = self._to_change(group_id, topic)
        self.count += partition not in partitions
        partitions[partition] = committed.plain()

    def remove(self, key: Key, position: int) -> None:
        """Remove an offset, if there is one, because of the record at `position` of the log."""
        group_id, topic, partition = key
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None or partition not in partitions:
            return
        self._keep_until_committed(key, position)
        partitions = self._to_change(group_id, topic)
        del partitions[partition]
        self.count -= 1
        if not partitions:
            del topics[topic]
        if not topics:
            del self._groups[group_id]
            self._shared.pop(group_id, None)

    def _keep_until_committed(self, key: Key, position: int) -> None:
        """Keep the offset's present value, for `get_committed`, until the change at `position` is
        committed. Do nothing if that is already committed."""
        self._forget_committed_changes()
        if position >= self._committed_below():
            self._changes.append((position, key))
            self._before.setdefault(key, deque()).append(self.get(key))

    def _forget_committed_changes(self) -> None:
        """Drop the earlier values of offsets whose later values are committed now."""
        if not self._changes:
            return
        committed_below = self._committed_below()
        while self._changes and self._changes[0][0] < committed_below:
            _, key = self._changes.popleft()
            before = self._before[key]
            before.popleft()
            if not before:
                del self._before[key]
