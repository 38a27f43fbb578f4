"""The progress of compaction in a log, by its files: clean and dirty bytes, and the next cleaning.

The rules are those of Kafka's `LogCleanerManager`; a broker uses
`storage.cleaning.log_cleaner_manager`. The first dirty offset is in `cleaner-offset-checkpoint`.
The active segment is not cleaned, nor are segments younger than `min.compaction.lag.ms`. The log is
cleaned if its dirty ratio exceeds `min.cleanable.dirty.ratio`, or if a record waits longer than
`max.compaction.lag.ms`.

Pure. A broker does not clean beyond the last stable offset. The files do not have it, so the high
watermark stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.segments.meaning.forecast import AgedSegment
from storage.log_config import LogConfig


@dataclass(frozen=True, slots=True)
class Cleanable:
    """The clean and dirty parts of a log; its sizes are those of whole segments."""

    first_dirty: int
    was_cleaned: bool
    """True if `first_dirty` is from the checkpoint, False if it is the log start."""
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    """The segments that a cleaning would read now."""
    later_bytes: int
    """The segments that must not be cleaned yet."""
    is_overdue: bool
    """True if a dirty record waits longer than `max.compaction.lag.ms`."""

    @property
    def ratio(self) -> float:
        """The dirty bytes divided by the clean and dirty bytes, 0 without any."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, config: LogConfig) -> bool:
        """Return whether the next round cleans this log, unless another log has a higher ratio."""
        if self.is_overdue and self.dirty_bytes:
            return True
        return self.ratio > config.min_cleanable_dirty_ratio


def cleanable(
    segments: Sequence[AgedSegment],
    first_times: Sequence[int],
    config: LogConfig,
    checkpoint: int | None,
    log_start: int,
    high_watermark: int | None,
    now_ms: int,
) -> Cleanable | None:
    """Return the progress of compaction in a log, None if it has no segments.

    `first_times` are the first timestamps of `segments` in ms. `checkpoint` is the first dirty
    offset of the checkpoint, None without one. Without a high watermark, all closed segments count
    as replicated.
    """
    if not segments:
        return None
    is_valid = checkpoint is not None and log_start <= checkpoint <= segments[-1].end_offset
    dirty = checkpoint if checkpoint is not None and is_valid else log_start
    closed = segments[:-1]
    bound = min(
        segments[-1].base_offset,
        segments[-1].base_offset if high_watermark is None else high_watermark,
    )
    if config.min_compaction_lag_ms > 0:
        young = [
            segment.base_offset
            for segment in closed
            if segment.end_offset > dirty
            and segment.largest_ms > now_ms - config.min_compaction_lag_ms
        ]
        bound = min([bound, *young])
    uncleanable = _floor(segments, bound)
    start = _floor(segments, min(dirty, uncleanable))
    takes = [segment for segment in closed if start <= segment.base_offset < uncleanable]
    overdue = any(
        0 < first < now_ms - config.max_compaction_lag_ms
        for segment, first in zip(closed, first_times, strict=False)
        if segment.end_offset > dirty
    )
    return Cleanable(
        dirty,
        is_valid,
        uncleanable,
        sum(segment.size for segment in closed if segment.base_offset < dirty),
        sum(segment.size for segment in takes) if dirty < uncleanable else 0,
        sum(segment.size for segment in segments if segment.base_offset >= uncleanable),
        overdue,
    )


def _floor(segments: Sequence[AgedSegment], offset: int) -> int:
    """Return the base offset of the segment with `offset`, that of the first if it is earlier."""
    bases = [segment.base_offset for segment in segments if segment.base_offset <= offset]
    return bases[-1] if bases else segments[0].base_offset
