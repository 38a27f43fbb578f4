"""How far compaction has come in a log, as its files tell it: clean, dirty, ratio, what is due.

By the rules of Kafka's `LogCleanerManager` (`storage.cleaning.log_cleaner_manager` is what a broker
does): the first dirty offset stands in `cleaner-offset-checkpoint`; the active segment, and what is
younger than `min.compaction.lag.ms`, is not touched; the log is cleaned when its dirty part is more
than `min.cleanable.dirty.ratio`, or a record waits longer than `max.compaction.lag.ms`.

Pure. What lies beyond the last stable offset is not touched either; from files that offset is not
known, so the high watermark stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.segments.meaning.forecast import Aged
from storage.log_config import LogConfig


@dataclass(frozen=True, slots=True)
class Cleanable:
    """Of one log. Offsets; bytes of whole segments."""

    first_dirty: int
    was_cleaned: bool
    """Whether the checkpoint knows it."""
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    """What a cleaning would take."""
    later_bytes: int
    """What it may not touch yet."""
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """The dirty part of what is not out of bounds."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, config: LogConfig) -> bool:
        """Whether the cleaner's next round takes it, unless another log is filthier."""
        if self.is_overdue and self.dirty_bytes:
            return True
        return self.ratio > config.min_cleanable_dirty_ratio


def cleanable(
    segments: Sequence[Aged],
    first_times: Sequence[int],
    config: LogConfig,
    checkpoint: int | None,
    log_start: int,
    high_watermark: int | None,
    now_ms: int,
) -> Cleanable | None:
    """None for a log without segments. `first_times` are the first timestamps of `segments`, in
    ms."""
    if not segments:
        return None
    known = checkpoint is not None and log_start <= checkpoint <= segments[-1].end_offset
    dirty = checkpoint if checkpoint is not None and known else log_start
    closed = segments[:-1]
    bound = min(
        segments[-1].base_offset,
        segments[-1].base_offset if high_watermark is None else high_watermark,
    )
    if config.min_compaction_lag_ms > 0:
        young = [
            one.base_offset
            for one in closed
            if one.end_offset > dirty and one.largest_ms > now_ms - config.min_compaction_lag_ms
        ]
        bound = min([bound, *young])
    uncleanable = _floor(segments, bound)
    start = _floor(segments, min(dirty, uncleanable))
    takes = [one for one in closed if start <= one.base_offset < uncleanable]
    overdue = any(
        0 < first < now_ms - config.max_compaction_lag_ms
        for one, first in zip(closed, first_times, strict=False)
        if one.end_offset > dirty
    )
    return Cleanable(
        dirty,
        known,
        uncleanable,
        sum(one.size for one in closed if one.base_offset < dirty),
        sum(one.size for one in takes) if dirty < uncleanable else 0,
        sum(one.size for one in segments if one.base_offset >= uncleanable),
        overdue,
    )


def _floor(segments: Sequence[Aged], offset: int) -> int:
    """The base offset of the segment that holds `offset`; of the first, for an earlier one."""
    held = [one.base_offset for one in segments if one.base_offset <= offset]
    return held[-1] if held else segments[0].base_offset
