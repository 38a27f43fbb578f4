"""A segment on a disk in memory, filled and opened again."""

from __future__ import annotations

from ground.memory_filesystem import MemoryFilesystem
from protocol.record_batch import read_header
from storage.log.fetch_data import FetchDataInfo
from storage.log.file_records import FileRecords
from storage.log.log_segment import LogSegment
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch

SMALL_INDEX = LogConfig(index_interval_bytes=200)


def segment_in(
    filesystem: MemoryFilesystem, config: LogConfig = SMALL_INDEX, base: int = 0
) -> LogSegment:
    filesystem.make_dirs("/log")
    return LogSegment(filesystem, "/log", base, config, created_ms=NOW_MS, create=True)


def fill(segment: LogSegment, counts: list[int], base: int = 0, size: int = 40) -> list[int]:
    """Append a batch of each count of records; gives the base offsets."""
    offset, bases = base, []
    for number, count in enumerate(counts):
        data = batch(*[b"v" * size] * count, base_offset=offset, timestamp=NOW_MS + number)
        position = segment.append(data)
        header = read_header(data)
        segment.note(header.last_offset, header.max_timestamp, position, len(data))
        bases.append(offset)
        offset += count
    return bases


def base_offset_of(info: FetchDataInfo | None) -> int:
    assert info is not None and isinstance(info.records, FileRecords)
    return read_header(info.records.read(), remaining=10**9).base_offset


def reopened(segment: LogSegment, filesystem: MemoryFilesystem, *, active: bool) -> LogSegment:
    segment.write_indexes()
    segment.close()
    other = LogSegment(
        filesystem, "/log", segment.base_offset, segment.config, created_ms=NOW_MS, create=False
    )
    if active:
        other.open_clean()
    else:
        other.open_closed()
    return other
