"""The flushes of a partition's log, and the offset up to which the log is fsynced.

Owns the recovery point, the flushes under way, and the truncations that matter to them; writes the
files of a clean stop. Never: decides the content of the log. Fsyncs go through `Blocking`, except
if the caller has to wait for them.

The flushing half of Kafka's `UnifiedLog`.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.log.flush_order import FlushOrder
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.local_log import LocalLog
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.producer_state import ProducerStateManager
from storage.log.refusal import LONG_MAX

Flushed = Callable[[Exception | None], None]
"""The callback of a flush, with its error or None."""
Submit = Callable[[Callable[[], None], Callable[[object, Exception | None], None]], None]
"""A function that runs a blocking job and calls back with its result and error, as
`Blocking.submit`."""


class Flusher:
    """The flushes of one log."""

    __slots__ = (
        "_end",
        "_environment",
        "_failed",
        "_flushed_at_ms",
        "_covered_to",
        "_leader_epochs",
        "_local",
        "_order",
        "_producers",
        "_truncated_to",
        "_unflushed_messages",
        "recovery_point",
        "truncations",
    )

    def __init__(
        self,
        environment: LogEnvironment,
        local: LocalLog,
        leader_epochs: LeaderEpochCache,
        producers: ProducerStateManager,
        end: Callable[[], int],
        failed: Callable[[str, OSError], LogDirFailure],
        recovery_point: int,
    ) -> None:
        """Flush a log that was opened, and that is on disk up to `recovery_point`.

        `end()` returns the log end offset; `failed(doing, error)` takes its directory offline.
        """
        self._environment = environment
        self._local = local
        self._leader_epochs = leader_epochs
        self._producers = producers
        self._end = end
        self._failed = failed
        self.recovery_point = recovery_point
        self.truncations = 0
        """A number that changes with each truncation of the log's end."""
        self._truncated_to: int | None = None
        self._flushed_at_ms = environment.scheduler.monotonic_ms()
        self._unflushed_messages = 0
        self._order = FlushOrder()
        self._covered_to = 0
        """The offset up to which flushes under way sync the log; 0 after a truncation."""

    def note_truncation(self, end: int) -> None:
        """Lower the recovery point to `end`, because the log is truncated there. Flushes under way
        no longer raise it."""
        self.truncations += 1
        self._covered_to = 0
        self.recovery_point = min(self.recovery_point, end)
        self._truncated_to = end if self._truncated_to is None else min(self._truncated_to, end)

    def take_truncation(self) -> int | None:
        """Return the lowest offset of a truncation since the last call, None without one.

        For the cleaner.
        """
        offset, self._truncated_to = self._truncated_to, None
        return offset

    def appended(self, messages: int, flush_messages: int) -> None:
        """Count appended records, and fsync after each `flush.messages` of them.

        Raises LogDirFailure.
        """
        self._unflushed_messages += messages
        if self._unflushed_messages >= flush_messages:
            self.flush_now()

    def flush_if_due(self, flush_ms: int) -> None:
        """Flush the log if the last flush was `flush.ms` ago (the default is never)."""
        waited_ms = self._environment.scheduler.monotonic_ms() - self._flushed_at_ms
        if waited_ms >= flush_ms and self.recovery_point < self._end():
            self.flush()

    def flush(
        self,
        done: Flushed | None = None,
        from_offset: int = LONG_MAX,
        submit: Submit | None = None,
    ) -> None:
        """Make the log durable up to its present end, off the loop; then call `done(error)`.

        The flush begins after the offsets that are flushed, or that flushes under way cover; at
        `from_offset` if that is earlier. `submit` runs the job in place of the blocking pool.

        A failed fsync takes the log directory offline: the bytes that it covered may be lost,
        even if a later fsync succeeds.
        """
        end, truncations, directory = self._end(), self.truncations, self._local.directory

        def counted(error: Exception | None) -> None:
            """Raise the recovery point to the flush's end, unless the log was truncated meanwhile.
            An OSError takes the directory offline, except for a missing file in a renamed folder.
            Then call `done(error)`."""
            if isinstance(error, FileNotFoundError) and self._local.directory != directory:
                pass  # the topic was deleted meanwhile: its folder was renamed, or removed
            elif isinstance(error, OSError):
                self._failed("fsync", error)
            elif error is None and truncations == self.truncations:
                self.recovery_point = max(self.recovery_point, end)
            if done is not None:
                done(error)

        self._unflushed_messages = 0
        self._flushed_at_ms = self._environment.scheduler.monotonic_ms()
        try:
            job = self._sync_job(from_offset, end)
        except OSError as error:
            counted(error)
            return
        ended = self._order.begin(counted)
        self._covered_to = end
        submit = submit or self._environment.blocking.submit
        submit(job, lambda _, error: ended(error))

    def flush_now(self) -> None:
        """Make the log durable before this returns, on this thread. Raises LogDirFailure."""
        if self.recovery_point < self._end():
            try:
                self._sync_now(LONG_MAX)
            except OSError as error:
                raise self._failed("fsync", error) from error

    def _sync_now(self, from_offset: int) -> None:
        """Flush from `from_offset` to the end on the caller's thread, and raise the recovery point.
        Raises OSError."""
        end = self._end()
        self._unflushed_messages = 0
        self._sync_job(from_offset, end, elsewhere=False)()
        self.recovery_point = end

    def begin_close(self, submit: Submit) -> None:
        """Write the files that `close` writes, and pass a job that makes them durable to `submit`.

        Without new files or unflushed records there is no job. Raises LogDirFailure.
        """
        try:
            needed = self._write_last_files()
        except OSError as error:
            raise self._failed("closing", error) from error
        if needed:
            self.flush(None, self._local.segments.active.base_offset, submit)

    def close(self) -> None:
        """Write and fsync all files, then close them. Raises LogDirFailure."""
        try:
            if self._write_last_files():
                self._sync_now(self._local.segments.active.base_offset)
            self._local.close()
        except OSError as error:
            raise self._failed("closing", error) from error

    def _write_last_files(self) -> bool:
        """Write the producer snapshot and the active segment's indexes, for a start after a clean
        stop. Return whether to sync now."""
        self._local.snapshots.take(self._producers, self._end())
        indexes_are_new = self._local.write_indexes()
        return indexes_are_new or self.recovery_point < self._end()

    def _sync_job(
        self, from_offset: int, end: int, *, elsewhere: bool = True
    ) -> Callable[[], None]:
        """Return a job that fsyncs the unsynced part of the log, and new leader epochs up to `end`.

        It begins at `from_offset` if that is before the unsynced part. `elsewhere` is whether it
        runs on another thread, after the flushes under way.
        """
        covered = self.recovery_point
        if elsewhere and len(self._order):
            # This flush takes effect after those under way, so it need not sync their part again.
            # Otherwise a thousand quick rolls would be half a million fsyncs.
            covered = max(covered, self._covered_to)
        epochs = self._leader_epochs
        also = epochs.take_unsynced(end)
        if not elsewhere and len(self._order) and epochs.on_disk:
            also = [epochs.path]  # a flush under way may not have synced it yet
        return self._local.sync_job(min(from_offset, covered), also)
