"""A forecast of retention in a log: for each segment the reason and the time of its deletion.

The rules are Kafka's; `storage.log.retention` decides which segments are due now. Retention deletes
whole segments, oldest first, and only below the high watermark:

- by time, if the largest timestamps of a segment and of all before it are older than
  `retention.ms`; this includes the active segment;
- by size, if the log without the segment still has `retention.bytes`.

A broker checks each `log.retention.check.interval.ms`. Files stay on the disk for another
`file.delete.delay.ms`.

Pure: the caller passes the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from storage.log.retention import SegmentAge, breaches
from storage.log_config import LogConfig


class Why(StrEnum):
    """The reason why a segment is deleted or stays."""

    LOG_START = "log start"
    SIZE = "size"
    TIME = "time"
    NEVER = "never"
    """Retention has no limit, or the topic is only compacted."""
    HIGH_WATERMARK = "high watermark"
    """The segment is old enough, but the high watermark has not passed its end."""
    EMPTY = "empty"
    """An active segment without a record stays."""


@dataclass(frozen=True, slots=True)
class Fate:
    """The forecast for a segment.

    `at_ms` is the time from which a check of the broker deletes the segment, in ms since the epoch.
    It is None if the segment stays or the time is unknown.
    """

    why: Why
    at_ms: int | None = None
    is_due: bool = False
    waits_for: int | None = None
    """The base offset of an older segment that delays this one, because it expires later."""
    grows_bytes: int | None = None
    """The growth of the log after which the segment is deleted by size, None without a limit."""


@dataclass(frozen=True, slots=True)
class AgedSegment:
    """The data of a segment that retention uses: offsets, size, and largest timestamp in ms."""

    base_offset: int
    end_offset: int
    size: int
    largest_ms: int
    is_last: bool = False


def fates(
    segments: Sequence[AgedSegment],
    config: LogConfig,
    log_start: int,
    high_watermark: int | None,
    now_ms: int,
) -> list[Fate]:
    """Return the forecast for each of the segments, which are in the order of offsets.

    A high watermark of None counts as the end of the log.
    """
    if not segments:
        return []
    watermark = segments[-1].end_offset if high_watermark is None else high_watermark
    ages = [
        SegmentAge(aged.end_offset, aged.size, lambda aged=aged: aged.largest_ms, aged.is_last)  # type: ignore[misc]
        for aged in segments
    ]
    due = breaches(ages, config, log_start, watermark, now_ms)
    reasons = [Why.LOG_START] * due.log_start + [Why.SIZE] * due.size + [Why.TIME] * due.time
    due_now = [Fate(why, now_ms, is_due=True) for why in reasons]
    return due_now + _later(segments, len(due_now), config, watermark, now_ms)


def _later(
    segments: Sequence[AgedSegment], start: int, config: LogConfig, watermark: int, now_ms: int
) -> list[Fate]:
    """Return the forecasts for the segments from number `start` on, of which none is due."""
    forecasts: list[Fate] = []
    left = sum(segment.size for segment in segments[start:])
    latest, latest_base, is_held = now_ms, -1, False
    for segment in segments[start:]:
        left -= segment.size
        grows = _grows(config, left)
        if segment.is_last and not segment.size:
            forecasts.append(Fate(Why.EMPTY))
        elif not config.delete or config.retention_ms < 0:
            forecasts.append(Fate(Why.NEVER if grows is None else Why.SIZE, grows_bytes=grows))
        else:
            own = segment.largest_ms + config.retention_ms + 1
            is_held = is_held or (segment.end_offset > watermark and own <= latest == now_ms)
            if is_held:
                forecasts.append(Fate(Why.HIGH_WATERMARK, grows_bytes=grows))
                continue
            waits = latest_base if latest > own and latest_base >= 0 else None
            if own > latest:
                latest, latest_base = own, segment.base_offset
            forecasts.append(Fate(Why.TIME, latest, waits_for=waits, grows_bytes=grows))
    return forecasts


def _grows(config: LogConfig, left_without: int) -> int | None:
    """Return how many bytes `left_without` lacks to `retention.bytes`; None without a limit."""
    if not config.delete or config.retention_bytes < 0:
        return None
    return max(config.retention_bytes - left_without, 0)
