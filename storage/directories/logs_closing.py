"""A clean stop: what it writes of each log is made durable, then the logs are closed.

A log that was appended to needs four or five fsyncs at its end. One after the other, those of a
thousand logs take as long as the disk takes for each; a disk, and its file system's journal, serve
several at once for little more. So `LogsClosing` flushes several at a time, while the loop runs;
`close_directory` comes after, looks at each log again, and leaves the clean-shutdown marker.

Owns: which logs are still to be flushed, and how many are at a time. Never: knows which logs there
are (`storage.directories.log_manager`).

Follows Kafka's `LogManager.shutdown`, which has `num.recovery.threads.per.data.dir` threads for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from protocol.record_batch import CorruptBatch
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_dirs import leave_clean_marker
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog


class LogsClosing:
    """The logs of several directories, each with its own limit."""

    def __init__(
        self,
        logs_by_dir: Iterable[Iterable[UnifiedLog]],
        at_once: int,
        done: Callable[[], None],
    ) -> None:
        """`at_once` logs of each directory are flushed at a time."""
        self._waiting = [list(logs) for logs in logs_by_dir]
        self._at_once = at_once
        self._under_way = 0
        self._done: Callable[[], None] | None = done

    def begin(self) -> None:
        """Flush them; `done` when none is left, at once where none needs it. A directory that fails
        is offline then."""
        for waiting in self._waiting:
            for _ in range(self._at_once):
                self._next(waiting)
        self._maybe_done()

    def _next(self, waiting: list[UnifiedLog]) -> None:
        while waiting:
            log = waiting.pop()
            self._under_way += 1
            try:
                done = partial(self._flushed, waiting)
                if not log.offline and log.flusher.begin_close(done):
                    return
            except (LogDirFailure, CorruptBatch):
                pass  # `close_directory` meets it again, and leaves no marker
            self._under_way -= 1

    def _flushed(self, waiting: list[UnifiedLog], _error: Exception | None) -> None:
        self._under_way -= 1
        self._next(waiting)
        self._maybe_done()

    def _maybe_done(self) -> None:
        if self._under_way or any(self._waiting):
            return
        done, self._done = self._done, None
        if done is not None:
            done()


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
