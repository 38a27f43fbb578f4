"""Which segments of a log have had their time: retention by time and by size, and the log start.

Facts about segments in, a number of segments out, counted from the oldest; the two functions of a
log at the end remove those, after `file.delete.delay.ms`. Owns no state, never looks at a record.

Kafka's class: `UnifiedLog.deleteOldSegments` 4.3 and the predicates under it. As there, time means
the largest timestamp of a segment's records, so one record from the future keeps its segment, and
all after it, until that time has passed by; a segment without any timestamp counts from when its
file was last written. Nothing goes that is not below the high watermark.
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
    """One segment, as retention sees it. Offsets are record offsets."""

    end_offset: int
    """Where the next segment begins; of the last one, the log's end."""
    size: int
    """Bytes of batches."""
    largest_timestamp: Callable[[], int]
    """Milliseconds since the epoch; asked only where it counts, since it may read the disk."""
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Breaches:
    """How many of the oldest segments go, and why: they lie before the log start, the log is
    larger than `retention.bytes`, or all their records are older than `retention.ms`."""

    log_start: int = 0
    size: int = 0
    time: int = 0
    kept_until_ms: int | None = None
    """The timestamp of a record from the future, which keeps the first segment that stays."""

    @property
    def total(self) -> int:
        """Segments, counted from the oldest."""
        return self.log_start + self.size + self.time


def breaches(
    segments: Sequence[SegmentAge],
    config: LogConfig,
    log_start_offset: int,
    high_watermark: int,
    now_ms: int,
) -> Breaches:
    """What of `segments`, oldest first, has to go.

    The last segment is among them where all its records have had their time: a new one is begun
    first. Never where it is empty.
    """
    ripe = [
        segment
        for segment in segments
        if segment.end_offset <= high_watermark and not (segment.is_last and not segment.size)
    ]
    by_start = _leading(
        ripe, lambda segment: not segment.is_last and segment.end_offset <= log_start_offset
    )
    if not config.delete:
        return Breaches(by_start)
    by_size = _over_size(segments[by_start:], ripe[by_start:], config.retention_bytes)
    if config.retention_ms < 0:
        return Breaches(by_start, by_size)
    by_time, kept_until_ms = _over_time(ripe[by_start + by_size :], config.retention_ms, now_ms)
    return Breaches(by_start, by_size, by_time, kept_until_ms)


def _over_time(
    segments: Sequence[SegmentAge], retention_ms: int, now_ms: int
) -> tuple[int, int | None]:
    """Return how many at the front have had their time, and the largest timestamp of the first
    that has not, if that lies in the future."""
    for count, segment in enumerate(segments):
        largest = segment.largest_timestamp()
        if now_ms - largest <= retention_ms:
            return count, largest if largest > now_ms else None
    return len(segments), None


def _over_size(
    segments: Sequence[SegmentAge], ripe: Sequence[SegmentAge], retention_bytes: int
) -> int:
    """A segment goes where what is left without it still fills `retention_bytes`."""
    if retention_bytes < 0:
        return 0
    spare = sum(segment.size for segment in segments) - retention_bytes
    count = 0
    for segment in ripe:
        if spare < segment.size:
            break
        spare -= segment.size
        count += 1
    return count


def _leading(segments: Sequence[SegmentAge], breached: Callable[[SegmentAge], bool]) -> int:
    """How many at the front are breached, up to the first that is not."""
    for count, segment in enumerate(segments):
        if not breached(segment):
            return count
    return len(segments)


def ages_of(segments: Sequence[LogSegment], log_end_offset: int) -> list[SegmentAge]:
    """What `breaches` has to know of the segments of a log, oldest first."""
    ends = [segment.base_offset for segment in segments[1:]]
    ages = [
        SegmentAge(end, segment.size, lambda segment=segment: _timestamp_of(segment))  # type: ignore[misc]
        for segment, end in zip(segments, ends, strict=False)
    ]
    last = segments[-1]
    ages.append(SegmentAge(log_end_offset, last.size, lambda: _timestamp_of(last), is_last=True))
    return ages


def _timestamp_of(segment: LogSegment) -> int:
    """The largest timestamp of its records; where none has one, when its file was written."""
    largest, _ = segment.largest_timestamp()
    if largest >= 0:
        return largest
    return segment.filesystem.modified_ms(segment.path(LOG_SUFFIX))


def delete_old_segments(log: UnifiedLog, now_ms: int) -> Breaches:
    """Remove what had its time. The log start moves to the first segment that stays: a new one,
    where all had their time. Gives what went, and why. Raises LogDirFailure."""
    segments = list(log.segments)
    try:
        found = breaches(
            ages_of(segments, log.log_end_offset),
            log.config,
            log.log_start_offset,
            log.high_watermark,
            now_ms,
        )
    except OSError as error:
        raise log.failed("retention", error) from error
    if found.kept_until_ms is not None:
        _log.warning(
            "%s: the segment of offset %d contains future timestamp(s), making it and all after it "
            "ineligible to be deleted by retention.ms before the time %d ms",
            log.partition,
            segments[found.total].base_offset,
            found.kept_until_ms,
        )
    if found.total == len(segments):
        log.roll(now_ms)
    if found.total:
        log.remove_oldest(segments[: found.total])
        log.increment_log_start_offset(log.segments.first.base_offset)
    return found


def delete_segments_before_log_start(log: UnifiedLog) -> int:
    """Remove the segments that lie wholly before the log start; gives how many. Raises
    LogDirFailure."""
    doomed = []
    for segment, following in pairwise(log.segments):
        if following.base_offset > log.log_start_offset:
            break
        doomed.append(segment)
    if doomed:
        log.remove_oldest(doomed)
    return len(doomed)
