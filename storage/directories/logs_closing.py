"""A clean stop: what it writes of each log is made durable, then the logs are closed.

A log that was appended to needs four or five fsyncs at its end: ten thousand of them took 30 s. So
`LogsClosing` first writes the last files of all logs, in slices of the loop, and then has each
volume brought to stable storage by one call (`Lock.sync_volume`). Where few logs were written, or
the system has no such call, or it tells of a write that failed, each log is fsynced by itself,
several at a time: a disk, and its file system's journal, serve several for little more than one.
`close_directory` comes after, looks at each log again, and leaves the clean-shutdown marker.

Owns: which logs are still to be flushed, and how many are at a time. Never: knows which logs there
are (`storage.directories.log_manager`).

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
"""The number of logs from which one call for the volume is made. It also writes the dirty pages of
other programs, which may take longer than a few fsyncs."""

_LOGS_A_SLICE = 4  # three small files each
_ENDED_A_SLICE = 256


@dataclass(frozen=True, slots=True)
class _Flush:
    """The job that makes one log durable, and the callback for its end."""

    job: Callable[[], None]
    ended: Callable[[object, Exception | None], None]


class LogsClosing:
    """The logs of several directories, each with its own limit."""

    def __init__(
        self,
        work: SlicedWork,
        blocking: Blocking,
        directories: Sequence[tuple[Lock | None, Sequence[UnifiedLog]]],
        at_once: int,
        done: Callable[[], None],
    ) -> None:
        """Each directory has its lock and its logs; `at_once` of them are fsynced at a time where
        each is by itself."""
        self._work = work
        self._blocking = blocking
        self._directories = directories
        self._at_once = at_once
        self._open = len(directories)
        self._done = done

    def begin(self) -> None:
        """Flush them; then `done`, at once where none needs it. A directory that fails is offline
        then."""
        if not self._directories:
            self._done()
        for lock, logs in self._directories:
            begun = self._work.begin(self._write(lock, logs), self._written)
            if begun:
                self._written(begun[0], None)

    def _write(self, lock: Lock | None, logs: Iterable[UnifiedLog]) -> Steps[list[_Flush]]:
        """Write the last files of a directory's logs, and sync its volume if they are many;
        return what is left to be fsynced log by log."""
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
                synced = False  # some write failed: the fsync of a log tells whether it was its own
            if synced:
                yield from each(lambda flush: flush.ended(None, None), flushes, _ENDED_A_SLICE)
                flushes.clear()
        return flushes

    def _write_one(self, log: UnifiedLog, flushes: list[_Flush]) -> None:
        def keep(
            job: Callable[[], None], ended: Callable[[object, Exception | None], None]
        ) -> None:
            flushes.append(_Flush(job, ended))

        try:
            if not log.offline:
                log.flusher.begin_close(submit=keep)
        except (LogDirFailure, CorruptBatch):
            pass  # `close_directory` meets it again, and leaves no marker

    def _written(self, flushes: list[_Flush] | None, error: Exception | None) -> None:
        if error is not None:
            raise error  # none of a disk: each of those is taken where it comes
        assert flushes is not None
        _OneByOne(self._blocking, flushes, self._ended).begin(self._at_once)

    def _ended(self) -> None:
        self._open -= 1
        if not self._open:
            self._done()


class _OneByOne:
    """The flushes of one directory, several at a time."""

    def __init__(self, blocking: Blocking, flushes: list[_Flush], done: Callable[[], None]) -> None:
        self._blocking = blocking
        self._waiting = flushes
        self._under_way = 0
        self._done = done

    def begin(self, at_once: int) -> None:
        """Run them; then `done`, at once where there is none."""
        if not self._waiting:
            self._done()
            return
        for _ in range(at_once):
            if self._waiting:
                self._next()

    def _next(self) -> None:
        flush = self._waiting.pop()
        self._under_way += 1

        def ended(result: object, error: Exception | None) -> None:
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
    """Close a directory's logs, and the copies in it that are under way; write its checkpoints,
    and leave the marker. False, and no marker, where one step failed."""
    try:
        for log in (*log_dir.logs.values(), *moves):
            log.close()
        log_dir.recovery_points.write_now(log_dir.recovery_offsets())
        log_dir.log_starts.write_now(log_dir.start_offsets())
        log_dir.high_watermarks.write_now(log_dir.watermarks())
        if log_dir.unopened and not log_dir.was_clean:
            return False  # what could not be opened was not recovered either
        leave_clean_marker(environment.filesystem, log_dir.path, broker_epoch)
    except OSError as error:
        environment.failures.fail(log_dir.path, "closing logs", error)
        return False
    except (LogDirFailure, CorruptBatch):
        return False
    return True
