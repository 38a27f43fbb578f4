"""What of a partition's log is on disk for sure, and the flushes that bring the rest there.

Owns the recovery point and the flushes under way. Never: knows what the log has: where it ends is
told with each call. fsync goes through `Blocking`, except where a caller has to wait for it.

The flushing half of Kafka's `UnifiedLog` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.log.flush_order import FlushOrder
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.local_log import LocalLog
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment

Flushed = Callable[[Exception | None], None]
"""Told that a flush has ended, and its error."""


class Flusher:
    """The flushes of one log. `end` is the log's end offset, as it is at the call."""

    __slots__ = (
        "_environment",
        "_failed",
        "_flushed_at_ms",
        "_handed_over",
        "_leader_epochs",
        "_local",
        "_order",
        "_unflushed_messages",
        "recovery_point",
        "truncations",
    )

    def __init__(
        self,
        environment: LogEnvironment,
        local: LocalLog,
        leader_epochs: LeaderEpochCache,
        failed: Callable[[str, OSError], LogDirFailure],
        recovery_point: int,
    ) -> None:
        """The log was opened, and is on disk up to `recovery_point`. `failed(doing, error)` takes
        its directory offline."""
        self._environment = environment
        self._local = local
        self._leader_epochs = leader_epochs
        self._failed = failed
        self.recovery_point = recovery_point
        self.truncations = 0
        """Another number each time that the log was cut at its end."""
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

    def count(self, messages: int) -> int:
        """So many messages more were appended; gives how many were since the last flush."""
        self._unflushed_messages += messages
        return self._unflushed_messages

    def flush_if_due(self, end: int, flush_ms: int) -> None:
        """`flush.ms`: flush what lies unflushed for that long."""
        waited_ms = self._environment.scheduler.monotonic_ms() - self._flushed_at_ms
        if waited_ms >= flush_ms and self.recovery_point < end:
            self.flush(end, end)

    def flush(self, from_offset: int, end: int, done: Flushed | None = None) -> None:
        """Make the log durable, elsewhere, from `from_offset`, or from where nobody has flushed or
        is about to, to its end; then `done(error)` runs.

        A failed fsync takes the log directory offline: what it covered is never trusted again.
        """
        truncations, directory = self.truncations, self._local.directory

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
        self._environment.blocking.submit(job, lambda _, error: ended(error))

    def flush_now(self, from_offset: int, end: int) -> None:
        """As `flush`, on this thread, before it returns. Raises OSError."""
        self._unflushed_messages = 0
        self._sync_job(from_offset, end, elsewhere=False)()
        self.recovery_point = end

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
