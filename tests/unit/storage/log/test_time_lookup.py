"""Finding records by time: whatever the segments, the answer is that of a linear search."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ground.memory_filesystem import MemoryFilesystem
from protocol.compression import Codec
from protocol.records import Record
from storage.log.fetch_data import TimestampAndOffset
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.batches import build_batch
from tests.unit.storage.harness import offset_by_time, open_log

SMALL = LogConfig(segment_bytes=800, index_interval_bytes=150)


def filled(filesystem: MemoryFilesystem, stamps: list[list[int]]) -> UnifiedLog:
    log = open_log(filesystem, SMALL)
    for number, batch_stamps in enumerate(stamps):
        records = [Record(-1, stamp, None, b"v" * 20) for stamp in batch_stamps]
        codec = Codec.GZIP if number % 2 else Codec.NONE
        sent = memoryview(build_batch(records, compression=codec))
        log.append_as_leader(sent, number // 4, 10**6)
    return log


def linear(
    log: UnifiedLog, stamps: list[list[int]], timestamp: int, start: int
) -> TimestampAndOffset | None:
    offset = 0
    for number, batch_stamps in enumerate(stamps):
        for stamp in batch_stamps:
            if stamp >= timestamp and offset >= start:
                return TimestampAndOffset(stamp, offset, number // 4)
            offset += 1
    return None


STAMPS = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=4), min_size=1, max_size=30)


@settings(max_examples=60)
@given(stamps=STAMPS, asked=st.lists(st.integers(0, 62), min_size=1, max_size=8), data=st.data())
def test_the_first_record_at_or_after_a_time(
    stamps: list[list[int]], asked: list[int], data: st.DataObject
) -> None:
    filesystem = MemoryFilesystem()
    log = filled(filesystem, stamps)
    log.update_high_watermark(log.log_end_offset)
    start = data.draw(st.integers(0, log.log_end_offset - 1))
    log.increment_log_start_offset(start)
    for timestamp in asked:
        assert offset_by_time(log, timestamp) == linear(log, stamps, timestamp, start)
    log.close()
    log = open_log(filesystem, SMALL, log_start_offset=start)
    for timestamp in asked:
        assert offset_by_time(log, timestamp) == linear(log, stamps, timestamp, start)


@settings(max_examples=60)
@given(stamps=STAMPS)
def test_the_first_record_of_the_largest_time(stamps: list[list[int]]) -> None:
    filesystem = MemoryFilesystem()
    log = filled(filesystem, stamps)
    largest = max(stamp for batch_stamps in stamps for stamp in batch_stamps)
    expected = linear(log, stamps, largest, 0)
    assert offset_by_time(log, -3) == expected
    log.close()
    assert offset_by_time(open_log(filesystem, SMALL), -3) == expected


def test_records_without_a_time_are_found_by_none() -> None:
    log = filled(MemoryFilesystem(), [[-1], [-1]])
    assert offset_by_time(log, 0) is None
    assert offset_by_time(log, -3) is None
