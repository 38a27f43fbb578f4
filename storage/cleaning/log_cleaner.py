"""Compaction of a node's compacted logs: the choice of the next, and the use of the new segments.

Every `log.cleaner.backoff.ms` the cleaner looks for the dirtiest log and submits it to the runner,
which reads and writes off the loop (`storage.cleaning.cleaner`). Then the cleaner replaces the
log's segments by the new ones, one group after the other, and syncs the folder after each. If the
log was truncated or deleted meanwhile, or its topic is no longer compacted, the new segments are
dropped. They have no effect before they are renamed into place.

Owns: the rounds under way, and which logs cannot be cleaned. Such a log is logged once and left out
until the next start. Never: reads a batch, or blocks.

After a full disk, or a runner that died, a log is left out for some time.

Kafka's classes: `LogCleaner`, `LogCleanerManager`. One difference: a disk that is
full while a `.cleaned` file is written, or a runner that was killed, takes nothing offline.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from ground.ordered_work import OrderedWork, raise_error
from ground.ports import Timer
from ground.sliced_work import Pace, SlicedWork, Steps
from ground.topic_partition import TopicPartition
from storage.cleaning.cleaner_job import CleaningFailed, CleanJob, CleanResult
from storage.cleaning.cleaner_ports import CleanerDied, CleanerRunner, CleanerSettings
from storage.cleaning.log_cleaner_manager import LogCleanerManager, LogToClean
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.segment_replacement import cleaned_names, remove_cleaned
from storage.log.unified_log import UnifiedLog

_log = logging.getLogger(f"ottla.{__name__}")

_HELD_BACK_INTERVALS = 10
_TRANSIENT_ERRNOS = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
_DEATHS_MAX = 3

_LOGS_A_SLICE = 500
_LOOK_COST = 10
"""The time of a look at a compacted log, in units of the time to skip a log that is not."""


class Logs(Protocol):
    """The logs that may be cleaned (`storage.directories.log_manager`)."""

    @property
    def logs(self) -> list[UnifiedLog]:
        """All logs of the online directories."""

    @property
    def online_dirs(self) -> list[str]:
        """The paths of the directories that have not failed."""


@dataclass(slots=True)
class _Round:
    """A round of compaction of one log."""

    log: UnifiedLog
    directory: str
    first_dirty_offset: int
    truncations: int
    is_cancelled: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the log is offline, because it was deleted or its directory failed, or is in
        another folder now."""
        return self.log.offline or self.log.directory != self.directory


