"""One log directory while it is open: its lock, its logs, and the checkpoints that speak of them.

Owns: what the offset checkpoints of the directory say. Never: opens or closes a log
(`storage.directories.log_manager`).
"""

from __future__ import annotations

from storage.directories.offset_checkpoints import OffsetCheckpoint, Offsets
from storage.filesystem import Lock
from storage.log.checkpoints import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log.unopened_logs import KeptOffsets
from storage.topic_partition import TopicPartition


class LogDirState:
    """One directory: its lock, its checkpoints, its logs."""

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
            environment.failures.fail(path, "writing a checkpoint", error)

        def checkpoint(name: str) -> OffsetCheckpoint:
            filesystem, blocking = environment.filesystem, environment.blocking
            return OffsetCheckpoint(filesystem, blocking, f"{path}/{name}", failed)

        self.path = path
        self.lock: Lock | None = None
        self.recovery_points = checkpoint(RECOVERY_POINT_CHECKPOINT)
        self.log_starts = checkpoint(LOG_START_CHECKPOINT)
        self.high_watermarks = checkpoint(HIGH_WATERMARK_CHECKPOINT)
        self.logs: dict[TopicPartition, UnifiedLog] = {}
        self.was_clean = True
        """Whether the last stop left its marker."""
        self.unopened: dict[TopicPartition, KeptOffsets] = {}
        """Of logs that are not open the checkpoints go on to say what they said."""

    def locked(self, lock: Lock) -> None:
        """Nobody else opens it from now on."""
        self.lock = lock

    def looked(self, was_clean: bool) -> None:
        """Its marker was looked for."""
        self.was_clean = was_clean

    def recovery_offsets(self) -> Offsets:
        """Up to where each log is fsynced."""
        kept = {partition: one.recovery_point for partition, one in self.unopened.items()}
        return kept | {partition: log.recovery_point for partition, log in self.logs.items()}

    def start_offsets(self) -> Offsets:
        """Only where the first segment does not say it."""
        kept = {name: one.log_start for name, one in self.unopened.items() if one.log_start}
        return kept | {
            partition: log.log_start_offset
            for partition, log in self.logs.items()
            if log.log_start_offset > log.segments.first.base_offset
        }

    def watermarks(self) -> Offsets:
        """The high watermark of each log."""
        kept = {partition: one.high_watermark for partition, one in self.unopened.items()}
        return kept | {partition: log.high_watermark for partition, log in self.logs.items()}
