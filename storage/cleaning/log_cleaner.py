"""Compaction of all compacted logs of a node: when, which, and taking the result in.

Every `log.cleaner.backoff.ms` it looks for the filthiest log and hands it to the runner, which
reads and writes elsewhere (`storage.cleaning.cleaner`); then it takes the new segments in, one
after the other, the folder synced after each. A log that was cut, deleted or is not compacted any
more meanwhile is left as it is: nothing of a round counts before its segments have their names.

Owns: what is under way, and which logs cannot be cleaned. Those are told of once and left alone
until the next start. Never: reads a batch, or does anything that blocks.

A full disk, and a runner that died, hold a log back for some time.

Kafka's classes: `LogCleaner`, `LogCleanerManager` 4.3. One difference: a disk that is
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

_HELD_BACK_TURNS = 10
_OF_THE_MOMENT = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
_DEATHS_MAX = 3

_LOGS_A_SLICE = 500
_LOOK_COSTS = 10
"""A look at a compacted log takes as long as passing by so many others."""


class Logs(Protocol):
    """What there is to clean (`storage.directories.log_manager`)."""

    @property
    def logs(self) -> list[UnifiedLog]:
        """All logs of the online directories."""

    @property
    def online_dirs(self) -> list[str]:
        """Directories that have not failed."""


@dataclass(slots=True)
class _Round:
    """One log while it is cleaned."""

    log: UnifiedLog
    directory: str
    first_dirty_offset: int
    truncations: int
    given_up: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the log was deleted, or lies elsewhere now."""
        return self.log.offline or self.log.directory != self.directory


