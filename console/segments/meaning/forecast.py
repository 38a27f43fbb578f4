"""What retention deletes of a log, and when: per segment the reason and the time.

By Kafka's rules (`storage.log.retention` judges what is due now): whole segments, oldest first; by
time once the largest timestamp of a segment, and of all before it, is older than `retention.ms`,
the active one, too; by size while what is left without a segment still fills `retention.bytes`;
nothing that is not below the high watermark. The broker looks every
`log.retention.check.interval.ms`, and files stay another `file.delete.delay.ms` on the disk.

Pure: facts in, facts out, the time is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from storage.log.retention import SegmentAge, breaches
from storage.log_config import LogConfig


class Why(StrEnum):
    """Why a segment goes, or what keeps it."""

    LOG_START = "log start"
    SIZE = "size"
    TIME = "time"
    NEVER = "never"
    """Retention has no limit, or the topic is only compacted."""
    HIGH_WATERMARK = "high watermark"
    """It is old enough, and followers have not all of it yet."""
    EMPTY = "empty"
    """An active segment without a record stays."""


@dataclass(frozen=True, slots=True)
class Fate:
    """Of one segment. `at_ms`: from when on the next look of the broker deletes it; None for one
    that stays, or of which no time can be told."""

    why: Why
    at_ms: int | None = None
    is_due: bool = False
    waits_for: int | None = None
    """The base offset of an older segment that has to go first, and goes later by itself."""
    grows_bytes: int | None = None
    """How much the log has to grow until it goes by size, if there is a limit."""


@dataclass(frozen=True, slots=True)
class Aged:
    """One segment, oldest first."""

    base_offset: int
    end_offset: int
    size: int
    largest_ms: int
    is_last: bool = False


def fates(
    segments: Sequence[Aged],
    config: LogConfig,
    log_start: int,
    high_watermark: int | None,
    now_ms: int,
) -> list[Fate]:
    """Of each segment what becomes of it. Without a known high watermark, all is below it."""
    if not segments:
        return []
    watermark = segments[-1].end_offset if high_watermark is None else high_watermark
    ages = [
        SegmentAge(one.end_offset, one.size, lambda one=one: one.largest_ms, one.is_last)  # type: ignore[misc]
        for one in segments
    ]
    due = breaches(ages, config, log_start, watermark, now_ms)
    reasons = [Why.LOG_START] * due.log_start + [Why.SIZE] * due.size + [Why.TIME] * due.time
    found = [Fate(why, now_ms, is_due=True) for why in reasons]
    return found + _later(segments, len(found), config, watermark, now_ms)


def _later(
    segments: Sequence[Aged], start: int, config: LogConfig, watermark: int, now_ms: int
) -> list[Fate]:
    """Of the segments from number `start` on, of which none is due."""
    found: list[Fate] = []
    left = sum(one.size for one in segments[start:])
    latest, latest_base, is_held = now_ms, -1, False
    for one in segments[start:]:
        left -= one.size
        grows = _grows(config, left)
        if one.is_last and not one.size:
            found.append(Fate(Why.EMPTY))
        elif not config.delete or config.retention_ms < 0:
            found.append(Fate(Why.NEVER if grows is None else Why.SIZE, grows_bytes=grows))
        else:
            own = one.largest_ms + config.retention_ms + 1
            is_held = is_held or (one.end_offset > watermark and own <= latest == now_ms)
            if is_held:
                found.append(Fate(Why.HIGH_WATERMARK, grows_bytes=grows))
                continue
            waits = latest_base if latest > own and latest_base >= 0 else None
            if own > latest:
                latest, latest_base = own, one.base_offset
            found.append(Fate(Why.TIME, latest, waits_for=waits, grows_bytes=grows))
    return found


def _grows(config: LogConfig, left_without: int) -> int | None:
    """How many bytes are missing until what is left without a segment fills the limit."""
    if not config.delete or config.retention_bytes < 0:
        return None
    return max(config.retention_bytes - left_without, 0)
