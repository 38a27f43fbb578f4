"""What stays of a log: keys, tombstones, markers, last batches, offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from log_format.transaction_index import AbortedTxn, decode_transactions
from storage.cleaning.cleaner import clean
from storage.cleaning.cleaner_job import CleaningFailed, CleanJob
from storage.log.end_transaction import append_end_txn_marker
from tests.unit.storage.cleaning_fixture import COMPACTED, Bench
from tests.unit.storage.harness import DIRECTORY


def end_transaction(bench: Bench, *, commit: bool) -> int:
    info = append_end_txn_marker(bench.log, 7, 0, 0, commit, 0, bench.scheduler.wall_ms(), 0)
    assert not info.error
    return info.last_offset


def transactional(sequence: int) -> dict[str, int | bool]:
    return {
        "producer_id": 7,
        "producer_epoch": 0,
        "base_sequence": sequence,
        "is_transactional": True,
    }


def test_the_last_of_each_key_stays_at_its_offset() -> None:
    bench = Bench()
    bench.write((b"a", b"1"), (b"b", b"1"))
    bench.write((b"a", b"2"))
    bench.write((b"c", b"1"), (b"b", b"2"), (b"c", b"2"))
    bench.roll()
    result = bench.clean()
    assert bench.left() == [(2, b"a", b"2"), (4, b"b", b"2"), (5, b"c", b"2")]
    assert [(one.base_offset, one.last_offset) for one in bench.headers()] == [(2, 2), (3, 5)]
    assert (result.end_offset, result.records_read, result.records_kept) == (6, 6, 3)


def test_what_loses_nothing_is_copied_byte_for_byte() -> None:
    bench = Bench()
    bench.write((b"a", b"1"), compression=4)
    bench.write((b"b", b"1"))
    before = bench.disk.read(f"{DIRECTORY}/{0:020d}.log")
    bench.roll()
    bench.clean()
    assert bench.disk.read(f"{DIRECTORY}/{0:020d}.log") == before


def test_a_tombstone_stays_until_its_horizon() -> None:
    bench = Bench()
    bench.write((b"a", b"1"))
    bench.write((b"a", None), (b"b", b"1"))
    bench.roll()
    bench.clean()
    assert bench.left() == [(1, b"a", None), (2, b"b", b"1")]
    horizon = bench.scheduler.wall_ms() - 1 + COMPACTED.delete_retention_ms
    assert bench.headers()[0].delete_horizon_ms == horizon
    bench.scheduler.run_for(500)
    bench.write((b"c", b"1"))
    bench.roll()
    bench.clean()
    assert bench.left()[0] == (1, b"a", None)
    assert bench.headers()[0].delete_horizon_ms == horizon, "it is set once"
    bench.scheduler.run_for(600)
    bench.write((b"c", b"2"))
    bench.roll()
    bench.clean()
    assert bench.left() == [(2, b"b", b"1"), (4, b"c", b"2")]


def test_an_aborted_transaction_goes_and_its_marker_after_the_horizon() -> None:
    bench = Bench()
    first = bench.write((b"a", b"aborted"), **transactional(0))
    marker = end_transaction(bench, commit=False)
    bench.write((b"b", b"1"))
    bench.log.producers[0].batches.clear()  # as if the producer wrote in another partition since
    bench.roll()
    bench.clean()
    assert [one.base_offset for one in bench.headers()] == [marker, marker + 1]
    assert bench.headers()[0].delete_horizon_ms is None
    index = f"{DIRECTORY}/{0:020d}.txnindex"
    assert decode_transactions(bench.disk.read(index)) == [AbortedTxn(7, first, marker, marker + 1)]
    bench.write((b"b", b"2"))
    bench.roll()
    bench.clean()  # its records were gone before: the horizon is set, the index entry goes
    assert bench.headers()[0].delete_horizon_ms is not None
    assert not bench.disk.exists(index)
    bench.log.producers[0].producer_epoch = 1
    bench.scheduler.run_for(2_000)
    bench.write((b"b", b"3"))
    bench.roll()
    bench.clean()
    assert marker not in [one.base_offset for one in bench.headers()]


def test_the_last_batch_of_a_producer_stays_as_an_empty_one() -> None:
    bench = Bench()
    bench.write((b"a", b"1"), producer_id=9, producer_epoch=3, base_sequence=0)
    bench.write((b"a", b"2"), (b"b", b"1"), producer_id=9, producer_epoch=3, base_sequence=1)
    bench.write((b"a", b"3"), (b"b", b"2"))
    bench.roll()
    bench.clean()
    empty, _ = bench.headers()
    assert (empty.base_offset, empty.last_offset, empty.record_count) == (1, 2, 0)
    assert (empty.producer_id, empty.producer_epoch, empty.last_sequence) == (9, 3, 2)


def test_the_last_offset_of_the_round_is_kept() -> None:
    bench = Bench(replace(COMPACTED, cleanup_policy=("delete",)))
    bench.write((b"a", b"1"))
    bench.write((None, b"goes"), (None, b"goes"))
    bench.change(cleanup_policy=("compact",))
    bench.roll()
    bench.clean()
    last = bench.headers()[-1]
    assert (last.base_offset, last.last_offset, last.record_count) == (1, 2, 0)


def test_records_without_a_key_go_with_a_count() -> None:
    bench = Bench(replace(COMPACTED, cleanup_policy=("delete",)))
    bench.write((None, b"old"), (b"a", b"1"))
    bench.change(cleanup_policy=("compact",))
    bench.roll()
    assert bench.clean().keyless_dropped == 1
    assert bench.left() == [(1, b"a", b"1")]


def test_small_neighbours_become_one_segment_and_none_grows_too_large() -> None:
    bench = Bench()
    for number in range(12):
        bench.write((b"key %d" % number, b"v" * 300))
        bench.roll()
    bench.clean()
    assert bench.log.segments.base_offsets == [0, 2, 4, 6, 8, 10, 12]
    assert all(one.size <= COMPACTED.segment_bytes for one in bench.log.segments)
    assert len(bench.left()) == 12


def job_of(bench: Bench) -> CleanJob:
    bench.cleaner.look()
    return bench.runner.waiting[0][0]


def test_a_full_map_ends_the_round_at_a_batch() -> None:
    bench = Bench()
    for number in range(4):
        bench.write((b"%d" % number, b"1"), (b"x", b"%d" % number))
    bench.roll()
    job = replace(job_of(bench), dedupe_bytes=600, load_factor=1.0)
    result = clean(bench.disk, job)
    assert (result.end_offset, result.keys) == (4, 3)
    again = clean(bench.disk, replace(job, first_dirty_offset=4))
    assert again.end_offset == 8


def test_damage_is_never_made_to_look_whole() -> None:
    bench = Bench()
    bench.write((b"a", b"1"))
    bench.write((b"a", b"2"))
    bench.roll()
    job = job_of(bench)
    path = f"{DIRECTORY}/{0:020d}.log"
    bench.disk.open(path).write_at(b"!", bench.disk.size(path) - 2)
    with pytest.raises(CleaningFailed, match="wrong CRC at offset 1"):
        clean(bench.disk, job)
    bench.disk.open(path).truncate(bench.disk.size(path) - 1)
    with pytest.raises(CleaningFailed):
        clean(bench.disk, job)


def test_a_record_that_the_topic_no_longer_allows_ends_the_round() -> None:
    bench = Bench()
    bench.write((b"a", b"v" * 400), compression=1)
    bench.write((b"a", b"2"))
    bench.roll()
    bench.change(max_decompressed_message_bytes=407)
    job = job_of(bench)
    with pytest.raises(CleaningFailed, match="size: 408 exceeds the configured maximum"):
        clean(bench.disk, job)
    assert clean(bench.disk, replace(job, record_bytes_max=408)).records_read == 2


def test_a_batch_larger_than_the_buffer_is_read_whole() -> None:
    bench = Bench(replace(COMPACTED, segment_bytes=1 << 20))
    bench.write((b"a", b"v" * 300_000))
    bench.write((b"b", b"w" * 10))
    bench.roll()
    bench.clean()
    assert [key for _, key, _ in bench.left()] == [b"a", b"b"]


def test_reading_and_writing_is_told_to_the_throttle() -> None:
    bench = Bench()
    bench.write((b"a", b"v" * 500))
    bench.roll()
    told: list[int] = []
    result = clean(bench.disk, job_of(bench), told.append)
    assert result.bytes_read == 2 * bench.log.segments.first.size
    assert sum(told) >= result.bytes_read