class LogCleaner:
    """See the module. All calls come from one thread."""

    def __init__(
        self,
        environment: LogEnvironment,
        logs: Logs,
        settings: CleanerSettings,
        runner: CleanerRunner,
        swapped: Callable[[], None] = lambda: None,
        sliced: SlicedWork | None = None,
    ) -> None:
        """`swapped()` runs after each round: recovery points are written then. Without `sliced` all
        logs are looked at in one go."""
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
        """Why a log, by directory and partition, is not cleaned any more."""

    # ---- life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, once all logs are open. Does nothing where `log.cleaner.enable` is false."""
        if not self._settings.log_cleaner_enable or not self._stopped:
            return
        self._stopped = False
        self._manager.open(self._logs.online_dirs, self._logs.logs)
        self._later()

    def stop(self) -> None:
        """End: what is under way is given up."""
        self._stopped = True
        for one in self._running.values():
            one.given_up = True
        self._runner.stop()

    def update_settings(self, settings: CleanerSettings) -> None:
        """Other values from now on; `log.cleaner.enable` is read at the start. Rounds under way are
        given up, as Kafka ends its threads then, so that a lower rate is kept at once."""
        if settings == self._settings:
            return
        self._settings = settings
        for partition in self._running:
            self.abort(partition)
        if self._timer is not None:
            self._timer.cancel()
            self._later()

    # ---- what others ask for ---------------------------------------------------------------------

    def first_dirty_offset(self, log: UnifiedLog) -> int:
        """Up to here the log is clean."""
        return self._manager.first_dirty_offset(log)

    def abort(self, partition: TopicPartition) -> None:
        """Give up a round that is under way; the next may begin after it."""
        one = self._running.get(partition)
        if one is not None and not one.given_up:
            one.given_up = True
            self._runner.cancel(one.directory)

    # ---- which log, when -------------------------------------------------------------------------

    def _later(self) -> None:
        wait_ms = self._settings.log_cleaner_backoff_ms
        self._timer = self._environment.scheduler.call_later(wait_ms, self._turn)

    def _turn(self) -> None:
        if not self._stopped:
            self.look()
            self._later()

    def look(self) -> None:
        """Begin as many rounds as there are threads for, the filthiest logs first: of many logs in
        slices, and behind a look that is under way."""
        self._work.take(self._look(), raise_error)

    def _look(self) -> Steps[None]:
        self._looking = False
        logs = self._logs.logs
        yield from self._manager.settle(logs)
        yield from self._forget_gone(logs)
        if self._has_room():
            due = yield from self._due(logs)
            due.sort(key=lambda one: -one.ratio)
            for found in due:
                if not self._has_room():
                    return
                self._begin_if_still_due(found.log)

    def _has_room(self) -> bool:
        return not self._stopped and len(self._running) < self._settings.log_cleaner_threads

    def _begin_if_still_due(self, log: UnifiedLog) -> None:
        """It may have been cut, or deleted, since it was looked at."""
        self._manager.settle_one(log)
        now_ms = self._environment.scheduler.wall_ms()
        found = self._look_at(log, now_ms)
        if found is not None and found.is_due:
            self._begin(found)

    def _look_soon(self) -> None:
        if not self._looking and not self._stopped:
            self._looking = True
            self._environment.scheduler.call_soon(self.look)

    def _forget_gone(self, logs: Iterable[UnifiedLog]) -> Steps[None]:
        if self.uncleanable or self._held_until:
            here: dict[TopicPartition, str] = {}
            pace = Pace(_LOGS_A_SLICE)
            for log in logs:
                if pace.is_full():
                    yield None
                here[log.partition] = log.log_dir
            for path, partition in list(self.uncleanable):
                if here.get(partition) != path:
                    del self.uncleanable[(path, partition)]
            for partition in [one for one in self._held_until if one not in here]:
                del self._held_until[partition]
        for partition, one in list(self._running.items()):
            if one.log.offline:
                self.abort(partition)

    def _due(self, logs: Iterable[UnifiedLog]) -> Steps[list[LogToClean]]:
        """All that there is enough to do in."""
        now_ms = self._environment.scheduler.wall_ms()
        due = []
        pace = Pace(_LOGS_A_SLICE)
        for log in logs:
            compact = log.config.compact
            if pace.is_full(_LOOK_COSTS if compact else 1):
                yield None
            if compact:
                found = self._look_at(log, now_ms)
                if found is not None and found.is_due:
                    due.append(found)
        return due

    def _look_at(self, log: UnifiedLog, now_ms: int) -> LogToClean | None:
        """What there is to clean, where it may be cleaned now."""
        if not log.config.compact or not self._may_begin(log):
            return None
        if log.recovery_point < log.segments.active.base_offset:
            log.flush()  # after an unclean start: what is not fsynced is not cleaned
        try:
            return self._manager.look_at(log, now_ms)
        except OSError as error:
            self._environment.failures.fail(log.log_dir, f"cleaning {log.partition}", error)
            return None

    def _may_begin(self, log: UnifiedLog) -> bool:
        partition = log.partition
        if log.offline or partition in self._running:
            return False
        if (log.log_dir, partition) in self.uncleanable:
            return False
        return self._held_until.get(partition, 0.0) <= self._environment.scheduler.monotonic_ms()

    # ---- one round -------------------------------------------------------------------------------

    def _begin(self, found: LogToClean) -> None:
        log = found.log
        one = _Round(log, log.directory, found.first_dirty_offset, log.flusher.truncations)
        self._running[log.partition] = one
        log.set_being_cleaned(True)
        _log.debug("cleaning %s from offset %d", log.partition, found.first_dirty_offset)
        self._runner.submit(
            self._job(found), lambda result, error: self._written(one, result, error)
        )

    def _job(self, found: LogToClean) -> CleanJob:
        log, settings, config = found.log, self._settings, found.log.config
        threads = max(settings.log_cleaner_threads, 1)
        end = found.first_uncleanable_offset
        segments = [(one.base_offset, one.size) for one in log.segments]
        return CleanJob(
            directory=log.directory,
            segments=tuple(one for one in segments if one[0] < end),
            later_segments=tuple(base for base, _ in segments if base >= end),
            first_dirty_offset=found.first_dirty_offset,
            first_uncleanable_offset=end,
            now_ms=self._environment.scheduler.wall_ms(),
            delete_retention_ms=config.delete_retention_ms,
            segment_bytes=config.segment_size_bytes,
            index_bytes_max=config.segment_index_bytes,
            index_interval_bytes=config.index_interval_bytes,
            dedupe_bytes=settings.log_cleaner_dedupe_buffer_size // threads,
            load_factor=settings.log_cleaner_io_buffer_load_factor,
            io_buffer_bytes=settings.log_cleaner_io_buffer_size // threads,
            io_bytes_per_second=settings.log_cleaner_io_max_bytes_per_second / threads,
            producers=tuple(
                (one.producer_id, one.last_offset, one.producer_epoch) for one in log.producers
            ),
        )

    def _written(self, one: _Round, result: CleanResult | None, error: Exception | None) -> None:
        """The runner is done; the `.cleaned` files lie there, or some of them."""
        if self._stopped:
            return
        if error is not None:
            self._failed(one, error)
            self._give_up(one)
            return
        assert result is not None
        self._deaths.pop(one.log.partition, None)
        names = cleaned_names(result.groups)
        self._tidy(one, names, lambda: self._take_in(one, result, 0))

    def _failed(self, one: _Round, error: Exception) -> None:
        log = one.log
        if not self._still_good(one):  # cut, deleted, given up: no wonder
            return
        if isinstance(error, OSError):
            if error.errno in _OF_THE_MOMENT:
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
        self.uncleanable[(log.log_dir, log.partition)] = reason
        _log.warning("%s is not cleaned any more until the next start: %s", log.partition, reason)

    def _hold_back(self, log: UnifiedLog) -> None:
        wait_ms = _HELD_BACK_TURNS * self._settings.log_cleaner_backoff_ms
        now_ms = self._environment.scheduler.monotonic_ms()
        self._held_until[log.partition] = now_ms + wait_ms

    def _still_good(self, one: _Round) -> bool:
        log = one.log
        return not (
            self._stopped
            or one.given_up
            or one.is_gone
            or log.flusher.truncations != one.truncations
            or not log.config.compact
        )

    def _take_in(self, one: _Round, result: CleanResult, number: int) -> None:
        """Take the groups in from `number` on, one a turn; what comes after the last is the end."""
        if not self._still_good(one):
            self._give_up(one)
            return
        if number == len(result.groups):
            self._finish(one, result)
            return
        try:
            one.log.replace_segments(result.groups[number])
        except LogDirFailure:
            self._give_up(one)
            return
        filesystem, directory = self._environment.filesystem, one.directory
        self._elsewhere(
            one,
            lambda: filesystem.sync_dir(directory),
            lambda: self._take_in(one, result, number + 1),
        )

    def _elsewhere(self, one: _Round, job: Callable[[], None], then: Callable[[], None]) -> None:
        def done(_: object, error: Exception | None) -> None:
            if isinstance(error, OSError):
                if not one.is_gone:
                    failures = self._environment.failures
                    failures.fail(one.log.log_dir, f"cleaning {one.log.partition}", error)
                self._end(one)
            else:
                then()

        self._environment.blocking.submit(job, done)

    def _tidy(self, one: _Round, keep: tuple[str, ...], then: Callable[[], None]) -> None:
        """Remove `.cleaned` files of this log that are not to be taken in, then go on."""
        filesystem, directory = self._environment.filesystem, one.directory
        self._elsewhere(one, lambda: remove_cleaned(filesystem, directory, keep), then)

    def _give_up(self, one: _Round) -> None:
        if self._stopped or one.is_gone:
            self._end(one)
        else:
            self._tidy(one, (), lambda: self._end(one))

    def _finish(self, one: _Round, result: CleanResult) -> None:
        log = one.log
        if self._stopped:
            return
        self._manager.done(log, result.end_offset)
        self._swapped()
        _log.info(
            "cleaned %s from offset %d to %d: %d of %d records stay, %d bytes",
            log.partition,
            one.first_dirty_offset,
            result.end_offset,
            result.records_kept,
            result.records_read,
            result.bytes_written,
        )
        if result.keyless_dropped:
            _log.warning(
                "%s: dropped %d records without a key", log.partition, result.keyless_dropped
            )
        self._end(one)
        self._look_soon()

    def _end(self, one: _Round) -> None:
        one.log.set_being_cleaned(False)
        self._running.pop(one.log.partition, None)
