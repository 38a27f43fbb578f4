"""The periodic work on all logs of a node: checkpoints, retention, flushes, expiry of producers.

Owns the timers, and the single write of all checkpoints that several changes share. Never: opens,
creates or deletes a log (`storage.directories.log_manager`), or decides which segments have expired
(`storage.log.retention`).

Work on all logs is done in slices, one piece of work after the other. So a checkpoint that was
begun before a truncation is written before the one with the truncated offsets.

Kafka's class: the scheduled tasks of `LogManager`, whose first round comes after
`log.initial.task.delay.ms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from ground.ordered_work import OrderedWork, raise_error
from ground.sliced_work import SlicedWork, Steps, each
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_manager_settings import LogManagerSettings
from storage.directories.offset_checkpoints import OffsetCheckpoint, Offsets
from storage.log.checkpoints import encode_offsets_in_slices
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.refusal import LONG_MAX
from storage.log.retention import Breaches, delete_old_segments
from storage.log.unified_log import UnifiedLog

_LOGS_A_GO = 50
"""The number of logs after which the loop answers requests before the work continues."""

Retained = Callable[[UnifiedLog, Breaches], None]

_Checkpoint = Callable[[LogDirState], tuple[OffsetCheckpoint, Steps[Offsets]]]


class LogUpkeep:
    """The periodic work of one node."""

    def __init__(
        self,
        environment: LogEnvironment,
        settings: LogManagerSettings,
        online: Callable[[], Iterable[LogDirState]],
        sliced: SlicedWork | None = None,
    ) -> None:
        """Prepare the periodic work; `start` begins it.

        `online()` returns the directories that have not failed. Without `sliced`, all work but
        retention is done in one turn of the loop.
        """
        self._environment = environment
        self._settings = settings
        self._online = online
        self._work = OrderedWork(sliced)
        self._stopped = False
        self._checkpoint_due = False
        self._deletions = 0
        self._has_deleted_logs = False
        self._retained: list[Retained] = []

    def start(self) -> None:
        """Schedule the checkpoints, retention, expiry of producers and flushes, each at its
        interval."""
        settings, first_ms = self._settings, self._settings.log_initial_task_delay_ms
        self._every(
            settings.log_flush_offset_checkpoint_interval_ms,
            self.checkpoint_recovery_points,
            first_ms,
        )
        self._every(
            settings.log_flush_start_offset_checkpoint_interval_ms,
            self.checkpoint_log_starts,
            first_ms,
        )
        self._every(settings.log_retention_check_interval_ms, self.retain, first_ms)
        self._every(
            settings.replica_high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks
        )
        self._every(
            settings.producer_id_expiration_check_interval_ms, self._remove_expired_producers
        )
        if settings.log_flush_scheduler_interval_ms < LONG_MAX:
            self._every(settings.log_flush_scheduler_interval_ms, self._flush_due, first_ms)

    def stop(self) -> None:
        """Stop all periodic work."""
        self._stopped = True

    def _every(
        self, interval_ms: int, work: Callable[[], None], first_ms: int | None = None
    ) -> None:
        """Call `work` every `interval_ms`, first after `first_ms` if that is earlier, until the
        upkeep is stopped."""

        def run() -> None:
            """Call `work`, and schedule the next call, unless the upkeep is stopped."""
            if not self._stopped:
                work()
                self._environment.scheduler.call_later(interval_ms, run)

        first_ms = interval_ms if first_ms is None else min(first_ms, interval_ms)
        self._environment.scheduler.call_later(first_ms, run)

    def _logs(self) -> list[UnifiedLog]:
        """Return the logs of all online directories."""
        return [log for log_dir in self._online() for log in log_dir.logs.values()]

    # ---- checkpoints ---------------------------------------------------------------------------

    def checkpoint_recovery_points(self) -> None:
        """Write the offset up to which each log is fsynced to its directory's checkpoint, in
        slices."""
        self._run(self._write_checkpoints(_recovery_points))

    def checkpoint_log_starts(self) -> None:
        """Write the log starts that are above the first segment's base offset to their directory's
        checkpoint, in slices."""
        self._run(self._write_checkpoints(_log_starts))

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks to their directory's checkpoint, in slices."""
        self._run(self._write_checkpoints(_high_watermarks))

    def _write_checkpoints(self, checkpoint_of: _Checkpoint) -> Steps[None]:
        """Write a checkpoint of each online directory. A directory that fails meanwhile is left
        out; after a stop none is written."""
        for log_dir in self._online():
            checkpoint, offsets = checkpoint_of(log_dir)
            data = yield from encode_offsets_in_slices((yield from offsets))
            if self._stopped:
                return  # the stop has written later offsets
            if not self._environment.failures.is_offline(log_dir.path):
                checkpoint.write_encoded(data)

    def _run(self, steps: Steps[None]) -> None:
        """Do the steps in slices, after those of earlier calls. The error of a slice that is done
        at once is raised here; the event loop raises that of a later slice."""
        self._work.take(steps, raise_error)

    def checkpoint_soon(self) -> None:
        """Write all checkpoints after the current turn of the loop.

        One write serves all logs of a deleted topic, or all that were truncated. Without it, old
        offsets of a deleted log would apply to a new log of the same name: its high watermark could
        be above records that are not committed.
        """
        if not self._checkpoint_due:
            self._checkpoint_due = True
            self._environment.scheduler.call_soon(self._checkpoint_now)

    @contextmanager
    def deletions(self) -> Iterator[None]:
        """Return a context in which many logs are deleted, maybe in many turns of the loop.

        At the end of the last such context all checkpoints are written once, if a log was deleted.
        No log with the name of a deleted one may be created before that.
        """
        self._deletions += 1
        try:
            yield
        finally:
            self._deletions -= 1
            if self._has_deleted_logs and not self._deletions:
                self._has_deleted_logs = False
                self.checkpoint_soon()

    def log_deleted(self) -> None:
        """Write all checkpoints soon, or at the end of the `deletions` under way.

        A caller that truncated logs calls `checkpoint_soon` instead: records that are appended
        next must not count as fsynced.
        """
        if self._deletions:
            self._has_deleted_logs = True
        else:
            self.checkpoint_soon()

    def _checkpoint_now(self) -> None:
        """Write all checkpoints in slices, after the work of earlier calls."""
        self._run(self._write_all())

    def _write_all(self) -> Steps[None]:
        """Write all three checkpoints of each online directory."""
        self._checkpoint_due = False
        for checkpoint_of in (_recovery_points, _log_starts, _high_watermarks):
            if not self._stopped:
                yield from self._write_checkpoints(checkpoint_of)

    # ---- retention -----------------------------------------------------------------------------

    def on_retained(self, callback: Retained) -> None:
        """Call `callback(log, breaches)` for each log from which retention deleted segments."""
        self._retained.append(callback)

    def retain(self) -> None:
        """Delete the segments of all logs that exceed their retention, `_LOGS_A_GO` logs in a turn
        of the loop."""
        self._retain_some(iter(self._logs()))

    def _retain_some(self, logs: Iterator[UnifiedLog]) -> None:
        """Apply retention to the next logs of the iterator, and to the rest in later turns of the
        loop."""
        if self._stopped:
            return
        batch = list(islice(logs, _LOGS_A_GO))
        now_ms = self._environment.scheduler.wall_ms()
        for log in batch:
            if not log.offline:
                self._retain_one(log, now_ms)
        if len(batch) == _LOGS_A_GO:
            self._environment.scheduler.call_soon(lambda: self._retain_some(logs))

    def _retain_one(self, log: UnifiedLog, now_ms: int) -> None:
        """Free unused blocks of the log, and delete its expired segments unless the log is being
        cleaned. The callbacks get what was deleted. Ignore a failing directory, which is already
        reported."""
        try:
            log.give_back_unused_room()
            if log.being_cleaned:
                return
            breaches = delete_old_segments(log, now_ms)
        except LogDirFailure:
            return  # the directory is offline with all its logs, and the listeners know
        if breaches.total:
            for callback in self._retained:
                callback(log, breaches)

    # ---- the rest ------------------------------------------------------------------------------

    def _flush_due(self) -> None:
        """Flush, in slices, each log whose last flush was `flush.ms` ago."""
        self._run(each(self._flush_one, self._logs(), _LOGS_A_GO))

    def _flush_one(self, log: UnifiedLog) -> None:
        """Flush the log if its last flush was `flush.ms` ago and it has unflushed records. Do
        nothing after a stop, or for a log that is offline."""
        if not self._stopped and not log.offline:
            log.flusher.flush_if_due(log.config.flush_ms)

    def _remove_expired_producers(self) -> None:
        """Remove expired producers from the state of each online log, in slices."""
        now_ms = self._environment.scheduler.wall_ms()

        def expire(log: UnifiedLog) -> None:
            """Remove the log's expired producers, unless the upkeep is stopped or the log
            offline."""
            if not self._stopped and not log.offline:
                log.producer_state.remove_expired(now_ms)

        self._run(each(expire, self._logs(), _LOGS_A_GO))


def _recovery_points(log_dir: LogDirState) -> tuple[OffsetCheckpoint, Steps[Offsets]]:
    """Return a directory's checkpoint of recovery points, and the steps that collect the offsets
    for it."""
    return log_dir.recovery_points, log_dir.recovery_steps()


def _log_starts(log_dir: LogDirState) -> tuple[OffsetCheckpoint, Steps[Offsets]]:
    """Return a directory's checkpoint of log starts, and the steps that collect the offsets for
    it."""
    return log_dir.log_starts, log_dir.start_steps()


def _high_watermarks(log_dir: LogDirState) -> tuple[OffsetCheckpoint, Steps[Offsets]]:
    """Return a directory's checkpoint of high watermarks, and the steps that collect the offsets
    for it."""
    return log_dir.high_watermarks, log_dir.watermark_steps()
