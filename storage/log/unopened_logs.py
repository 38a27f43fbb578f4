"""Partitions with folders that cannot be used: too damaged to open, or present twice.

No new log is created in their place, because it would be empty. Such a partition is offline on this
node until its folder is repaired and the node restarted. The checkpoints keep its offsets.

Owns: the list of such partitions, each with its reason. Never: changes a folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ground.topic_partition import TopicPartition
from storage.log.unified_log import UnifiedLog


class KeptOffsets(NamedTuple):
    """The offsets of an unopened log in the checkpoints of its directory."""

    recovery_point: int = 0
    log_start: int = 0
    high_watermark: int = 0

    @staticmethod
    def of(log: UnifiedLog) -> KeptOffsets:
        """Return the offsets of a log that was opened."""
        return KeptOffsets(log.recovery_point, log.log_start_offset, log.high_watermark)


@dataclass(slots=True)
class UnopenedLog:
    """A partition that cannot be used, and the reason."""

    partition: TopicPartition
    topic_id: bytes | None
    why: str
    folders: list[tuple[str, str]] = field(default_factory=list)
    """(log directory, folder) of each copy."""


def have_same_records(first: UnifiedLog, second: UnifiedLog) -> bool:
    """Return whether two copies hold the same records: equal starts of all epochs, equal ends.

    An epoch has one leader, so its records up to an offset are the same in each copy. A crash
    during a move between directories leaves two such copies.
    """
    if first.log_end_offset != second.log_end_offset:
        return False
    start = max(first.log_start_offset, second.log_start_offset)
    return _epochs_from(first, start) == _epochs_from(second, start)


def _epochs_from(log: UnifiedLog, offset: int) -> list[tuple[int, int]]:
    """Return (epoch, first offset) of the epochs that have records at or after `offset`. A start
    before `offset` is given as `offset`."""
    entries = log.leader_epochs.entries
    ends = [start for _, start in entries[1:]] + [log.log_end_offset + 1]
    return [
        (epoch, max(start, offset))
        for (epoch, start), end in zip(entries, ends, strict=True)
        if end > offset
    ]