class LogCleaner:
    """The log cleaner of a node. All calls come from one thread."""

    def __init__(
        self,
        environment: LogEnvironment,
        logs: Logs,
        settings: CleanerSettings,
        runner: CleanerRunner,
        swapped: Callable[[], None] = lambda: None,
        sliced: SlicedWork | None = None,
    ) -> None:
        """Clean `logs` by `runner`, after `start`.

        `swapped()` is called after each finished round; it writes the recovery points. Without
        `sliced` one turn of the loop looks at all logs.
        """
        self._environment = environment
        self._logs = logs
        self._settings = settings
        self._runner = runner
        self._swapped = swapped
        self._work = OrderedWork(sliced)
        self._manager = LogCleanerManager(environment)
        self._running: dict[TopicPartition, _Round] = {}
        self._held_until: dict[TopicPartition, float] = {}
        self._deaths: dict[TopicPartition, int] = {}
        self._looking = False
        self._timer: Timer | None = None
        self._stopped = True
        self.uncleanable: dict[tuple[str, TopicPartition], str] = {}
        """The reason for which a log, by directory and partition, is not cleaned any more."""

    # ---- start and stop ------------------------------------------------------------------------

    def start(self) -> None:
        """Read the cleaner's checkpoints, and look for due logs every `log.cleaner.backoff.ms` from
        now on. The logs must be open. Do nothing if `log.cleaner.enable` is false."""
        if not self._settings.log_cleaner_enable or not self._stopped:
            return
        self._stopped = False
        self._manager.open(self._logs.online_dirs, self._logs.logs)
        self._schedule_turn()

    def stop(self) -> None:
        """Stop cleaning: cancel the rounds under way, and end the runner's jobs."""
        self._stopped = True
        for log_round in self._running.values():
            log_round.is_cancelled = True
        self._runner.stop()

    def update_settings(self, settings: CleanerSettings) -> None:
        """Use other settings from now on, except `log.cleaner.enable`, which only `start` reads.

        Rounds under way are cancelled, as Kafka stops its threads then, so that a lower rate
        applies at once.
        """
        if settings == self._settings:
            return
        self._settings = settings
        for partition in self._running:
            self.abort(partition)
        if self._timer is not None:
            self._timer.cancel()
            self._schedule_turn()

    # ---- for other modules -----------------------------------------------------------------------

    def first_dirty_offset(self, log: UnifiedLog) -> int:
        """Return the offset up to which, exclusively, the log is clean."""
        return self._manager.first_dirty_offset(log)

    def abort(self, partition: TopicPartition) -> None:
        """Cancel the partition's round, if one is under way. The next may begin after its end."""
        log_round = self._running.get(partition)
        if log_round is not None and not log_round.is_cancelled:
            log_round.is_cancelled = True
            self._runner.cancel(log_round.directory)

    # ---- which log, when -------------------------------------------------------------------------

    def _schedule_turn(self) -> None:
        """Call `_turn` after `log.cleaner.backoff.ms`."""
        wait_ms = self._settings.log_cleaner_backoff_ms
        self._timer = self._environment.scheduler.call_later(wait_ms, self._turn)

    def _turn(self) -> None:
        """Look for due logs, and schedule the next turn."""
        if not self._stopped:
            self.look()
            self._schedule_turn()

    def look(self) -> None:
        """Begin as many rounds as `log.cleaner.threads` allows, the dirtiest logs first.

        Many logs are looked at in slices. A look that is under way ends first.
        """
        self._work.take(self._look(), raise_error)

    def _look(self) -> Steps[None]:
        """Forget logs that are gone, then begin rounds of the dirtiest due logs while threads are
        free."""
        self._looking = False
        logs = self._logs.logs
        yield from self._manager.settle(logs)
        yield from self._forget_gone(logs)
        if self._has_room():
            due = yield from self._due(logs)
            due.sort(key=lambda candidate: -candidate.ratio)
            for candidate in due:
                if not self._has_room():
                    return
                self._begin_if_still_due(candidate.log)

    def _has_room(self) -> bool:
        """Return whether another round may begin: the cleaner runs, and a thread of
        `log.cleaner.threads` is free."""
        return not self._stopped and len(self._running) < self._settings.log_cleaner_threads

    def _begin_if_still_due(self, log: UnifiedLog) -> None:
        """Begin a round if the log is still due. It may have been truncated or deleted since."""
        self._manager.settle_one(log)
        now_ms = self._environment.scheduler.wall_ms()
        candidate = self._look_at(log, now_ms)
        if candidate is not None and candidate.is_due:
            self._begin(candidate)

    def _look_soon(self) -> None:
        """Look for due logs in a later turn of the loop, once for several calls."""
        if not self._looking and not self._stopped:
            self._looking = True
            self._environment.scheduler.call_soon(self.look)

    def _forget_gone(self, logs: Iterable[UnifiedLog]) -> Steps[None]:
        """Remove logs that are deleted or moved from the uncleanable and the held-back ones. Cancel
        the rounds of logs that are offline."""
        if self.uncleanable or self._held_until:
            log_dirs: dict[TopicPartition, str] = {}
            pace = Pace(_LOGS_A_SLICE)
            for log in logs:
                if pace.is_full():
                    yield None
                log_dirs[log.partition] = log.log_dir
            for path, partition in list(self.uncleanable):
                if log_dirs.get(partition) != path:
                    del self.uncleanable[(path, partition)]
            for partition in [held for held in self._held_until if held not in log_dirs]:
                del self._held_until[partition]
        for partition, log_round in list(self._running.items()):
            if log_round.log.offline:
                self.abort(partition)

    def _due(self, logs: Iterable[UnifiedLog]) -> Steps[list[LogToClean]]:
        """Return the logs that are dirty enough to be cleaned now."""
        now_ms = self._environment.scheduler.wall_ms()
        due = []
        pace = Pace(_LOGS_A_SLICE)
        for log in logs:
            compact = log.config.compact
            if pace.is_full(_LOOK_COST if compact else 1):
                yield None
            if compact:
                candidate = self._look_at(log, now_ms)
                if candidate is not None and candidate.is_due:
                    due.append(candidate)
        return due

    def _look_at(self, log: UnifiedLog, now_ms: int) -> LogToClean | None:
        """Return the cleanable sections of a log; None if no round may begin now. Flush a log whose
        closed segments are not all fsynced. After an OSError take the directory offline, and return
        None."""
        if not log.config.compact or not self._may_begin(log):
            return None
        if log.recovery_point < log.segments.active.base_offset:
            log.flush()  # after an unclean start: segments that are not fsynced are not cleaned
        try:
            return self._manager.look_at(log, now_ms)
        except OSError as error:
            self._environment.failures.fail(log.log_dir, f"cleaning {log.partition}", error)
            return None

    def _may_begin(self, log: UnifiedLog) -> bool:
        """Return False while the log is offline, being cleaned, uncleanable or held back after a
        failure."""
        partition = log.partition
        if log.offline or partition in self._running:
            return False
        if (log.log_dir, partition) in self.uncleanable:
            return False
        return self._held_until.get(partition, 0.0) <= self._environment.scheduler.monotonic_ms()

    # ---- one round -------------------------------------------------------------------------------

    def _begin(self, candidate: LogToClean) -> None:
        """Start the round of a log: mark the log as being cleaned, and submit its job to the
        runner."""
        log = candidate.log
        log_round = _Round(
            log, log.directory, candidate.first_dirty_offset, log.flusher.truncations
        )
        self._running[log.partition] = log_round
        log.set_being_cleaned(True)
        _log.debug("cleaning %s from offset %d", log.partition, candidate.first_dirty_offset)
        self._runner.submit(
            self._job(candidate),
            lambda result, error: self._round_ended(log_round, result, error),
        )

    def _job(self, candidate: LogToClean) -> CleanJob:
        """Return the job of a round, with its segments and an equal share of the memory and the I/O
        limit for each thread."""
        log, settings, config = candidate.log, self._settings, candidate.log.config
        threads = max(settings.log_cleaner_threads, 1)
        end = candidate.first_uncleanable_offset
        segments = [(segment.base_offset, segment.size) for segment in log.segments]
        return CleanJob(
            directory=log.directory,
            segments=tuple(segment for segment in segments if segment[0] < end),
            later_segments=tuple(base for base, _ in segments if base >= end),
            first_dirty_offset=candidate.first_dirty_offset,
            first_uncleanable_offset=end,
            now_ms=self._environment.scheduler.wall_ms(),
            delete_retention_ms=config.delete_retention_ms,
            record_bytes_max=config.max_decompressed_message_bytes,
            segment_bytes=config.segment_size_bytes,
            index_bytes_max=config.segment_index_bytes,
            index_interval_bytes=config.index_interval_bytes,
            dedupe_bytes=settings.log_cleaner_dedupe_buffer_size // threads,
            load_factor=settings.log_cleaner_io_buffer_load_factor,
            io_buffer_bytes=settings.log_cleaner_io_buffer_size // threads,
            io_bytes_per_second=settings.log_cleaner_io_max_bytes_per_second / threads,
            producers=tuple(
                (producer.producer_id, producer.last_offset, producer.producer_epoch)
                for producer in log.producers
            ),
        )

    def _round_ended(
        self, log_round: _Round, result: CleanResult | None, error: Exception | None
    ) -> None:
        """Remove `.cleaned` files that are not of the result, then replace the log's segments.
        After an error, handle it, and remove all `.cleaned` files. After a stop, do nothing."""
        if self._stopped:
            return
        if error is not None:
            self._handle_failure(log_round, error)
            self._discard(log_round)
            return
        assert result is not None
        self._deaths.pop(log_round.log.partition, None)
        names = cleaned_names(result.groups)
        self._remove_cleaned_files(
            log_round, names, lambda: self._replace_segments(log_round, result, 0)
        )

    def _handle_failure(self, log_round: _Round, error: Exception) -> None:
        """Log the error, and hold back the log, mark it uncleanable or take its directory offline,
        as the error requires. Ignore the error if the round is not wanted any more."""
        log = log_round.log
        if not self._is_still_wanted(log_round):  # truncated, deleted or cancelled: expected
            return
        if isinstance(error, OSError):
            if error.errno in _TRANSIENT_ERRNOS:
                _log.warning("%s is not cleaned for now: %s", log.partition, error)
                self._hold_back(log)
            else:
                self._environment.failures.fail(log.log_dir, f"cleaning {log.partition}", error)
        elif isinstance(error, CleanerDied):
            deaths = self._deaths[log.partition] = self._deaths.get(log.partition, 0) + 1
            _log.warning("the cleaner of %s ended without a result: %s", log.partition, error)
            if deaths >= _DEATHS_MAX:
                self._mark_uncleanable(log, f"its cleaner died {deaths} times: {error}")
            self._hold_back(log)
        elif isinstance(error, CleaningFailed):
            self._mark_uncleanable(log, str(error))
        else:
            _log.error("cleaning %s failed", log.partition, exc_info=error)
            self._mark_uncleanable(log, f"{type(error).__name__}: {error}")

    def _mark_uncleanable(self, log: UnifiedLog, reason: str) -> None:
        """Exclude the log from cleaning until the next start, and log the reason."""
        self.uncleanable[(log.log_dir, log.partition)] = reason
        _log.warning("%s is not cleaned any more until the next start: %s", log.partition, reason)

    def _hold_back(self, log: UnifiedLog) -> None:
        """Delay the next round of this log by ten backoff intervals."""
        wait_ms = _HELD_BACK_INTERVALS * self._settings.log_cleaner_backoff_ms
        now_ms = self._environment.scheduler.monotonic_ms()
        self._held_until[log.partition] = now_ms + wait_ms

    def _is_still_wanted(self, log_round: _Round) -> bool:
        """Return False if the result is of no use: the cleaner was stopped, the round cancelled, or
        the log moved or truncated, or the topic no longer compacted."""
        log = log_round.log
        return not (
            self._stopped
            or log_round.is_cancelled
            or log_round.is_gone
            or log.flusher.truncations != log_round.truncations
            or not log.config.compact
        )

    def _replace_segments(self, log_round: _Round, result: CleanResult, group_number: int) -> None:
        """Replace the log's segments by the groups from `group_number` on, a group in each turn.
        The folder is synced after each.

        After the last group, finish the round. If the result is of no use any more, or the disk
        fails, discard the rest.
        """
        if not self._is_still_wanted(log_round):
            self._discard(log_round)
            return
        if group_number == len(result.groups):
            self._finish(log_round, result)
            return
        try:
            log_round.log.replace_segments(result.groups[group_number])
        except LogDirFailure:
            self._discard(log_round)
            return
        filesystem, directory = self._environment.filesystem, log_round.directory
        self._run_blocking(
            log_round,
            lambda: filesystem.sync_dir(directory),
            lambda: self._replace_segments(log_round, result, group_number + 1),
        )

    def _run_blocking(
        self, log_round: _Round, job: Callable[[], None], then: Callable[[], None]
    ) -> None:
        """Run `job` in another thread, then call `then` on the loop. After an OSError take the
        directory offline, unless the log is gone, and end the round instead."""

        def done(_: object, error: Exception | None) -> None:
            """Call `then`. After an OSError end the round instead, and take the directory offline
            unless the log is gone."""
            if isinstance(error, OSError):
                if not log_round.is_gone:
                    failures = self._environment.failures
                    failures.fail(
                        log_round.log.log_dir, f"cleaning {log_round.log.partition}", error
                    )
                self._end(log_round)
            else:
                then()

        self._environment.blocking.submit(job, done)

    def _remove_cleaned_files(
        self, log_round: _Round, keep: tuple[str, ...], then: Callable[[], None]
    ) -> None:
        """Remove the log's `.cleaned` files except those in `keep`, off the loop, then call
        `then`."""
        filesystem, directory = self._environment.filesystem, log_round.directory
        self._run_blocking(log_round, lambda: remove_cleaned(filesystem, directory, keep), then)

    def _discard(self, log_round: _Round) -> None:
        """Remove the `.cleaned` files of the round, then end it without a result. After a stop, or
        for a log that is gone, leave the files."""
        if self._stopped or log_round.is_gone:
            self._end(log_round)
        else:
            self._remove_cleaned_files(log_round, (), lambda: self._end(log_round))

    def _finish(self, log_round: _Round, result: CleanResult) -> None:
        """Write the offset up to which the log is clean to the checkpoint, and call `swapped`. Log
        the counts at INFO, end the round, and look for the next one. After a stop, do nothing."""
        log = log_round.log
        if self._stopped:
            return
        self._manager.set_clean_offset(log, result.end_offset)
        self._swapped()
        _log.info(
            "cleaned %s from offset %d to %d: %d of %d records stay, %d bytes",
            log.partition,
            log_round.first_dirty_offset,
            result.end_offset,
            result.records_kept,
            result.records_read,
            result.bytes_written,
        )
        if result.keyless_dropped:
            _log.warning(
                "%s: dropped %d records without a key", log.partition, result.keyless_dropped
            )
        self._end(log_round)
        self._look_soon()

    def _end(self, log_round: _Round) -> None:
        """Mark the log as not being cleaned, and remove the round from those under way."""
        log_round.log.set_being_cleaned(False)
        self._running.pop(log_round.log.partition, None)
