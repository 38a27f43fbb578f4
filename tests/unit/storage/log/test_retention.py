"""What has had its time: against the rules one by one, and against a slow and plain model."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ground.memory_filesystem import MemoryFilesystem
from storage.log.retention import Breaches, SegmentAge, ages_of, breaches, delete_old_segments
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, open_log

DAY_MS = 86_400_000


def segment(
    end: int, size: int = 100, timestamp: int = NOW_MS, *, last: bool = False
) -> SegmentAge:
    return SegmentAge(end, size, lambda: timestamp, last)


def log_of(*timestamps: int, size: int = 100) -> list[SegmentAge]:
    """Segments of ten records each, the last one active."""
    count = len(timestamps)
    return [
        segment(10 * (number + 1), size, at, last=number == count - 1)
        for number, at in enumerate(timestamps)
    ]


def test_by_time_the_oldest_go_up_to_the_first_that_has_a_young_record() -> None:
    old, young = NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS
    config = LogConfig(retention_ms=DAY_MS)
    assert breaches(log_of(old, old, young, old, young), config, 0, 50, NOW_MS) == Breaches(time=2)
    assert breaches(log_of(young, old, old), config, 0, 30, NOW_MS) == Breaches()


def test_what_is_exactly_as_old_as_allowed_stays() -> None:
    config = LogConfig(retention_ms=DAY_MS)
    assert breaches(log_of(NOW_MS - DAY_MS, NOW_MS), config, 0, 20, NOW_MS).total == 0
    assert breaches(log_of(NOW_MS - DAY_MS - 1, NOW_MS), config, 0, 20, NOW_MS).total == 1


def test_a_record_from_the_future_keeps_its_segment_and_all_after_it() -> None:
    config = LogConfig(retention_ms=DAY_MS)
    future = NOW_MS + 300 * DAY_MS
    ages = log_of(future, NOW_MS - 9 * DAY_MS, NOW_MS)
    assert breaches(ages, config, 0, 30, NOW_MS) == Breaches(kept_until_ms=future)
    behind = log_of(1, future, 1, NOW_MS)
    assert breaches(behind, config, 0, 40, NOW_MS) == Breaches(time=1, kept_until_ms=future)


def test_what_the_future_keeps_is_said(caplog: pytest.LogCaptureFixture) -> None:
    config = LogConfig(
        segment_bytes=150, retention_ms=DAY_MS, message_timestamp_after_max_ms=300 * DAY_MS
    )
    log = open_log(config=config)
    for at in (NOW_MS - 9 * DAY_MS, NOW_MS + 30 * DAY_MS, NOW_MS - 9 * DAY_MS):
        log.append_as_leader(batch(b"v" * 60, timestamp=at), 0, NOW_MS)
    log.update_high_watermark(log.log_end_offset)
    assert delete_old_segments(log, NOW_MS).time == 1
    (said,) = caplog.messages
    assert said == (
        "topic-0: the segment of offset 1 contains future timestamp(s), making it and all after it "
        f"ineligible to be deleted by retention.ms before the time {NOW_MS + 30 * DAY_MS} ms"
    )


def test_the_active_segment_goes_where_all_its_records_had_their_time() -> None:
    config = LogConfig(retention_ms=DAY_MS)
    assert breaches(log_of(1, 1), config, 0, 20, NOW_MS) == Breaches(time=2)
    empty = [segment(10, 100, 1), segment(10, 0, 1, last=True)]
    assert breaches(empty, config, 0, 10, NOW_MS) == Breaches(time=1)


def test_nothing_goes_that_is_not_committed() -> None:
    config = LogConfig(retention_ms=DAY_MS, retention_bytes=0)
    assert breaches(log_of(1, 1, 1), config, 0, 19, NOW_MS).total == 1
    assert breaches(log_of(1, 1, 1), config, 0, 9, NOW_MS).total == 0


def test_by_size_only_what_the_rest_fills_without() -> None:
    ages = log_of(NOW_MS, NOW_MS, NOW_MS)
    for retention_bytes, gone in ((-1, 0), (301, 0), (300, 0), (201, 0), (200, 1), (0, 3)):
        config = LogConfig(retention_bytes=retention_bytes)
        assert breaches(ages, config, 0, 30, NOW_MS) == Breaches(size=gone), retention_bytes


def test_no_limit_and_the_log_start_alone_for_what_is_only_compacted() -> None:
    endless = LogConfig(retention_ms=-1)
    assert breaches(log_of(1, 1, 1), endless, 0, 30, NOW_MS).total == 0
    compacted = LogConfig(cleanup_policy=("compact",), retention_ms=1, retention_bytes=1)
    assert breaches(log_of(1, 1, 1), compacted, 10, 30, NOW_MS) == Breaches(log_start=1)
    assert breaches(log_of(1, 1, 1), compacted, 9, 30, NOW_MS).total == 0
    both = LogConfig(cleanup_policy=("compact", "delete"), retention_ms=1)
    assert breaches(log_of(1, 1, 1), both, 10, 30, NOW_MS) == Breaches(log_start=1, time=2)


def test_the_log_start_at_the_end_leaves_the_active_segment() -> None:
    assert breaches(log_of(NOW_MS, NOW_MS), LogConfig(), 20, 20, NOW_MS) == Breaches(log_start=1)


@dataclass
class Piece:
    size: int
    timestamp: int


@given(
    st.lists(st.builds(Piece, st.integers(0, 5), st.integers(0, 20)), min_size=1, max_size=8),
    st.integers(-1, 20),
    st.integers(-1, 20),
    st.integers(0, 80),
    st.integers(0, 80),
)
def test_as_a_plain_model_says(
    pieces: list[Piece], retention_ms: int, retention_bytes: int, start: int, watermark: int
) -> None:
    """One segment after another, each asked by itself: may the oldest one go now?"""
    config = LogConfig(retention_ms=retention_ms, retention_bytes=retention_bytes)
    ages = [
        segment(10 * (at + 1), one.size, one.timestamp, last=at == len(pieces) - 1)
        for at, one in enumerate(pieces)
    ]
    found = breaches(ages, config, start, watermark, now_ms=20)
    left = list(enumerate(pieces))
    while left:
        at, oldest = left[0]
        last = len(left) == 1
        if 10 * (at + 1) > watermark or (last and not oldest.size):
            break
        before_start = not last and 10 * (at + 1) <= start
        rest = sum(one.size for _, one in left[1:])
        too_large = 0 <= retention_bytes <= rest
        too_old = 0 <= retention_ms < 20 - oldest.timestamp
        if not (before_start or too_large or too_old):
            break
        del left[0]
    assert found.total == len(pieces) - len(left)


def test_a_segment_without_timestamps_counts_from_when_its_file_was_written() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, LogConfig(segment_bytes=1000))
    for timestamp in (NOW_MS, -1):
        log.append_as_leader(batch(b"v", timestamp=timestamp), 0, NOW_MS)
        log.roll()
    log.append_as_leader(batch(b"v", timestamp=NOW_MS + 5), 0, NOW_MS)
    ages = ages_of(list(log._local.segments), log.log_end_offset)
    assert [age.end_offset for age in ages] == [1, 2, 3]
    assert [age.is_last for age in ages] == [False, False, True]
    written = filesystem.modified_ms(f"{log.directory}/{1:020d}.log")
    assert [age.largest_timestamp() for age in ages] == [NOW_MS, written, NOW_MS + 5]
