"""Random lives of offsets with transactions: a replay ends where live did, also of a compacted log.

Kafka's rule, that of two records of a key the later one counts and not the one whose marker is
later, is what makes compaction and `replay_marker` agree.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from broker.coordinator.coordinator_log import LogRecord, Record, TransactionMarker
from broker.groups.fetched_offsets import FetchedOffsets
from broker.groups.group_records import read_group_record
from broker.groups.offset_store import OffsetStore
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from tests.clients.group_conversation import committing

GROUPS, TOPICS, PARTITIONS = ("g", "h"), ("t", "u"), (0, 1)
PRODUCERS = (7, 8, 9)
STEPS = 60


class StoredPartition(NamedTuple):
    """All that a store tells of a partition."""

    stable: tuple[int, int]
    any: tuple[int, int]


class Live:
    """A store and its log."""

    def __init__(self) -> None:
        self.store = new_store()
        self.log: list[LogRecord | TransactionMarker] = []
        self.end = 0

    def append(self, records: list[Record], producer_id: int = -1) -> None:
        for key, value in records:
            record = LogRecord(self.end, key, value, producer_id)
            self.log.append(record)
            apply(self.store, record)
            self.end += 1

    def mark(self, producer_id: int, *, committed: bool) -> None:
        marker = TransactionMarker(self.end, producer_id, committed)
        self.log.append(marker)
        apply(self.store, marker)
        self.end += 1


def new_store() -> OffsetStore:
    return OffsetStore(100, lambda: 1_000_000)


def apply(store: OffsetStore, entry: LogRecord | TransactionMarker) -> None:
    if isinstance(entry, TransactionMarker):
        store.replay_marker(entry.producer_id, entry.committed, entry.offset)
        return
    assert entry.key is not None
    found = read_group_record(entry.key, entry.value)
    assert isinstance(found, tuple)
    key, value = found
    assert isinstance(key, OffsetCommitKey)
    assert value is None or isinstance(value, OffsetCommitValue)
    store.replay(key, value, entry.offset, entry.producer_id)


def replayed(log: list[LogRecord | TransactionMarker]) -> OffsetStore:
    store = new_store()
    for entry in log:
        apply(store, entry)
    return store


def seen(store: OffsetStore) -> dict[tuple[str, str, int], StoredPartition]:
    everything = {}
    for group in GROUPS:
        for name in TOPICS:
            for wanted in (None, [(name, list(PARTITIONS))]):
                stable, plain = (
                    store.fetch(group, wanted, require_stable=one) for one in (True, False)
                )
                for index in PARTITIONS:
                    told = StoredPartition(_told(stable, name, index), _told(plain, name, index))
                    key = group, name, index
                    assert everything.setdefault(key, told) == told, "of all, and of some"
    return everything


def _told(found: FetchedOffsets, topic: str, partition: int) -> tuple[int, int]:
    """Offset and error."""
    if found.is_unstable(topic, partition):
        return -1, ErrorCode.UNSTABLE_OFFSET_COMMIT
    committed = found.find(topic, partition, bytes(16))
    return (-1 if committed is None else committed.offset), 0


def compacted(log: list[LogRecord | TransactionMarker]) -> list[LogRecord | TransactionMarker]:
    """What the cleaner leaves: below the last stable offset the last of each key that counts."""
    outcome: dict[int, bool] = {}
    aborted: dict[int, None] = {}
    for entry in reversed(log):
        if isinstance(entry, TransactionMarker):
            outcome[entry.producer_id] = entry.committed
        elif entry.producer_id >= 0 and not outcome.get(entry.producer_id, True):
            aborted[entry.offset] = None
    open_since: dict[int, int] = {}
    for entry in log:
        if isinstance(entry, TransactionMarker):
            open_since.pop(entry.producer_id, None)
        elif entry.producer_id >= 0:
            open_since.setdefault(entry.producer_id, entry.offset)
    stable = min(open_since.values(), default=1_000_000)
    last: dict[bytes | None, int] = {}
    for entry in log:
        if isinstance(entry, LogRecord) and entry.offset < stable and entry.offset not in aborted:
            last[entry.key] = entry.offset
    return [
        entry
        for entry in log
        if isinstance(entry, TransactionMarker)
        or entry.offset >= stable
        or last.get(entry.key) == entry.offset
    ]


def one_step(live: Live, chance: random.Random) -> None:
    group, topic, index = chance.choice(GROUPS), chance.choice(TOPICS), chance.choice(PARTITIONS)
    producer_id = chance.choice(PRODUCERS)
    draw = chance.random()
    if draw < 0.75:
        request = committing(group, live.end, topic=topic, partitions=[index])
        records, _ = in_one_go(live.store.commit(request, 1_000))
        live.append(records, producer_id if draw < 0.5 else -1)
    elif draw < 0.93:
        live.mark(producer_id, committed=chance.random() < 0.6)
    elif draw < 0.97:
        live.append(live.store.delete(group, topic, index))
    elif draw < 0.985:
        live.append(in_one_go(live.store.delete_group(group)))
    else:
        live.append([one for one in live.store.delete_topics([topic]) if one is not None])


@pytest.mark.parametrize("seed", range(10))
def test_a_replay_ends_where_the_live_store_is(seed: int) -> None:
    for number in range(20):
        chance = random.Random(seed * 1_000 + number)
        live = Live()
        for _ in range(STEPS):
            one_step(live, chance)
        expected = seen(live.store)
        assert seen(replayed(live.log)) == expected
        assert seen(replayed(compacted(live.log))) == expected
        for producer_id in PRODUCERS:
            live.mark(producer_id, committed=True)
        expected = seen(live.store)
        assert all(one.stable == one.any for one in expected.values()), "nothing is pending"
        cleaned = compacted(live.log)
        assert len(cleaned) < len(live.log)
        assert seen(replayed(cleaned)) == expected
