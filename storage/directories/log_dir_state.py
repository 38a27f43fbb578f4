"""One log directory while it is open: its lock, its logs, and their offset checkpoints.

Owns: the content of the directory's offset checkpoints. Never: opens or closes a log
(`storage.directories.log_manager`).
"""

from __future__ import annotations

from collections.abc import Callable

from ground.filesystem import Lock
from ground.sliced_work import Pace, Steps, in_one_go
from ground.topic_partition import TopicPartition
from storage.directories.offset_checkpoints import OffsetCheckpoint, Offsets
from storage.log.checkpoints import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log.unopened_logs import KeptOffsets

_LOGS_A_SLICE = 500
"""The number of logs whose offsets are read in one slice."""


class LogDirState:
    """A log directory: its lock, its checkpoints, its logs."""

    __slots__ = (
        "high_watermarks",
        "lock",
        "log_starts",
        "logs",
        "path",
        "recovery_points",
        "unopened",
        "was_clean",
    )

    def __init__(self, path: str, environment: LogEnvironment) -> None:
        def failed(error: OSError) -> None:
            """Take the directory offline, because a checkpoint cannot be written."""
            environment.failures.fail(path, "writing a checkpoint", error)

        def checkpoint(name: str) -> OffsetCheckpoint:
            """Return the checkpoint file with this name in the directory."""
            filesystem, blocking = environment.filesystem, environment.blocking
            return OffsetCheckpoint(filesystem, blocking, f"{path}/{name}", failed)

        self.path = path
        self.lock: Lock | None = None
        self.recovery_points = checkpoint(RECOVERY_POINT_CHECKPOINT)
        self.log_starts = checkpoint(LOG_START_CHECKPOINT)
        self.high_watermarks = checkpoint(HIGH_WATERMARK_CHECKPOINT)
        self.logs: dict[TopicPartition, UnifiedLog] = {}
        self.was_clean = True
        """Whether the last stop left the marker of a clean stop."""
        self.unopened: dict[TopicPartition, KeptOffsets] = {}
        """The offsets of logs that cannot be opened: new checkpoints keep them."""

    def hold_lock(self, lock: Lock) -> None:
        """Set `lock`, which prevents other processes from opening the directory."""
        self.lock = lock

    def set_was_clean(self, was_clean: bool) -> None:
        """Set `was_clean`: whether the last stop of the directory was clean."""
        self.was_clean = was_clean

    # --- the content of the checkpoints: in slices for many logs --------------------------------

    def recovery_offsets(self) -> Offsets:
        """Return the offset up to which each log is fsynced; for a log that cannot be opened, that
        of the last checkpoint."""
        return in_one_go(self.recovery_steps())

    def recovery_steps(self) -> Steps[Offsets]:
        """Return the offsets of `recovery_offsets`, collected in slices."""
        kept = {partition: offsets.recovery_point for partition, offsets in self.unopened.items()}
        return self._with_open_logs(kept, lambda log: log.recovery_point)

    def start_offsets(self) -> Offsets:
        """Return the log starts that are above the first segment's base offset; for a log that
        cannot be opened, that of the last checkpoint."""
        return in_one_go(self.start_steps())

    def start_steps(self) -> Steps[Offsets]:
        """Return the log starts of `start_offsets`, collected in slices."""
        kept = {
            partition: offsets.log_start
            for partition, offsets in self.unopened.items()
            if offsets.log_start
        }
        return self._with_open_logs(kept, _start_within_segment)

    def watermarks(self) -> Offsets:
        """Return the high watermark of each log; for a log that cannot be opened, that of the last
        checkpoint."""
        return in_one_go(self.watermark_steps())

    def watermark_steps(self) -> Steps[Offsets]:
        """Return the high watermarks of `watermarks`, collected in slices."""
        kept = {partition: offsets.high_watermark for partition, offsets in self.unopened.items()}
        return self._with_open_logs(kept, lambda log: log.high_watermark)

    def _with_open_logs(
        self, offsets: Offsets, offset_of: Callable[[UnifiedLog], int | None]
    ) -> Steps[Offsets]:
        """Return `offsets` with `offset_of(log)` of each open log added, unless that is None."""
        pace = Pace(_LOGS_A_SLICE)
        for partition in list(self.logs):
            if pace.is_full():
                yield None
            log = self.logs.get(partition)
            if log is not None and (offset := offset_of(log)) is not None:
                offsets[partition] = offset
        return offsets


def _start_within_segment(log: UnifiedLog) -> int | None:
    """Return the log start offset if it is above the first segment's base offset, else None."""
    start = log.log_start_offset
    return start if start > log.segments.first.base_offset else None
