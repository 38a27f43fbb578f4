"""The durable side of one partition's log: its offsets, its files, and what changes both.

Owns: opening a folder, the offsets that bound the log (log start, high watermark, log end),
rolling, truncation, deletion of segments. It keeps leader epochs, producer state and snapshots in
step with the segments. What of it is on disk for sure is `storage.log.flusher`'s.

Never: looks at a record batch: `storage.log.unified_log` adds appending and reading to it.

A disk that fails takes the log directory offline (`storage.log.log_dir_failure`): what has no error
code to answer with raises `LogDirFailure`.

Kafka's classes: `UnifiedLog`, `LocalLog` 4.3. KIP-101, KIP-107 (log start).
"""

from __future__ import annotations

from itertools import pairwise

from protocol.errors import ErrorCode
from storage.log.checkpoints import PARTITION_METADATA
from storage.log.cleaned_group import CleanedGroup
from storage.log.fetch_data import EpochEndOffset
from storage.log.flusher import Flushed, Flusher
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.local_log import LocalLog
from storage.log.log_dir_failure import LogDirFailure, is_lack_of_descriptors
from storage.log.log_environment import LogEnvironment
from storage.log.log_loader import LogLoader
from storage.log.log_segment import LogSegment
from storage.log.log_segments import LogSegments
from storage.log.log_validator import may_take_unseen
from storage.log.producer_rebuild import rebuild_producers
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log.producer_state import ProducerStateEntry, ProducerStateManager
from storage.log.recovery_report import RecoveryReport
from storage.log.refusal import LONG_MAX
from storage.log.retention import Breaches, ages_of, breaches
from storage.log.segment_replacement import replace_segments
from storage.log_config import LogConfig
from storage.topic_partition import TopicPartition


