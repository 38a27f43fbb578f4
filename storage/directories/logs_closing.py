"""The clean stop of log directories: each log's last files are made durable, then logs are closed.

A log that was appended to needs four or five fsyncs at its end; ten thousand logs took 30 s. So
`LogsClosing` first writes the last files of all logs, in slices of the loop, and then makes each
volume durable by one call (`Lock.sync_volume`). Each log is fsynced by itself if few logs were
written, the system has no such call, or the call reports a failed write. Several logs are fsynced
at a time, because a disk and its journal serve several in little more time than one. After that,
`close_directory` closes each log and leaves the clean-shutdown marker.

Owns: the logs that are still to be flushed, and how many are flushed at a time. Never: lists the
logs (`storage.directories.log_manager`).

Follows Kafka's `LogManager.shutdown`, which has `num.recovery.threads.per.data.dir` threads for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ground.filesystem import Lock
from ground.ports import Blocking
from ground.sliced_work import Job, Pace, SlicedWork, Steps, each
from protocol.record_batch import CorruptBatch
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_dirs import leave_clean_marker
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog

VOLUME_FROM = 64
"""The number of logs from which on the volume is synced by one call. That call also writes the
dirty pages of other programs, which may take longer than a few fsyncs."""

_LOGS_A_SLICE = 4  # three small files each
_ENDED_A_SLICE = 256


@dataclass(frozen=True, slots=True)
class _Flush:
    """The job that makes one log durable, and the callback for its end."""

    job: Callable[[], None]
    ended: Callable[[object, Exception | None], None]


class LogsClosing:
    """The flush of several directories' logs, each directory with its own limit."""

    def __init__(
        self,
        work: SlicedWork,
        blocking: Blocking,
        directories: Sequence[tuple[Lock | None, Sequence[UnifiedLog]]],
        at_once: int,
        done: Callable[[], None],
    ) -> None:
        """Flush the logs of `directories`, pairs of a directory's lock and its logs.

        At most `at_once` logs of a directory are fsynced at a time.
        """
        self._work = work
        self._blocking = blocking
        self._directories = directories
        self._at_once = at_once
        self._open = len(directories)
        self._done = done

    def begin(self) -> None:
        """Flush the logs, then call `done`, at once if there is no directory.

        A directory that fails is offline then.
        """
        if not self._directories:
            self._done()
        for lock, logs in self._directories:
            begun = self._work.begin(self._write(lock, logs), self._written)
            if begun:
                self._written(begun[0], None)

    def _write(self, lock: Lock | None, logs: Iterable[UnifiedLog]) -> Steps[list[_Flush]]:
        """Write the last files of a directory's logs, and sync its volume if they are many.

        Return the flushes that are still to be done, log by log.
        """
        flushes: list[_Flush] = []
        pace = Pace(_LOGS_A_SLICE)
        for log in logs:
            if pace.is_full():
                yield None
            self._write_one(log, flushes)
        if lock is not None and len(flushes) >= VOLUME_FROM:
            try:
                synced = yield Job(lock.sync_volume)
            except OSError:
                synced = False  # some write failed: the fsync of each log shows which
            if synced:
                yield from each(lambda flush: flush.ended(None, None), flushes, _ENDED_A_SLICE)
                flushes.clear()
        return flushes

    def _write_one(self, log: UnifiedLog, flushes: list[_Flush]) -> None:
        """Begin to close the log, and add the flushes that this takes to `flushes`. A log that is
        offline or fails adds none."""

        def keep(
            job: Callable[[], None], ended: Callable[[object, Exception | None], None]
        ) -> None:
            """Add the job to `flushes`, in place of running it."""
            flushes.append(_Flush(job, ended))

        try:
            if not log.offline:
                log.flusher.begin_close(submit=keep)
        except (LogDirFailure, CorruptBatch):
            pass  # `close_directory` gets the same error, and leaves no marker

    def _written(self, flushes: list[_Flush] | None, error: Exception | None) -> None:
        """Run a directory's flushes, several at a time. Raises `error`, if there is one."""
        if error is not None:
            raise error  # our own bug: errors of a disk are handled in `_write`
        assert flushes is not None
        _FlushQueue(self._blocking, flushes, self._ended).begin(self._at_once)

    def _ended(self) -> None:
        """Count a directory whose logs are flushed. After the last one call `done`."""
        self._open -= 1
        if not self._open:
            self._done()


class _FlushQueue:
    """The flushes of one directory's logs, several at a time."""

    def __init__(self, blocking: Blocking, flushes: list[_Flush], done: Callable[[], None]) -> None:
        self._blocking = blocking
        self._waiting = flushes
        self._under_way = 0
        self._done = done

    def begin(self, at_once: int) -> None:
        """Run `at_once` flushes at a time; then call `done`, at once if there is none."""
        if not self._waiting:
            self._done()
            return
        for _ in range(at_once):
            if self._waiting:
                self._next()

    def _next(self) -> None:
        """Submit the next flush. After the last one has ended, call `done`."""
        flush = self._waiting.pop()
        self._under_way += 1

        def ended(result: object, error: Exception | None) -> None:
            """Call the flush's callback, then submit the next flush. After the last one has ended,
            call `done`."""
            self._under_way -= 1
            flush.ended(result, error)
            if self._waiting:
                self._next()
            elif not self._under_way:
                self._done()

        self._blocking.submit(flush.job, ended)


def close_directory(
    environment: LogEnvironment,
    log_dir: LogDirState,
    moves: Iterable[UnifiedLog],
    broker_epoch: int,
) -> bool:
    """Close a directory's logs and the copies under way in it, and write its checkpoints.

    Return True, with the marker of a clean stop written, if each step succeeded; else False. A disk
    that fails takes the directory offline.
    """
    try:
        for log in (*log_dir.logs.values(), *moves):
            log.close()
        log_dir.recovery_points.write_now(log_dir.recovery_offsets())
        log_dir.log_starts.write_now(log_dir.start_offsets())
        log_dir.high_watermarks.write_now(log_dir.watermarks())
        if log_dir.unopened and not log_dir.was_clean:
            return False  # the unopened logs were not recovered after the last unclean stop
        leave_clean_marker(environment.filesystem, log_dir.path, broker_epoch)
    except OSError as error:
        environment.failures.fail(log_dir.path, "closing logs", error)
        return False
    except (LogDirFailure, CorruptBatch):
        return False
    return True
