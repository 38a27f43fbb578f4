"""One log directory while it is open: its lock, its logs, and the checkpoints that speak of them.

Owns: what the offset checkpoints of the directory say. Never: opens or closes a log
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
"""So many are asked for an offset in one slice."""


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

    # --- what the checkpoints say: of many logs in slices ---------------------------------------

    def recovery_offsets(self) -> Offsets:
        """Up to where each log is fsynced."""
        return in_one_go(self.recovery_steps())

    def recovery_steps(self) -> Steps[Offsets]:
        """The same in slices."""
        kept = {partition: one.recovery_point for partition, one in self.unopened.items()}
        return self._asked(kept, lambda log: log.recovery_point)

    def start_offsets(self) -> Offsets:
        """Only where the first segment does not say it."""
        return in_one_go(self.start_steps())

    def start_steps(self) -> Steps[Offsets]:
        """The same in slices."""
        kept = {name: one.log_start for name, one in self.unopened.items() if one.log_start}
        return self._asked(kept, _start_not_in_a_name)

    def watermarks(self) -> Offsets:
        """The high watermark of each log."""
        return in_one_go(self.watermark_steps())

    def watermark_steps(self) -> Steps[Offsets]:
        """The same in slices."""
        kept = {partition: one.high_watermark for partition, one in self.unopened.items()}
        return self._asked(kept, lambda log: log.high_watermark)

    def _asked(self, offsets: Offsets, ask: Callable[[UnifiedLog], int | None]) -> Steps[Offsets]:
        """With what each log says. One that goes before its turn is left out."""
        pace = Pace(_LOGS_A_SLICE)
        for partition in list(self.logs):
            if pace.is_full():
                yield None
            log = self.logs.get(partition)
            if log is not None and (offset := ask(log)) is not None:
                offsets[partition] = offset
        return offsets


def _start_not_in_a_name(log: UnifiedLog) -> int | None:
    start = log.log_start_offset
    return start if start > log.segments.first.base_offset else None