class RecoverableLog:
    """The folder of one partition, open. All calls come from one thread."""

    def __init__(
        self,
        environment: LogEnvironment,
        log_dir: str,
        directory: str,
        partition: TopicPartition,
        config: LogConfig,
        *,
        topic_id: bytes | None = None,
        clean: bool = True,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        report: RecoveryReport | None = None,
    ) -> None:
        """Open the folder `directory` of `log_dir`, which exists. Raises OSError.

        Touches nothing that is shared, so that it may run on another thread; `report` is filled
        meanwhile. `clean` is whether the last stop left its marker; `recovery_point` and
        `log_start_offset` come from the checkpoints of the log directory.
        """
        self._environment = environment
        self.log_dir = log_dir
        self.partition = partition
        self.topic_id = topic_id
        self.offline = False
        self.is_replicated = False
        """Whether acks=all waits for other brokers: then the disk begins early with what comes."""
        self.being_cleaned = False
        """While set, retention leaves the segments to the cleaner, which has them in hand."""
        filesystem = environment.filesystem
        self._producers = ProducerStateManager(
            str(partition),
            environment.producer_id_expiration_ms,
            verifies=environment.verifies_transactions,
        )
        self._transactions = self._producers.transactions
        self._snapshots = ProducerSnapshots(filesystem, directory)
        self.leader_epochs = LeaderEpochCache(filesystem, directory)
        loader = LogLoader(
            filesystem,
            directory,
            config,
            self._producers,
            self.leader_epochs,
            self._snapshots,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            now_ms=environment.scheduler.wall_ms(),
            report=report,
        )
        loader.load()
        self._take_loaded(loader, directory, config)
        self._take_config(config)

    def _take_loaded(self, loader: LogLoader, directory: str, config: LogConfig) -> None:
        environment = self._environment
        self._local = LocalLog(environment, directory, config, loader.segments, self._failed)
        self.recovery: RecoveryReport = loader.report
        self._active: LogSegment = loader.segments.active
        self.log_start_offset = loader.log_start_offset
        self.log_end_offset = loader.next_offset
        self._has_aborted = loader.has_aborted
        self.high_watermark = loader.log_start_offset
        self.truncated_to: int | None = None
        """The lowest offset that it was cut to since the cleaner last asked."""
        self._flusher = Flusher(
            environment, self._local, self.leader_epochs, self._failed, loader.recovery_point
        )

    def _take_config(self, config: LogConfig) -> None:
        self.config = config
        self.looks_at_records = not may_take_unseen(config)
        self._takes_plain = not self.looks_at_records and config.flush_messages == LONG_MAX
        self._timestamp_max = -1  # of a batch that is not in the future; known by the next append
        self._max_message_bytes = min(config.max_message_bytes, config.segment_size_bytes)
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._flush_messages = config.flush_messages
        self._counts_messages = config.flush_messages != LONG_MAX

    def update_config(self, config: LogConfig) -> None:
        """The topic's configs changed: the active segment follows the new ones at once."""
        self._take_config(config)
        self._local.update_config(config)

    # ---- what bounds the log -------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """The bound of read_committed readers: below it every transaction is over, and its marker
        is below the high watermark."""
        transactions = self._transactions
        if not transactions.open and not transactions.unreplicated:
            return self.high_watermark
        unstable = transactions.first_unstable(self.high_watermark)
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    @property
    def directory(self) -> str:
        """The log's folder; renamed when the log is deleted."""
        return self._local.directory

    @property
    def size_bytes(self) -> int:
        """Bytes of batches on disk."""
        return self._local.segments.size_bytes

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last batch or election known here; -1 if none."""
        return self.leader_epochs.latest

    @property
    def producers(self) -> list[ProducerStateEntry]:
        """The producers that are not expired, for DescribeProducers."""
        return list(self._producers.entries.values())

    @property
    def segment_base_offsets(self) -> list[int]:
        """Rising."""
        return self._local.segments.base_offsets

    @property
    def segments(self) -> LogSegments:
        """For reading: what changes them goes by the methods here."""
        return self._local.segments

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, kept between log start and log end; gives the value taken."""
        taken = min(max(offset, self.log_start_offset), self.log_end_offset)
        self.high_watermark = taken
        return taken

    def assign_epoch_start(self, leader_epoch: int, start_offset: int) -> None:
        """A new leader's epoch begins (KAFKA-7415: also where it writes nothing).

        Raises LogDirFailure.
        """
        if self.offline:  # nothing is written to a disk that failed
            raise LogDirFailure(self.log_dir, f"{self.partition} is offline")
        try:
            self.leader_epochs.assign(leader_epoch, start_offset)
        except OSError as error:
            raise self._failed("writing leader epochs", error) from error

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEndOffset:
        """Where `leader_epoch`, or the largest one before it, ended in this log (KIP-101)."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    def _failed(self, doing: str, error: OSError, *, torn: bool = False) -> LogDirFailure:
        """`torn`: the log in memory is not the one on disk any more, whatever the error was; it is
        out of service until the next start."""
        self.offline = self.offline or torn or not is_lack_of_descriptors(error)
        return self._environment.failures.fail(self.log_dir, f"{doing} of {self.partition}", error)

    # ---- cutting -------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Cut the log from `offset` on; a batch that holds it goes whole. False: nothing to cut.

        The log start does not go back, though a batch that held it is gone.
        Raises LogDirFailure.
        """
        try:
            if offset >= self.log_end_offset:
                self.leader_epochs.truncate_from_end(offset, durably=False)  # KAFKA-10706
                return False
            self._note_truncation(offset)
            if offset < self._local.segments.first.base_offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self._snapshots.remove_outside(-1, offset)  # before the cut syncs the folder
            end = self._local.truncate_to(offset)
            self._set_end(max(end, min(offset, self.log_start_offset)))
            self._rebuild_producers()
        except OSError as error:
            raise self._failed("truncation", error, torn=True) from error
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything; the log goes on at `offset`. Raises LogDirFailure."""
        try:
            self._note_truncation(offset)
            now_ms = self._environment.scheduler.wall_ms()
            self._snapshots.remove_outside(-1, -1)
            self._local.truncate_fully(offset, now_ms)
            self.leader_epochs.clear()
            self._producers.clear(offset)
            self.log_start_offset = offset if log_start_offset is None else log_start_offset
            self._set_end(offset)
        except OSError as error:
            raise self._failed("truncation", error, torn=True) from error

    def _note_truncation(self, offset: int) -> None:
        self._flusher.cut(offset)
        before = self.truncated_to
        self.truncated_to = offset if before is None else min(before, offset)

    def _set_end(self, offset: int) -> None:
        self._active = self._local.segments.active
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self._flusher.cut(offset)
        self.update_high_watermark(self.high_watermark)
        self.leader_epochs.truncate_from_end(offset)

    def _rebuild_producers(self) -> None:
        if not self._producers.entries:  # nothing to forget, and no need to read the log for it
            self._producers.clear(self.log_end_offset)
            return
        rebuild_producers(
            self._local.segments,
            self._producers,
            self._snapshots,
            self.log_start_offset,
            self.log_end_offset,
            self._environment.scheduler.wall_ms(),
        )

    def increment_log_start_offset(self, offset: int) -> ErrorCode:
        """DeleteRecords and a leader's log start: what lies before `offset` is gone for readers.

        OFFSET_OUT_OF_RANGE beyond the high watermark; NONE, without effect, before the log start.
        """
        if self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if offset > self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            try:
                self.leader_epochs.truncate_from_start(offset)
            except OSError as error:
                self._failed("moving the log start", error)
                return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def delete_segments_before_log_start(self) -> int:
        """Remove segments that lie wholly before the log start, after `file.delete.delay.ms`."""
        doomed = []
        segments = list(self._local.segments)
        for segment, following in pairwise(segments):
            if following.base_offset > self.log_start_offset:
                break
            doomed.append(segment)
        self._set_aside(doomed)
        return len(doomed)

    def delete_old_segments(self, now_ms: int) -> Breaches:
        """Remove what had its time (`storage.log.retention`), after `file.delete.delay.ms`.

        The log start moves to the first segment that stays: a new one, where all had their time.
        Gives what went, and why. Raises LogDirFailure.
        """
        segments = list(self._local.segments)
        try:
            found = breaches(
                ages_of(segments, self.log_end_offset),
                self.config,
                self.log_start_offset,
                self.high_watermark,
                now_ms,
            )
            if found.total == len(segments):
                self._roll(now_ms)
        except OSError as error:
            raise self._failed("retention", error) from error
        if found.total:
            self._set_aside(segments[: found.total])
            self.increment_log_start_offset(self._local.segments.first.base_offset)
        return found

    def _set_aside(self, segments: list[LogSegment]) -> None:
        if not segments:
            return
        try:
            self._local.set_aside(segments)
            self._snapshots.remove_before(self._local.segments.first.base_offset)
        except OSError as error:
            raise self._failed("deletion of segments", error) from error

    def replace_segments(self, group: CleanedGroup) -> None:
        """Take a cleaned segment in place of its sources, which are all there as they were.

        Its names are durable once the folder is synced. Raises LogDirFailure.
        """
        try:
            replace_segments(self._environment.filesystem, self._local, self.config, group)
            for merged in group.sources[1:]:
                self._snapshots.remove_at(merged)
        except OSError as error:
            raise self._failed("replacing segments", error) from error

    # ---- durability ----------------------------------------------------------------------------

    @property
    def recovery_point(self) -> int:
        """Up to where the log is on disk for sure."""
        return self._flusher.recovery_point

    @property
    def truncations(self) -> int:
        """Another number each time that the log was cut at its end."""
        return self._flusher.truncations

    def flush(self, done: Flushed | None = None) -> None:
        """Make everything up to the present log end durable, elsewhere; then `done(error)` runs."""
        self._flusher.flush(self.log_end_offset, self.log_end_offset, done)

    def flush_if_due(self) -> None:
        """`flush.ms`: flush what lies unflushed for that long (the default is never)."""
        self._flusher.flush_if_due(self.log_end_offset, self.config.flush_ms)

    def flush_now(self) -> None:
        """As `flush`, on this thread, before it returns. Raises LogDirFailure."""
        if self.recovery_point >= self.log_end_offset:
            return
        try:
            self._flusher.flush_now(self.log_end_offset, self.log_end_offset)
        except OSError as error:
            raise self._failed("fsync", error) from error

    def begin_close(self, done: Flushed) -> bool:
        """Flush, elsewhere, what `close` would; then `done(error)` runs. False, and no `done`,
        where nothing needs it. Raises LogDirFailure."""
        if self.offline:
            return False
        try:
            needed = self._write_last_files()
        except OSError as error:
            raise self._failed("closing", error) from error
        if needed:
            self._flusher.flush(self._active.base_offset, self.log_end_offset, done)
        return needed

    def close(self) -> None:
        """A clean end: everything on disk and fsynced. Raises LogDirFailure."""
        try:
            if self._write_last_files():
                self._flusher.flush_now(self._active.base_offset, self.log_end_offset)
            self._local.close()
        except OSError as error:
            raise self._failed("closing", error) from error

    def _write_last_files(self) -> bool:
        """What a start after a clean stop reads; whether anything is to be fsynced."""
        self._producers.map_end_offset = self.log_end_offset
        self._snapshots.take(self._producers)
        indexes_are_new = self._local.write_indexes()
        return indexes_are_new or self.recovery_point < self.log_end_offset

    def give_back_unused_room(self) -> None:
        """Let others have what the log holds of the disk, if it took nothing since the last call.
        Raises LogDirFailure."""
        try:
            self._local.give_back_unused_room(self.log_end_offset)
        except OSError as error:
            raise self._failed("giving back room", error) from error

    def roll(self) -> None:
        """Begin a new segment at the log's end. Raises LogDirFailure."""
        try:
            self._roll(self._environment.scheduler.wall_ms())
        except OSError as error:
            raise self._failed("roll", error) from error

    def _roll(self, now_ms: int, base_offset: int | None = None) -> LogSegment:
        base = self.log_end_offset if base_offset is None else base_offset
        old = self._active
        self._active = self._local.roll(base, now_ms)
        if self._active is not old:
            self._producers.map_end_offset = base
            self._snapshots.take(self._producers)
            # The old segment's indexes are new on disk, also where its data was flushed before.
            self._flusher.flush(old.base_offset, self.log_end_offset)
        return self._active

    def remove_expired_producers(self, now_ms: int) -> int:
        """Forget producers that were silent for `producer.id.expiration.ms`; gives how many."""
        return self._producers.remove_expired(now_ms)

    def copy_topic_id(self, directory: str) -> None:
        """Put the file that names the topic into another folder. Raises OSError."""
        filesystem, source = self._environment.filesystem, f"{self.directory}/{PARTITION_METADATA}"
        if filesystem.exists(source):
            target = f"{directory}/{PARTITION_METADATA}"
            filesystem.replace_atomically(target, filesystem.read(source))

    def learn_topic_id(self, topic_id: bytes) -> None:
        """The folder had no file that names the topic, and has one now."""
        self.topic_id = topic_id

    def go_offline(self) -> None:
        """The log directory failed: nothing is taken or given any more."""
        self.offline = True

    def retire(self) -> None:
        """The log was set aside: it takes and gives nothing; slices in flight stay good."""
        self.go_offline()
        self._local.let_go()

    def rename(self, directory: str) -> None:
        """Give the folder another name (a deleted log is renamed first). Raises LogDirFailure."""
        try:
            self._local.rename(directory)
            self.leader_epochs.directory = directory
            self._snapshots.directory = directory
        except OSError as error:
            raise self._failed("rename", error) from error


__all__ = ["LogEnvironment", "RecoverableLog"]
