"""Snapshot files: Kafka's bytes, and none that is damaged is believed."""

from __future__ import annotations

import importlib.util

import pytest

from ground.memory_filesystem import MemoryFilesystem
from protocol.record_batch import read_header
from storage.log.producer_rules import ProducerRules
from storage.log.producer_snapshot import ProducerSnapshots, decode_snapshot, encode_snapshot
from storage.log.producer_state import ProducerStateEntry, ProducerStateManager
from tests.unit.storage.harness import NOW_MS, batch


def entry(
    pid: int, sequence: int = 9, offset: int = 29, txn: int | None = None
) -> ProducerStateEntry:
    made = ProducerStateEntry(pid)
    made.producer_epoch = 3
    made.coordinator_epoch = 4
    made.current_txn_first_offset = txn
    made.add(sequence, offset, 2, NOW_MS)
    return made


def fields(made: ProducerStateEntry) -> tuple[object, ...]:
    return tuple(
        getattr(made, name) for name in ProducerStateEntry.__slots__ if name != "batches"
    ) + (made.batches[-1] if made.batches else None,)


def producers_at(offset: int, *entries: ProducerStateEntry) -> ProducerStateManager:
    producers = ProducerStateManager("topic-0", ProducerRules(1000))
    producers.clear(offset)
    for made in entries:
        producers.restore(made)
    return producers


def snapshots(filesystem: MemoryFilesystem) -> ProducerSnapshots:
    filesystem.make_dirs("/log")
    found = ProducerSnapshots(filesystem, "/log")
    found.scan(filesystem.list_dir("/log"))
    return found


def test_an_entry_survives_the_file() -> None:
    empty = ProducerStateEntry(5)
    made = [entry(1), entry(2, txn=17), empty]
    read = decode_snapshot(encode_snapshot(made))
    assert read is not None
    assert [fields(one) for one in read] == [fields(one) for one in made]


def test_bytes_are_those_of_the_generated_message() -> None:
    if importlib.util.find_spec("protocol.messages.storage_records") is None:
        pytest.skip("not generated")
    from protocol.messages.storage_records import ProducerSnapshot

    data = encode_snapshot([entry(1, txn=17), ProducerStateEntry(5)])
    message, end = ProducerSnapshot.read(memoryview(data), 2, 1)
    assert (data[:2], end) == (b"\0\x01", len(data))
    first, second = message.producer_entries
    assert (first.producer_id, first.epoch, first.last_sequence) == (1, 3, 9)
    assert (first.last_offset, first.offset_delta, first.timestamp) == (29, 2, NOW_MS)
    assert (first.coordinator_epoch, first.current_txn_first_offset) == (4, 17)
    assert (second.producer_id, second.last_offset, second.current_txn_first_offset) == (5, -1, -1)


def test_every_damaged_byte_is_noticed() -> None:
    data = encode_snapshot([entry(1)])
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        assert decode_snapshot(bytes(damaged)) is None, at
    for size in range(len(data)):
        assert decode_snapshot(data[:size]) is None, size


def test_a_snapshot_is_taken_once_an_offset() -> None:
    filesystem = MemoryFilesystem()
    found = snapshots(filesystem)
    found.take(producers_at(10, entry(1)), 10)
    writes = len(filesystem.calls)
    found.take(producers_at(10, entry(1)), 10)
    assert len(filesystem.calls) == writes
    assert filesystem.list_dir("/log") == ["00000000000000000010.snapshot"]
    assert snapshots(filesystem).offsets == [10]


def test_the_latest_good_snapshot_is_loaded_and_bad_ones_go() -> None:
    filesystem = MemoryFilesystem()
    found = snapshots(filesystem)
    for offset in (10, 20, 30, 40):
        found.take(producers_at(offset, entry(offset)), offset)
    path = "/log/00000000000000000030.snapshot"
    filesystem.replace_atomically(path, b"\0" * 60)
    producers = producers_at(0)
    found.load_latest(producers, 35, NOW_MS)
    assert (list(producers.entries), producers.map_end_offset) == ([20], 20)
    assert found.offsets == [10, 20, 40]
    assert snapshots(filesystem).offsets == [10, 20, 40]


def test_without_a_snapshot_the_state_begins_at_zero() -> None:
    producers = producers_at(99, entry(1))
    snapshots(MemoryFilesystem()).load_latest(producers, 50, NOW_MS)
    assert (producers.entries, producers.map_end_offset) == ({}, 0)


def test_expired_producers_are_not_restored() -> None:
    found = snapshots(MemoryFilesystem())
    found.take(producers_at(10, entry(1), entry(2, txn=3)), 10)
    producers = producers_at(0)
    found.load_latest(producers, 10, NOW_MS + 1000)
    assert list(producers.entries) == [2]


def test_which_snapshots_stay() -> None:
    found = snapshots(MemoryFilesystem())
    for offset in (0, 10, 20, 30, 40, 50):
        found.take(producers_at(offset), offset)
    found.remove_outside(0, 40)
    assert found.offsets == [10, 20, 30, 40]
    found.keep_only([20])
    assert found.offsets == [20, 40]
    found.remove_before(40)
    assert found.offsets == [40]


def test_other_names_are_no_snapshots() -> None:
    found = ProducerSnapshots(MemoryFilesystem(), "/log")
    found.scan(["x.snapshot", "00000000000000000007.snapshot", "7.log"])
    assert found.offsets == [7]


def test_a_snapshot_restores_what_continues_the_producer() -> None:
    found = snapshots(MemoryFilesystem())
    found.take(producers_at(30, entry(7, sequence=9)), 30)
    producers = producers_at(0)
    found.load_latest(producers, 30, NOW_MS)
    following = read_header(batch(b"v", producer_id=7, producer_epoch=3, base_sequence=10))
    assert producers.check(following, 30, check_sequence=True) is None
