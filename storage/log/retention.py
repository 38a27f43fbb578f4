"""The retention of a log's segments: by time, by size, and by the log start.

`breaches` takes facts about segments, and returns how many of the oldest to delete. The last two
functions of the module remove the segments, after `file.delete.delay.ms`. Owns no state, never
looks at a record.

Kafka's class: `UnifiedLog.deleteOldSegments` and its predicates. As in Kafka, a segment's age
counts from the largest timestamp of its records. A record from the future keeps its segment, and
all after it, until that time has passed. A segment without timestamps counts from the last write of
its file. Only segments below the high watermark are deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from log_format.segment_names import LOG_SUFFIX
from storage.log.log_segment import LogSegment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig

_log = logging.getLogger(f"ottla.{__name__}")


@dataclass(frozen=True, slots=True)
class SegmentAge:
    """The facts about a segment that retention needs. Offsets are record offsets."""

    end_offset: int
    """The base offset of the next segment; for the last one, the log's end."""
    size: int
    """The size of the batches, in bytes."""
    largest_timestamp: Callable[[], int]
    """A function that returns ms since the epoch. It may read the disk: it is called only if
    needed."""
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Breaches:
    """The numbers of oldest segments to delete, by reason.

    `log_start`: before the log start. `size`: the log is larger than `retention.bytes`. `time`: all
    their records are older than `retention.ms`.
    """

    log_start: int = 0
    size: int = 0
    time: int = 0
    kept_until_ms: int | None = None
    """The timestamp of a record from the future, which keeps the first segment that stays."""

    @property
    def total(self) -> int:
        """The number of segments to delete, counted from the oldest."""
        return self.log_start + self.size + self.time


def breaches(
    segments: Sequence[SegmentAge],
    config: LogConfig,
    log_start_offset: int,
    high_watermark: int,
    now_ms: int,
) -> Breaches:
    """Return how many of `segments`, oldest first, are to be deleted, by reason. Only segments that
    end at or before the high watermark are.

    The last segment may be among them if it is not empty. The caller then has to roll a new segment
    first.
    """
    deletable = [
        segment
        for segment in segments
        if segment.end_offset <= high_watermark and not (segment.is_last and not segment.size)
    ]
    by_start = _leading(
        deletable, lambda segment: not segment.is_last and segment.end_offset <= log_start_offset
    )
    if not config.delete:
        return Breaches(by_start)
    by_size = _over_size(segments[by_start:], deletable[by_start:], config.retention_bytes)
    if config.retention_ms < 0:
        return Breaches(by_start, by_size)
    by_time, kept_until_ms = _over_time(
        deletable[by_start + by_size :], config.retention_ms, now_ms
    )
    return Breaches(by_start, by_size, by_time, kept_until_ms)


def _over_time(
    segments: Sequence[SegmentAge], retention_ms: int, now_ms: int
) -> tuple[int, int | None]:
    """Return how many segments at the front have expired, and the timestamp that keeps the next.

    That is the next segment's largest timestamp if it is in the future, else None.
    """
    for count, segment in enumerate(segments):
        largest = segment.largest_timestamp()
        if now_ms - largest <= retention_ms:
            return count, largest if largest > now_ms else None
    return len(segments), None


def _over_size(
    segments: Sequence[SegmentAge], deletable: Sequence[SegmentAge], retention_bytes: int
) -> int:
    """Return how many segments may go while the rest still has `retention_bytes`."""
    if retention_bytes < 0:
        return 0
    spare = sum(segment.size for segment in segments) - retention_bytes
    count = 0
    for segment in deletable:
        if spare < segment.size:
            break
        spare -= segment.size
        count += 1
    return count


def _leading(segments: Sequence[SegmentAge], breached: Callable[[SegmentAge], bool]) -> int:
    """Return the number of segments before the first for which `breached` is false."""
    for count, segment in enumerate(segments):
        if not breached(segment):
            return count
    return len(segments)


def ages_of(segments: Sequence[LogSegment], log_end_offset: int) -> list[SegmentAge]:
    """Return the facts for `breaches` about a log's segments, oldest first."""
    ends = [segment.base_offset for segment in segments[1:]]
    ages = [
        SegmentAge(end, segment.size, lambda segment=segment: _timestamp_of(segment))  # type: ignore[misc]
        for segment, end in zip(segments, ends, strict=False)
    ]
    last = segments[-1]
    ages.append(SegmentAge(log_end_offset, last.size, lambda: _timestamp_of(last), is_last=True))
    return ages


def _timestamp_of(segment: LogSegment) -> int:
    """Return the largest timestamp in a segment; without one, the last write of its file, in ms.

    Raises OSError.
    """
    largest, _ = segment.largest_timestamp()
    if largest >= 0:
        return largest
    return segment.filesystem.modified_ms(segment.path(LOG_SUFFIX))


def delete_old_segments(log: UnifiedLog, now_ms: int) -> Breaches:
    """Remove the log's expired segments. Return how many were removed, by reason.

    The log start moves to the first segment that stays: a new one if all have expired. Raises
    LogDirFailure.
    """
    segments = list(log.segments)
    try:
        expired = breaches(
            ages_of(segments, log.log_end_offset),
            log.config,
            log.log_start_offset,
            log.high_watermark,
            now_ms,
        )
    except OSError as error:
        raise log.failed("retention", error) from error
    if expired.kept_until_ms is not None:
        _log.warning(
            "%s: the segment of offset %d contains future timestamp(s), making it and all after it "
            "ineligible to be deleted by retention.ms before the time %d ms",
            log.partition,
            segments[expired.total].base_offset,
            expired.kept_until_ms,
        )
    if expired.total == len(segments):
        log.roll(now_ms)
    if expired.total:
        log.remove_oldest(segments[: expired.total])
        log.increment_log_start_offset(log.segments.first.base_offset)
    return expired


def delete_segments_before_log_start(log: UnifiedLog) -> int:
    """Remove the segments wholly before the log start. Return how many were removed.

    Raises LogDirFailure.
    """
    removed = []
    for segment, following in pairwise(log.segments):
        if following.base_offset > log.log_start_offset:
            break
        removed.append(segment)
    if removed:
        log.remove_oldest(removed)
    return len(removed)
