"""What the log of a group coordinator says: batch by batch, and what is left of it by compaction.

Replays records as a coordinator does that loads its log, into groups of its own; knows no broker.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.group_records import OtherRecord, ShareGroupKey, read_group_record
from broker.replication.partition import Partition
from protocol.messages.group_records import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
)
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records

OffsetOf = tuple[str, str, int]
"""Group, topic, partition."""


class Entry(NamedTuple):
    """One record."""

    offset: int
    key: bytes
    value: bytes | None


def batches_of(partition: Partition, *, uncommitted: bool = False) -> Iterator[list[Entry]]:
    """Yield the batches of a replica up to its high watermark, or also those behind it, without
    the batches that only end a transaction."""
    log = partition.log
    end = log.log_end_offset if uncommitted else log.high_watermark
    offset = log.log_start_offset
    while offset < end:
        read = log.read(offset, 1 << 20)
        records = read.records if isinstance(read.records, bytes) else read.records.read()
        view = memoryview(records)
        if not view:
            return
        for position, header in iterate_batches(view):
            offset = header.last_offset + 1
            if header.last_offset < end and not header.is_control:
                yield [
                    Entry(one.offset, one.key, one.value)
                    for one in iterate_records(view, position)
                    if one.key is not None
                ]


class LoggedGroups:
    """All groups, as far as the log was read."""

    def __init__(self) -> None:
        self.consumers: dict[str, ConsumerGroup] = {}
        self.classics: dict[str, GroupMetadataValue] = {}
        self.offsets: dict[OffsetOf, int] = {}

    def replay(self, entries: Iterable[Entry]) -> LoggedGroups:
        """Read on."""
        for entry in entries:
            read: Any = read_group_record(entry.key, entry.value)
            if isinstance(read, OtherRecord) or isinstance(read[0], ShareGroupKey):
                continue
            key, value = read
            if isinstance(key, OffsetCommitKey):
                self._set(self.offsets, (key.group, key.topic, key.partition), value)
            elif isinstance(key, GroupMetadataKey):
                self._set(self.classics, key.group, value)
            elif value is None and isinstance(key, ConsumerGroupMetadataKey):
                self.consumers.pop(key.group_id, None)
            elif value is not None or key.group_id in self.consumers:
                group = self.consumers.setdefault(key.group_id, ConsumerGroup(key.group_id))
                group.replay(key, value, entry.offset)
        return self

    def _set(self, where: dict[Any, Any], key: Any, value: Any) -> None:
        if value is None:
            where.pop(key, None)
        else:
            where[key] = value.offset if isinstance(key, tuple) else value

    def state(self) -> dict[str, Any]:
        """All of it, to be compared."""
        return {
            "consumers": {name: state_of(group) for name, group in self.consumers.items()},
            "classics": dict(self.classics),
            "offsets": dict(self.offsets),
        }


def state_of(group: ConsumerGroup) -> dict[str, Any]:
    """What a group is by its records, and what it derives from them."""
    return {
        "epochs": (group.epoch, group.assignment_epoch),
        "hash": (group.metadata_hash, group.assigned_at_ms),
        "members": dict(group.members),
        "targets": {name: target for name, target in group.targets.items() if target},
        "static": dict(group.static_members),
        "regexes": dict(group.regexes),
        "holders": {one: dict(parts) for one, parts in group._holders.items() if parts},
        "subscribed": (dict(group._subscribers), dict(group._regex_subscribers)),
    }


def groups_in(entries: Sequence[Entry]) -> list[str]:
    """The groups that a batch is about, but for offsets."""
    found: dict[str, None] = {}
    for entry in entries:
        read: Any = read_group_record(entry.key, entry.value)
        if isinstance(read, OtherRecord) or isinstance(read[0], OffsetCommitKey):
            continue
        key = read[0]
        found[key.group if isinstance(key, GroupMetadataKey) else key.group_id] = None
    return list(found)


def compacted(entries: Sequence[Entry], chance: random.Random) -> list[Entry]:
    """What is left when the log is cleaned up to some record: of each key the last before that;
    tombstones stay for a while, or are gone, too."""
    end = chance.randrange(len(entries) + 1)
    last = {entry.key: entry.offset for entry in entries[:end]}
    keeps = chance.random() < 0.5
    kept = [
        entry
        for entry in entries[:end]
        if last[entry.key] == entry.offset and (entry.value is not None or keeps)
    ]
    return [*kept, *entries[end:]]
