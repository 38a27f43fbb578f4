"""Indexes that are not their segment's own, or not whole."""

from __future__ import annotations

from struct import pack

import pytest

from ground.memory_filesystem import MemoryFilesystem
from log_format.segment_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from protocol.record_batch import read_header
from storage.log.index_check import check_last_entries
from storage.log.indexes import CorruptIndex
from storage.log.log_segment import LogSegment
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch


def closed_segment(
    count: int = 10, size: int = 50, interval: int = 150, timestamp: int = NOW_MS
) -> LogSegment:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs("/log")
    config = LogConfig(index_interval_bytes=interval)
    segment = LogSegment(filesystem, "/log", 0, config, created_ms=0, create=True)
    for offset in range(count):
        stamp = timestamp + offset if timestamp >= 0 else timestamp
        data = batch(b"v" * size, base_offset=offset, timestamp=stamp)
        header = read_header(data)
        segment.note(offset, header.max_timestamp, segment.append(data), len(data))
    segment.become_inactive()
    return segment


def rewrite(segment: LogSegment, suffix: str, data: bytes) -> None:
    segment.filesystem.replace_atomically(segment.path(suffix), data)
    segment.release_handles()


@pytest.mark.parametrize("timestamp", [NOW_MS, -1])
@pytest.mark.parametrize("count", [0, 1, 10])
def test_a_segments_own_indexes_pass(count: int, timestamp: int) -> None:
    check_last_entries(closed_segment(count, timestamp=timestamp))


def test_an_offset_entry_that_leads_elsewhere() -> None:
    segment = closed_segment()
    for entry in ((5, 1), (4, 5 * segment.size // 10), (5, segment.size - 10)):
        rewrite(segment, INDEX_SUFFIX, pack(">Ii", *entry))
        with pytest.raises(CorruptIndex):
            check_last_entries(segment)


def test_an_offset_index_cut_short() -> None:
    segment = closed_segment(count=40, size=60_000, interval=4096)
    check_last_entries(segment)
    data = segment.filesystem.read(segment.path(INDEX_SUFFIX))
    rewrite(segment, INDEX_SUFFIX, data[: len(data) // 4 // 8 * 8])
    with pytest.raises(CorruptIndex, match="far from the end"):
        check_last_entries(segment)
    rewrite(segment, INDEX_SUFFIX, b"")
    with pytest.raises(CorruptIndex, match="far from the end"):
        check_last_entries(segment)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pack(">qi", 0, 0),
        pack(">qi", NOW_MS + 1, 9),
        pack(">qi", NOW_MS + 9, 8),
        pack(">qi", NOW_MS + 9, 500),
    ],
)
def test_a_time_entry_that_no_batch_has(data: bytes) -> None:
    segment = closed_segment()
    rewrite(segment, TIME_INDEX_SUFFIX, data)
    with pytest.raises(CorruptIndex):
        check_last_entries(segment)
