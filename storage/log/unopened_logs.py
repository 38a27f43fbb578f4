"""Partitions whose folders lie here and are not used: damaged beyond opening, or there twice.

Nothing is made in their place, for that would stand for what they hold: such a partition is offline
on this node until somebody mends its folder and starts again. What the checkpoints say of it stays.

Owns: which they are, and why. Never: touches a folder but to put it aside when its topic goes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ground.topic_partition import TopicPartition
from storage.log.unified_log import UnifiedLog


class KeptOffsets(NamedTuple):
    """What the checkpoints of a directory said of a log that is not open."""

    recovery_point: int = 0
    log_start: int = 0
    high_watermark: int = 0

    @staticmethod
    def of(log: UnifiedLog) -> KeptOffsets:
        """Those of a log that was opened."""
        return KeptOffsets(log.recovery_point, log.log_start_offset, log.high_watermark)


@dataclass(slots=True)
class UnopenedLog:
    """One partition."""

    partition: TopicPartition
    topic_id: bytes | None
    why: str
    folders: list[tuple[str, str]] = field(default_factory=list)
    """(log directory, folder) of each copy."""


def have_same_records(first: UnifiedLog, second: UnifiedLog) -> bool:
    """Whether two copies hold the same: all epochs begin alike, and both end alike.

    An epoch has one leader, so what it wrote up to an offset is the same wherever it lies. An end
    in the midst of a move between directories leaves two such copies.
    """
    if first.log_end_offset != second.log_end_offset:
        return False
    start = max(first.log_start_offset, second.log_start_offset)
    return _epochs_from(first, start) == _epochs_from(second, start)


def _epochs_from(log: UnifiedLog, offset: int) -> list[tuple[int, int]]:
    entries = log.leader_epochs.entries
    ends = [start for _, start in entries[1:]] + [log.log_end_offset + 1]
    return [
        (epoch, max(start, offset))
        for (epoch, start), end in zip(entries, ends, strict=True)
        if end > offset
    ]
