"""Offsets as appended and as committed, while a test moves the high watermark."""

from __future__ import annotations

import gc
import random

from broker.groups.committed_offset import CommittedOffset, Key
from broker.groups.offset_table import OffsetTable

A, B, OTHER = ("g", "t", 0), ("g", "t", 1), ("h", "u", 0)


class Table(OffsetTable):
    def __init__(self) -> None:
        super().__init__(lambda: self.high_watermark)
        self.high_watermark = 0
        self.end = 0

    def set(self, key: Key, offset: int | None) -> None:
        if offset is None:
            self.remove(key, self.end)
        else:
            self.put(key, CommittedOffset(offset, -1, "", 0, -1, bytes(16), self.end), self.end)
        self.end += 1

    def committed_keys(self, group_id: str) -> list[Key]:
        found = self.all(group_id, committed=True)
        return [
            (group_id, topic, partition)
            for topic, partitions in found.items()
            for partition in partitions
        ]

    def both(self, key: Key) -> tuple[int | None, int | None]:
        appended, committed = self.get(key), self.get_committed(key)
        return (
            None if appended is None else appended.offset,
            None if committed is None else committed.offset,
        )


def test_what_is_appended_is_told_when_it_is_committed() -> None:
    table = Table()
    table.set(A, 1)
    table.set(A, 2)
    table.set(A, None)
    table.set(A, 4)
    seen = []
    for table.high_watermark in range(5):
        seen.append(table.both(A))
    assert seen == [(4, None), (4, 1), (4, 2), (4, None), (4, 4)]


def test_all_that_is_appended_is_counted() -> None:
    table = Table()
    for key, offset in ((A, 1), (A, 2), (B, 1), (OTHER, 1), (B, None), (B, None)):
        table.set(key, offset)
    assert table.count == 2


def test_keys_as_appended_and_as_committed() -> None:
    table = Table()
    table.set(A, 1)
    table.set(OTHER, 1)
    table.high_watermark = table.end
    table.set(A, None)
    table.set(B, 1)
    assert (table.keys("g"), table.committed_keys("g")) == ([B], [A])
    assert (table.keys("h"), table.committed_keys("h")) == ([OTHER], [OTHER])
    assert (table.keys_of_topic("g", "t"), table.keys_of_topic("h", "u")) == ([B], [OTHER])
    assert (table.keys_of_topic("g", "u"), table.keys_of_topic("x", "t")) == ([], [])
    assert (table.group_ids(), table.topics("g"), table.topics("x")) == (["h", "g"], ["t"], [])
    table.high_watermark = table.end
    assert (table.keys("g"), table.committed_keys("g")) == ([B], [B])
    assert (table.keys("x"), table.committed_keys("x")) == ([], [])


def test_removing_what_is_not_there_changes_nothing() -> None:
    table = Table()
    table.set(A, None)
    assert table.both(A) == (None, None)
    assert table.committed_keys("g") == []


def test_nothing_is_kept_of_what_is_committed() -> None:
    table = Table()
    for offset in range(10):
        table.set(A, offset)
    table.high_watermark = table.end
    assert table.both(A) == (9, 9)
    assert not table._before and not table._changes


def test_it_is_what_the_records_below_the_high_watermark_say() -> None:
    rng = random.Random(7)
    for _ in range(200):
        table = Table()
        history: list[dict[Key, int]] = [{}]
        read: list[tuple[object, object]] = []
        for step in range(30):
            key = rng.choice([A, B, OTHER])
            offset = None if rng.random() < 0.3 else step
            table.set(key, offset)
            state = dict(history[-1])
            if offset is None:
                state.pop(key, None)
            else:
                state[key] = offset
            history.append(state)
            table.high_watermark = rng.randint(table.high_watermark, table.end)
            committed = history[table.high_watermark]
            for one in (A, B, OTHER):
                assert table.both(one) == (state.get(one), committed.get(one))
            assert sorted(table.committed_keys("g")) == sorted(k for k in committed if k != OTHER)
            assert sorted(table.keys("g")) == sorted(k for k in state if k != OTHER)
            for shown, expected in read:
                assert shown == expected, "of the moment when it was read"
            if rng.random() < 0.4:
                for known in (True, False):
                    shown = table.all("g", committed=known)
                    read.append((shown, {topic: dict(one) for topic, one in shown.items()}))


def test_the_collector_need_not_look_through_offsets() -> None:
    table = Table()
    table.set(A, 1)
    table.high_watermark = table.end
    assert table.both(A) == (1, 1)
    gc.collect()
    assert not gc.is_tracked(table._groups["g"]["t"][0])


def test_what_a_group_has_committed_of_a_topic() -> None:
    table = Table()
    table.set(A, 1)
    table.set(OTHER, 2)
    assert table.committed_of("g", "t") == []
    table.high_watermark = table.end
    table.set(A, 3)
    table.set(B, 4)
    table.set(OTHER, None)
    assert table.committed_of("g", "t") == [(0, 1, bytes(16))]
    assert table.committed_of("h", "u") == [], "what is being removed is shown no more"
    table.high_watermark = table.end
    assert table.committed_of("g", "t") == [(0, 3, bytes(16)), (1, 4, bytes(16))]
