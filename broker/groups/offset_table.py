"""Offsets by group, topic and partition: as appended, and as committed in `__consumer_offsets`.

The next decision sees what is appended; a reader is told what is committed, that is below the
log's high watermark: what is above may be lost with the leadership. Owns both, the second as what
the first was before each change that is not committed yet. Never holds more of these than there are
such records. In the place of the snapshots of Kafka's `TimelineHashMap`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from broker.groups.committed_offset import CommittedOffset, Key, Plain

_Partitions = dict[int, Plain]
PartitionOffset = tuple[int, int, bytes]
"""Partition, offset, topic id."""


class OffsetTable:
    """`committed_below()` is the high watermark of the log whose records change the table."""

    def __init__(self, committed_below: Callable[[], int]) -> None:
        self._committed_below = committed_below
        self.count = 0
        """Of all offsets, as appended."""
        self._groups: dict[str, dict[str, _Partitions]] = {}
        self._changes: deque[tuple[int, Key]] = deque()
        self._before: dict[Key, deque[CommittedOffset | None]] = {}
        self._shared: dict[str, dict[str, None]] = {}
        """By group, topics whose offsets somebody reads: changed in a copy."""

    def get(self, key: Key) -> CommittedOffset | None:
        """The offset as appended, or None."""
        group_id, topic, partition = key
        held = self._groups.get(group_id, {}).get(topic, {}).get(partition)
        return None if held is None else CommittedOffset(*held)

    def get_committed(self, key: Key) -> CommittedOffset | None:
        """The offset as committed, or None."""
        self._forget_committed_changes()
        before = self._before.get(key)
        return before[0] if before else self.get(key)

    def keys(self, group_id: str) -> list[Key]:
        """Where the group has offsets, as appended."""
        return [
            (group_id, topic, partition)
            for topic, partitions in self._groups.get(group_id, {}).items()
            for partition in partitions
        ]

    def group_ids(self) -> list[str]:
        """The groups that have offsets, as appended."""
        return list(self._groups)

    def topics(self, group_id: str) -> list[str]:
        """The topics that the group has offsets of, as appended."""
        return list(self._groups.get(group_id, ()))

    def all(self, group_id: str, *, committed: bool) -> dict[str, _Partitions]:
        """What the group has by topic, as appended, or as committed. It stays as it is, whatever is
        appended later; nothing is copied for it that does not change."""
        found = dict(self._groups.get(group_id, {}))
        if found:
            self._shared[group_id] = dict.fromkeys(found)
        if not committed:
            return found
        self._forget_committed_changes()
        copied: dict[str, _Partitions] = {}
        for (group, topic, partition), before in self._before.items():
            if group != group_id:
                continue
            partitions = copied.get(topic)
            if partitions is None:
                partitions = found[topic] = copied[topic] = found.get(topic, {}).copy()
            if before[0] is not None:
                partitions[partition] = before[0].plain()
            else:
                partitions.pop(partition, None)
        for topic, partitions in copied.items():
            if not partitions:
                del found[topic]
        return found

    def _to_change(self, group_id: str, topic: str) -> _Partitions:
        """The group's offsets of a topic, which nobody else reads."""
        topics = self._groups.setdefault(group_id, {})
        shared = self._shared.get(group_id)
        if shared is not None and topic in shared:
            del shared[topic]
            if not shared:
                del self._shared[group_id]
            topics[topic] = topics[topic].copy()
        return topics.setdefault(topic, {})

    def committed_of(self, group_id: str, topic: str) -> list[PartitionOffset]:
        """Where the group has offsets of `topic`, as appended, and what they are, as committed."""
        self._forget_committed_changes()
        held = self._groups.get(group_id, {}).get(topic, {})
        before = self._before
        found: list[PartitionOffset] = []
        for partition, (offset, _, _, _, _, topic_id, _) in held.items():
            earlier = before.get((group_id, topic, partition)) if before else None
            if earlier is None:
                found.append((partition, offset, topic_id))
            elif earlier[0] is not None:
                found.append((partition, earlier[0].offset, earlier[0].topic_id))
        return found

    def keys_of_topic(self, group_id: str, topic: str) -> list[Key]:
        """Where the group has offsets of `topic`, as appended."""
        partitions = self._groups.get(group_id, {}).get(topic, ())
        return [(group_id, topic, partition) for partition in partitions]

    def put(self, key: Key, committed: CommittedOffset, position: int) -> None:
        """The record at `position` sets an offset. Positions never go back."""
        self._remember(key, position)
        group_id, topic, partition = key
        partitions = self._to_change(group_id, topic)
        self.count += partition not in partitions
        partitions[partition] = committed.plain()

    def remove(self, key: Key, position: int) -> None:
        """The record at `position` removes an offset, if there is one."""
        group_id, topic, partition = key
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None or partition not in partitions:
            return
        self._remember(key, position)
        partitions = self._to_change(group_id, topic)
        del partitions[partition]
        self.count -= 1
        if not partitions:
            del topics[topic]
        if not topics:
            del self._groups[group_id]
            self._shared.pop(group_id, None)

    def _remember(self, key: Key, position: int) -> None:
        self._forget_committed_changes()
        if position >= self._committed_below():
            self._changes.append((position, key))
            self._before.setdefault(key, deque()).append(self.get(key))

    def _forget_committed_changes(self) -> None:
        if not self._changes:
            return
        committed_below = self._committed_below()
        while self._changes and self._changes[0][0] < committed_below:
            _, key = self._changes.popleft()
            before = self._before[key]
            before.popleft()
            if not before:
                del self._before[key]
