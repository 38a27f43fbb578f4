"""The flushing half of a partition's log: what is on disk for sure, and when the rest comes there.

Owns the recovery point and the flushes under way. Never decides what the log has: its offsets and
files are `storage.log.recoverable_log.RecoverableLog`'s. fsync goes through `Blocking`, except
where a caller has to wait for it. The flushing half of Kafka's `UnifiedLog` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.log.flush_order import FlushOrder
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.local_log import LocalLog
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.log_segment import LogSegment
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log.producer_state import ProducerStateManager
from storage.log_config import LogConfig


class LogFlushing:
    """See the module."""

    _active: LogSegment
    _environment: LogEnvironment
    _failed: Callable[[str, OSError], LogDirFailure]
    _local: LocalLog
    _producers: ProducerStateManager
    _snapshots: ProducerSnapshots
    config: LogConfig
    is_replicated: bool
    leader_epochs: LeaderEpochCache
    log_end_offset: int
    offline: bool

    def _begin_flushing(self, recovery_point: int) -> None:
        """The log was opened, and is on disk up to `recovery_point`."""
        self.recovery_point = recovery_point
        self.truncations = 0
        """How often the log was cut at its end."""
        self._flushed_at_ms = self._environment.scheduler.monotonic_ms()
        self._unflushed_messages = 0
        self._end_at_last_look = -1
        self._flushes = FlushOrder()
        self._handed_over = 0
        """While flushes are under way: what they cover, in the present shape of the log."""

    def _distrust_flushes(self) -> None:
        """The log was cut: those that began before prove nothing any more."""
        self.truncations += 1
        self._handed_over = 0

    def flush(self, done: Callable[[Exception | None], None] | None = None) -> None:
        """Make everything up to the present log end durable, elsewhere; then `done(error)` runs.

        A failed fsync takes the log directory offline: what it covered is never trusted again.
        """
        self._flush_from(self.log_end_offset, done)

    def flush_if_due(self) -> None:
        """`flush.ms`: flush what lies unflushed for that long (the default is never)."""
        waited_ms = self._environment.scheduler.monotonic_ms() - self._flushed_at_ms
        if waited_ms >= self.config.flush_ms and self.recovery_point < self.log_end_offset:
            self.flush()

    def _flush_from(self, offset: int, done: Callable[[Exception | None], None] | None) -> None:
        """Flush from `offset`, or from where nobody has flushed or is about to, to the end."""
        end, truncations, directory = self.log_end_offset, self.truncations, self._local.directory

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
            job = self._sync_job(offset)
        except OSError as error:
            counted(error)
            return
        ended = self._flushes.begin(counted)
        self._handed_over = end
        self._environment.blocking.submit(job, lambda _, error: ended(error))

    def _prepare_disk(self) -> None:
        """The log has grown: have room for its next segment and, if it is replicated, let the disk
        begin with it, where enough has come together. Asked once an index entry: an append in
        between is too little for a disk to mind."""
        environment, active = self._environment, self._active
        if self.is_replicated:
            environment.write_back.appended(active, environment.blocking, self._disk_failed)
        if 2 * active.size > self.config.segment_size_bytes:
            now_ms = environment.scheduler.wall_ms()
            self._local.next_segment.prepare(
                active, now_ms, environment.blocking, self._disk_failed
            )

    def _disk_failed(self, error: OSError) -> None:
        self._failed("preparing the disk", error)

    def give_back_unused_room(self) -> None:
        """Let others have what the log holds of the disk, if it took nothing since the last call.
        Raises LogDirFailure."""
        unused = self._end_at_last_look == self.log_end_offset
        self._end_at_last_look = self.log_end_offset
        if unused and self._local.next_segment.holds_room:
            try:
                self._local.give_back_room()
            except OSError as error:
                raise self._failed("giving back room", error) from error

    def _sync_job(self, from_offset: int, *, elsewhere: bool = True) -> Callable[[], None]:
        """What was not synced yet, from an offset on, and the epochs with it."""
        covered = self.recovery_point
        if elsewhere and len(self._flushes):
            # This one counts after those under way, and not without them: what they cover is not
            # synced once more. A thousand quick rolls would be half a million fsyncs.
            covered = max(covered, self._handed_over)
        start = min(from_offset, covered)
        also = self.leader_epochs.take_unsynced(self.log_end_offset)
        if not elsewhere and len(self._flushes) and self.leader_epochs.on_disk:
            also = [self.leader_epochs.path]  # what another one has taken upon itself may not be so
        return self._local.sync_job(start, also)

    def flush_now(self) -> None:
        """As `flush`, on this thread, before it returns. Raises LogDirFailure."""
        self._unflushed_messages = 0
        if self.recovery_point >= self.log_end_offset:
            return
        try:
            self._sync_job(self.recovery_point, elsewhere=False)()
        except OSError as error:
            raise self._failed("fsync", error) from error
        self.recovery_point = self.log_end_offset

    def begin_close(self, done: Callable[[Exception | None], None]) -> bool:
        """Flush, elsewhere, what `close` would; then `done(error)` runs. False, and no `done`,
        where nothing needs it. Raises LogDirFailure."""
        if self.offline:
            return False
        try:
            needed = self._write_last_files()
        except OSError as error:
            raise self._failed("closing", error) from error
        if needed:
            self._flush_from(self._active.base_offset, done)
        return needed

    def close(self) -> None:
        """A clean end: everything on disk and fsynced. Raises LogDirFailure."""
        try:
            if self._write_last_files():
                self._sync_job(self._active.base_offset)()
                self.recovery_point = self.log_end_offset
            self._local.close()
        except OSError as error:
            raise self._failed("closing", error) from error

    def _write_last_files(self) -> bool:
        """What a start after a clean stop reads; whether anything is to be fsynced."""
        self._producers.map_end_offset = self.log_end_offset
        self._snapshots.take(self._producers)
        indexes_are_new = self._local.write_indexes()
        return indexes_are_new or self.recovery_point < self.log_end_offset
