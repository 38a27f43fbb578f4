"""One segment: where batches lie, what a read may give, when it is full, how it is rebuilt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ground.memory_filesystem import MemoryFilesystem
from log_format.segment_names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX
from storage.log.indexes import CorruptIndex
from storage.log.log_segment import LogSegment
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch
from tests.unit.storage.segment_fixture import (
    SMALL_INDEX,
    base_offset_of,
    fill,
    reopened,
    segment_in,
)


def test_files_are_named_by_twenty_digits() -> None:
    segment = segment_in(MemoryFilesystem(), base=42)
    assert segment.path(LOG_SUFFIX) == "/log/00000000000000000042.log"


def test_an_index_entry_comes_before_the_batch_after_the_interval() -> None:
    segment = segment_in(MemoryFilesystem(), replace(SMALL_INDEX, index_interval_bytes=250))
    fill(segment, [1] * 6, size=30)  # 103 bytes each: the entry is for the batch at 309
    size = segment.size // 6
    assert segment.offset_index.last("") == (3, 3 * size)
    assert segment.time_index.last("") == (NOW_MS + 3, 3)
    segment.write_indexes()
    assert segment.time_index.last("") == (NOW_MS + 5, 5)


def test_full_by_bytes_by_offsets_and_by_time() -> None:
    config = LogConfig(segment_bytes=1000, segment_ms=5000)
    segment = segment_in(MemoryFilesystem(), config)
    assert not segment.is_full(0, NOW_MS, 1000, NOW_MS)
    assert segment.is_full(0, NOW_MS, 1001, NOW_MS)
    assert not segment.is_full(0, NOW_MS, 10, NOW_MS + 10**9), "an empty segment does not age"
    assert segment.is_full(2**31, NOW_MS, 10, NOW_MS)
    fill(segment, [1])
    assert not segment.is_full(1, NOW_MS + 5000, 10, NOW_MS)
    assert segment.is_full(1, NOW_MS + 5001, 10, NOW_MS), "the records' own time counts"
    assert not segment.is_full(1, -1, 10, NOW_MS + 5000)
    assert segment.is_full(1, -1, 10, NOW_MS + 5001), "without timestamps ours counts"


def test_jitter_makes_a_segment_full_earlier() -> None:
    filesystem = MemoryFilesystem()
    config = LogConfig(segment_ms=5000)
    segment = LogSegment(
        filesystem, "", 0, config, created_ms=NOW_MS, create=True, roll_jitter_ms=1000
    )
    fill(segment, [1])
    assert segment.is_full(1, NOW_MS + 4001, 10, NOW_MS)
    segment.update_config(replace(config, segment_ms=9000))
    assert not segment.is_full(1, NOW_MS + 8000, 10, NOW_MS)
    assert segment.is_full(1, NOW_MS + 8001, 10, NOW_MS)


def test_age_counts_from_the_first_batch_after_a_restart_too() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem, LogConfig(segment_ms=5000))
    fill(segment, [1, 1])
    segment = reopened(segment, filesystem, active=True)
    assert segment.waited_ms(NOW_MS + 7, 0) == 7


def test_full_when_an_index_is_full() -> None:
    config = LogConfig(index_interval_bytes=0, segment_index_bytes=36)
    segment = segment_in(MemoryFilesystem(), config)
    fill(segment, [1, 1])
    assert not segment.is_full(2, NOW_MS, 10, NOW_MS)
    segment = segment_in(MemoryFilesystem(), config)
    fill(segment, [1, 1, 1])
    assert segment.is_full(3, NOW_MS, 10, NOW_MS)


def test_the_largest_timestamp_survives_a_restart() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [2, 2, 2])
    late = batch(b"v", base_offset=6, timestamp=NOW_MS - 50)
    segment.note(6, NOW_MS - 50, segment.append(late), len(late))
    assert segment.largest_timestamp() == (NOW_MS + 2, 5)
    for active in (True, False):
        segment = reopened(segment, filesystem, active=active)
        assert segment.largest_timestamp() == (NOW_MS + 2, 5)


def test_recovery_rebuilds_what_appending_built() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [2] * 30)
    segment.write_indexes()
    offsets, times = segment.offset_index.encode(), segment.time_index.encode()
    seen: list[int] = []
    next_offset, invalid = segment.recover(lambda _, h: seen.append(h.base_offset), cut=True)
    assert (next_offset, invalid) == (60, 0)
    assert seen == list(range(0, 60, 2))
    segment.write_indexes()
    assert segment.offset_index.encode() == offsets
    assert segment.time_index.encode() == times


def test_recovery_cuts_what_is_not_valid_or_leaves_it_when_it_was_synced() -> None:
    segment = segment_in(MemoryFilesystem())
    fill(segment, [1, 1])
    size = segment.size
    segment.append(b"\0" * 77)
    assert segment.recover(lambda *_: None, cut=False) == (2, 77)
    assert segment.size == size + 77
    assert segment.recover(lambda *_: None, cut=True) == (2, 77)
    assert segment.size == size


def test_recovery_ends_where_offsets_go_back() -> None:
    segment = segment_in(MemoryFilesystem())
    fill(segment, [5])
    fill(segment, [1], base=3)
    assert segment.recover(lambda *_: None, cut=True)[0] == 5


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(("at", "end"), [(0, 0), (1, 0), (7, 6), (30, 30), (59, 58), (60, 60)])
def test_truncation_cuts_whole_batches(at: int, end: int, closed: bool) -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [2] * 30)
    size = segment.size // 30
    if closed:
        segment.become_inactive()
    assert segment.truncate_to(at) == end
    segment.reopen(end)
    assert segment.size == size * end // 2
    assert segment.locate(end) is None
    assert segment.largest_timestamp()[0] == (NOW_MS + end // 2 - 1 if end else -1)
    fill(segment, [1], base=end)
    assert segment.locate(end) == (size * end // 2, segment.size - size * end // 2)
    indexes = (segment.offset_index.encode(), segment.time_index.encode())
    segment.recover(lambda *_: None, cut=True)
    assert (segment.offset_index.encode(), segment.time_index.encode()) == indexes


@pytest.mark.parametrize("suffix", [INDEX_SUFFIX, TIME_INDEX_SUFFIX])
def test_a_missing_index_is_told(suffix: str) -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [1] * 9)
    segment.write_indexes()
    filesystem.remove(segment.path(suffix))
    for open_ in ("open_clean", "open_closed"):
        other = LogSegment(filesystem, "/log", 0, SMALL_INDEX, created_ms=0, create=False)
        with pytest.raises(FileNotFoundError):
            getattr(other, open_)()


def test_an_index_of_other_data_is_refused() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [1] * 20)
    segment.write_indexes()
    other = segment_in(filesystem, base=7)
    fill(other, [3] * 20, base=7, size=33)
    filesystem.rename(segment.path(INDEX_SUFFIX), other.path(INDEX_SUFFIX))
    filesystem.replace_atomically(other.path(TIME_INDEX_SUFFIX), b"")
    for open_ in ("open_clean", "open_closed"):
        again = LogSegment(filesystem, "/log", 7, SMALL_INDEX, created_ms=0, create=False)
        with pytest.raises(CorruptIndex):
            getattr(again, open_)()


def test_indexes_are_written_once_for_the_same_size() -> None:
    segment = segment_in(MemoryFilesystem())
    assert segment.write_indexes()
    assert not segment.write_indexes()
    fill(segment, [1])
    assert segment.write_indexes()


def test_removing_files_leaves_slices_in_flight_alone() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [1])
    segment.write_indexes()
    info = segment.read(0, 1000, None, True)
    segment.remove_files()
    assert filesystem.list_dir("/log") == []
    assert base_offset_of(info) == 0


def test_the_sync_job_covers_data_and_indexes() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [1])
    segment.sync_job()()
    assert [path for operation, path in filesystem.calls if operation == "sync"] == [
        segment.path(LOG_SUFFIX)
    ]
    segment.become_inactive()
    segment.sync_job()()
    assert ("sync", segment.path(INDEX_SUFFIX)) in filesystem.calls
    assert ("sync", segment.path(TIME_INDEX_SUFFIX)) in filesystem.calls
