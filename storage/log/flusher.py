"""What of a partition's log is on disk for sure, and the flushes that bring the rest there.

Owns the recovery point, the flushes under way, and how far the log was cut; writes what a clean
stop leaves. Never: decides what the log has. fsync goes through `Blocking`, except where a caller
has to wait for it.

The flushing half of Kafka's `UnifiedLog` 4.3.
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
"""Told that a flush has ended, and its error."""
Submit = Callable[[Callable[[], None], Callable[[object, Exception | None], None]], None]
"""Has a job run that may block, then calls back with its result and its error, as `Blocking`."""


class Flusher:
    """The flushes of one log."""

    __slots__ = (
        "_end",
        "_environment",
        "_failed",
        "_flushed_at_ms",
        "_handed_over",
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
        """The log was opened, and is on disk up to `recovery_point`. `end()` is where it ends now;
        `failed(doing, error)` takes its directory offline."""
        self._environment = environment
        self._local = local
        self._leader_epochs = leader_epochs
        self._producers = producers
        self._end = end
        self._failed = failed
        self.recovery_point = recovery_point
        self.truncations = 0
        """Another number each time that the log was cut at its end."""
        self._truncated_to: int | None = None
        self._flushed_at_ms = environment.scheduler.monotonic_ms()
        self._unflushed_messages = 0
        self._order = FlushOrder()
        self._handed_over = 0
        """While flushes are under way: what they cover, in the present shape of the log."""

    def cut(self, end: int) -> None:
        """The log is cut at `end`: flushes that began before prove nothing any more."""
        self.truncations += 1
        self._handed_over = 0
        self.recovery_point = min(self.recovery_point, end)
        self._truncated_to = end if self._truncated_to is None else min(self._truncated_to, end)

    def take_truncation(self) -> int | None:
        """The lowest offset that the log was cut to since the last call, for the cleaner."""
        offset, self._truncated_to = self._truncated_to, None
        return offset

    def appended(self, messages: int, flush_messages: int) -> None:
        """`flush.messages`: fsync where so many were appended since the last time.

        Raises LogDirFailure.
        """
        self._unflushed_messages += messages
        if self._unflushed_messages >= flush_messages:
            self.flush_now()

    def flush_if_due(self, flush_ms: int) -> None:
        """`flush.ms`: flush what lies unflushed for that long (the default is never)."""
        waited_ms = self._environment.scheduler.monotonic_ms() - self._flushed_at_ms
        if waited_ms >= flush_ms and self.recovery_point < self._end():
            self.flush()

    def flush(
        self,
        done: Flushed | None = None,
        from_offset: int = LONG_MAX,
        submit: Submit | None = None,
    ) -> None:
        """Make the log durable up to its present end, elsewhere; then `done(error)` runs. It begins
        where nobody has flushed or is about to, or at `from_offset`, if that is earlier. `submit`
        gets the job in place of the blocking pool.

        A failed fsync takes the log directory offline: what it covered is never trusted again.
        """
        end, truncations, directory = self._end(), self.truncations, self._local.directory

        def counted(error: Exception | None) -> None:
            if isinstance(error, FileNotFoundError) and self._local.directory != directory:
                pass  # the topic was deleted meanwhile: its folder has another name, or none
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
        self._handed_over = end
        submit = submit or self._environment.blocking.submit
        submit(job, lambda _, error: ended(error))

    def flush_now(self) -> None:
        """As `flush`, on this thread, before it returns. Raises LogDirFailure."""
        if self.recovery_point < self._end():
            try:
                self._sync_now(LONG_MAX)
            except OSError as error:
                raise self._failed("fsync", error) from error

    def _sync_now(self, from_offset: int) -> None:
        end = self._end()
        self._unflushed_messages = 0
        self._sync_job(from_offset, end, elsewhere=False)()
        self.recovery_point = end

    def begin_close(self, submit: Submit) -> None:
        """Write what `close` would, and give `submit` the job that makes it durable, if anything
        needs one. Raises LogDirFailure."""
        try:
            needed = self._write_last_files()
        except OSError as error:
            raise self._failed("closing", error) from error
        if needed:
            self.flush(None, self._local.segments.active.base_offset, submit)

    def close(self) -> None:
        """A clean end: everything on disk and fsynced. Raises LogDirFailure."""
        try:
            if self._write_last_files():
                self._sync_now(self._local.segments.active.base_offset)
            self._local.close()
        except OSError as error:
            raise self._failed("closing", error) from error

    def _write_last_files(self) -> bool:
        """What a start after a clean stop reads; whether anything is to be fsynced."""
        self._local.snapshots.take(self._producers, self._end())
        indexes_are_new = self._local.write_indexes()
        return indexes_are_new or self.recovery_point < self._end()

    def _sync_job(
        self, from_offset: int, end: int, *, elsewhere: bool = True
    ) -> Callable[[], None]:
        """What was not synced yet, from an offset on, and the epochs with it."""
        covered = self.recovery_point
        if elsewhere and len(self._order):
            # This one counts after those under way, and not without them: what they cover is not
            # synced once more. A thousand quick rolls would be half a million fsyncs.
            covered = max(covered, self._handed_over)
        epochs = self._leader_epochs
        also = epochs.take_unsynced(end)
        if not elsewhere and len(self._order) and epochs.on_disk:
            also = [epochs.path]  # what another one has taken upon itself may not be so
        return self._local.sync_job(min(from_offset, covered), also)
