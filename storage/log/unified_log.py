"""One partition's log: leaders and followers append to it, readers get slices of its files.

Owns: the assignment of offsets, and the offsets that bound the log (log start, high watermark, log
end); rolling, truncation, deletion. It keeps its parts in step: the segments in their folder
(`local_log`), leader epochs (`leader_epoch_cache`), producers and their snapshots
(`producer_state`, `producer_snapshot`), and the recovery point (`flusher`). Nearly every append
takes the fast path of `plain_append`.

Never: knows which node is the leader, waits, or asks a transaction coordinator.

A disk that fails takes the log directory offline (`log_dir_failure`): appends and reads return
KAFKA_STORAGE_ERROR, methods without an error code raise `LogDirFailure`.

Kafka's class: `UnifiedLog`. KIP-98 and KIP-360 (idempotence, transactions), KIP-101 (epochs),
KIP-107 (log start), KIP-734 (max timestamp), KIP-890 (guards).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct

from ground.filesystem import BytesLike
from ground.topic_partition import TopicPartition
from log_format.transaction_index import AbortedTxn
from protocol.control_records import read_transaction_marker
from protocol.errors import ErrorCode
from protocol.record_batch import CorruptBatch, RecordBatchHeader, patch_base_offset_and_epoch
from storage.log.cleaned_group import CleanedGroup
from storage.log.copied_batches import batches_to_copy
from storage.log.fetch_data import NO_RECORDS, EpochEndOffset, FetchDataInfo
from storage.log.flusher import Flushed, Flusher
from storage.log.local_log import LocalLog
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_dir_failure import LogDirFailure, is_lack_of_descriptors
from storage.log.log_environment import LogEnvironment
from storage.log.log_loader import LogLoader
from storage.log.log_segment import LogSegment
from storage.log.log_segments import LogSegments
from storage.log.log_validator import RecordCheckResult, header_check_suffices, validate
from storage.log.plain_append import COPIED, TRANSACTIONAL, append_plain
from storage.log.producer_rebuild import rebuild_producers
from storage.log.producer_state import BatchMetadata, ProducerStateEntry
from storage.log.recovery_report import RecoveryReport
from storage.log.refusal import LONG_MAX, AppendRefusal
from storage.log.segment_replacement import replace_segments
from storage.log.verification_state import VerificationGuard
from storage.log_config import LogConfig

OFFLINE = AppendRefusal(ErrorCode.KAFKA_STORAGE_ERROR, "The log directory is offline.")
_OUT_OF_RANGE = FetchDataInfo(b"", error=ErrorCode.OFFSET_OUT_OF_RANGE)
_STORAGE_ERROR = FetchDataInfo(b"", error=ErrorCode.KAFKA_STORAGE_ERROR)
_CORRUPT = FetchDataInfo(b"", error=ErrorCode.CORRUPT_MESSAGE)

_MAX_TIMESTAMP = Struct(">q")
_MAX_TIMESTAMP_AT = 35


class UnifiedLog:
    """The open log of one partition. Offsets are record offsets; one thread calls it."""

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
        """Open the folder `directory` of `log_dir`, which exists. `clean` is whether the last stop
        left its marker; `recovery_point` and `log_start_offset` come from the checkpoints of the
        log directory. It changes no shared object, so it may run on another thread; `report` is
        filled meanwhile. Raises OSError."""
        self.environment = environment
        self.log_dir = log_dir
        self.partition = partition
        self.topic_id = topic_id
        self.offline = False
        self.is_replicated = False
        """Whether acks=all waits for other brokers: then appended bytes are written back early."""
        self.being_cleaned = False
        """Whether the cleaner works on the segments: retention deletes none meanwhile."""
        loader = LogLoader(
            environment,
            directory,
            partition,
            config,
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            report=report,
        )
        loader.load()
        self._take_loaded(loader, directory, config)
        self._take_config(config)

    def _take_loaded(self, loader: LogLoader, directory: str, config: LogConfig) -> None:
        """Set the parts and offsets from `loader`. The high watermark begins at the log start."""
        self.leader_epochs = loader.epochs
        self.producer_state = loader.producers
        self._transactions = loader.producers.transactions
        self.recovery: RecoveryReport = loader.report
        files = (loader.segments, loader.snapshots, loader.epochs)
        self._local = LocalLog(self.environment, directory, config, *files, self.failed)
        self.flusher = Flusher(
            self.environment,
            self._local,
            self.leader_epochs,
            self.producer_state,
            lambda: self.log_end_offset,
            self.failed,
            loader.recovery_point,
        )
        self.active: LogSegment = loader.segments.active
        self.log_start_offset = loader.log_start_offset
        self.log_end_offset = loader.next_offset
        self.high_watermark = loader.log_start_offset
        self.has_aborted = loader.has_aborted
        """Whether any segment has a transaction index."""

    def _take_config(self, config: LogConfig) -> None:
        """Set the attributes that depend on the topic's configs."""
        self.config = config
        self.checks_records = not header_check_suffices(config)
        self.takes_plain = not self.checks_records and config.flush_messages == LONG_MAX
        self.timestamp_max = -1  # the largest timestamp allowed; the next append sets it
        self.max_message_bytes = min(config.max_message_bytes, config.segment_size_bytes)
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._counts_messages = config.flush_messages != LONG_MAX

    def update_config(self, config: LogConfig) -> None:
        """Apply the topic's changed configs to the log and to all its segments."""
        self._take_config(config)
        self._local.update_config(config)

    # ---- bounds and content ---------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """The bound of read_committed reads: each transaction below it has a committed marker."""
        return self._transactions.stable_offset(self.log_start_offset, self.high_watermark)

    @property
    def directory(self) -> str:
        """The log's folder, which is renamed when the log is deleted."""
        return self._local.directory

    @property
    def latest_epoch(self) -> int:
        """The leader epoch of the last batch or election known here, -1 without one."""
        return self.leader_epochs.latest

    @property
    def producers(self) -> list[ProducerStateEntry]:
        """The producers for DescribeProducers. Expired ones stay until their next removal."""
        return list(self.producer_state.entries.values())

    @property
    def segments(self) -> LogSegments:
        """The segments, for reads. Only methods of the log change them."""
        return self._local.segments

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, limited to the range from log start to log end, and return it."""
        bounded = min(max(offset, self.log_start_offset), self.log_end_offset)
        self.high_watermark = bounded
        return bounded

    def assign_epoch_start(self, leader_epoch: int, start_offset: int) -> None:
        """Add a new leader's epoch, even without records (KAFKA-7415). Raises LogDirFailure."""
        if self.offline:  # nothing is written to a disk that failed
            raise LogDirFailure(self.log_dir, f"{self.partition} is offline")
        with self._failing("writing leader epochs"):
            self.leader_epochs.assign(leader_epoch, start_offset)

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEndOffset:
        """Return the end of `leader_epoch`, or of the largest one before it here (KIP-101)."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    # ---- append --------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        check_result: RecordCheckResult | None = None,
    ) -> LogAppendInfo:
        """Assign offsets to a client's batch, in place, and append it. Errors are in the result.
        `guard` is that of `start_verification` if a transaction begins. `check_result` is the
        outcome of an earlier check of the records."""
        self.timestamp_max = now_ms + self._after_max_ms
        # The records of a coordinator are not checked, although its topic is compacted.
        own = origin is AppendOrigin.COORDINATOR and not self._counts_messages
        first = append_plain(self, records, leader_epoch, TRANSACTIONAL, own)
        if first < 0:
            return self._append_checked(records, leader_epoch, now_ms, origin, guard, check_result)
        return self._appended_plain(first, records)

    def _appended_plain(self, first: int, records: memoryview) -> LogAppendInfo:
        """Return the result of an append by the fast path, of `records` at offset `first`."""
        (max_timestamp,) = _MAX_TIMESTAMP.unpack_from(records, _MAX_TIMESTAMP_AT)
        last, start = self.log_end_offset - 1, self.log_start_offset
        return LogAppendInfo(first, last, max_timestamp, -1, start, len(records))

    def _append_checked(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        guard: VerificationGuard | None = None,
        check_result: RecordCheckResult | None = None,
    ) -> LogAppendInfo:
        """Append with all checks, in Kafka's order, and all changes. Errors are in the result."""
        if self.offline:
            return self.refused(OFFLINE)
        if records.readonly:
            records = memoryview(bytearray(records))
        name = str(self.partition)
        checked = validate(records, self.config, origin, now_ms, name, check_result)
        if isinstance(checked, AppendRefusal):
            return self.refused(checked)
        records, batches = checked.records, checked.batches
        first = offset = self.log_end_offset
        from_client = origin is AppendOrigin.CLIENT
        verdict = self.producer_state.first_fault(
            batches, first, from_client=from_client, guard=guard
        )
        if isinstance(verdict, BatchMetadata):
            stamp, start = verdict.timestamp, self.log_start_offset
            return LogAppendInfo(
                verdict.first_offset, verdict.last_offset, stamp, stamp, start, duplicate=True
            )
        if verdict is not None:
            return self.refused(AppendRefusal(verdict.code, verdict.message or ""))
        for position, header in batches:
            patch_base_offset_and_epoch(records, position, offset, leader_epoch)
            offset += header.last_offset_delta + 1
        try:
            self.leader_epochs.assign(leader_epoch, first)
            max_timestamp = self._write(records, batches, first, offset - 1, now_ms)
        except OSError as error:
            return self._append_failed(error)
        size, stamp = len(records), checked.log_append_time
        return self._appended(first, offset - 1, max_timestamp, size, stamp)

    def append_as_follower(self, records: memoryview, leader_epoch: int) -> LogAppendInfo:
        """Append the whole batches that the leader sent, with the leader's offsets. Batches of a
        later epoch than `leader_epoch`, that of the fetch, are left out (KAFKA-18723). Damage is
        refused with CORRUPT_MESSAGE; offsets that do not follow the log's end are refused with
        OFFSET_OUT_OF_RANGE and the leader's `first_offset`."""
        own = not self._counts_messages
        first = append_plain(self, records, leader_epoch, COPIED, own, copied=True)
        if first >= 0:
            return self._appended_plain(first, records)
        if self.offline:
            return self.refused(OFFLINE)
        start, end = self.log_start_offset, self.log_end_offset
        batches = batches_to_copy(records, leader_epoch, self.partition, start, end)
        if isinstance(batches, AppendRefusal):
            return self.refused(batches)
        if not batches:
            return LogAppendInfo(-1, end - 1, -1, -1, start)
        first, last = batches[0][1].base_offset, batches[-1][1].last_offset
        size = batches[-1][0] + batches[-1][1].size_in_bytes
        try:
            if first < end:
                self.truncate_fully_and_start_at(first)
            for _, header in batches:
                if header.partition_leader_epoch != self.leader_epochs.latest:
                    self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
            now_ms = self.environment.scheduler.wall_ms()
            max_timestamp = self._write(records[:size], batches, first, last, now_ms)
        except OSError as error:
            return self._append_failed(error)
        except LogDirFailure as failure:
            return self.refused(AppendRefusal(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))
        self.log_start_offset = start
        return self._appended(first, last, max_timestamp, size)

    def append_marker(
        self,
        batch: BytesLike,
        leader_epoch: int,
        now_ms: int,
        written: Callable[[], AbortedTxn | None],
    ) -> LogAppendInfo:
        """Append the control batch that `storage.log.end_transaction` built for the log's end.
        Errors are in the result. `written()` updates the producers, and returns an aborted
        transaction."""
        offset, size = self.log_end_offset, len(batch)
        try:
            if leader_epoch != self.leader_epochs.latest:
                self.leader_epochs.assign(leader_epoch, offset)
            segment = self.active
            if segment.is_full(offset, now_ms, size, now_ms):
                segment = self._roll(now_ms, offset)
            segment.note(offset, now_ms, segment.append(batch), size)
            self.log_end_offset = offset + 1
            self._note_aborted(written())
        except OSError as error:
            return self._append_failed(error)
        return self._appended(offset, offset, now_ms, size)

    def _write(
        self,
        records: memoryview,
        batches: list[tuple[int, RecordBatchHeader]],
        first_offset: int,
        last_offset: int,
        now_ms: int,
    ) -> int:
        """Write checked batches at offsets from `first_offset` on, into a new segment if the active
        one is full, and replay their producers. Return the largest timestamp. Raises OSError."""
        segment = self.active
        max_timestamp = max(header.max_timestamp for _, header in batches)
        if segment.is_full(last_offset, max_timestamp, len(records), now_ms):
            segment = self._roll(now_ms, first_offset)
        start = segment.append(records)
        offset, has_entry = first_offset, False
        for position, header in batches:
            base = max(header.base_offset, offset)
            last = base + header.last_offset_delta
            has_entry |= segment.note(
                last, header.max_timestamp, start + position, header.size_in_bytes
            )
            if header.has_producer_id:
                # This never raises CorruptBatch: the CRC is right, and a leader wrote the marker.
                marker = read_transaction_marker(records, position) if header.is_control else None
                if base != header.base_offset:
                    header = header._replace(base_offset=base)
                self._note_aborted(self.producer_state.replay(header, marker))
            offset = last + 1
        self.log_end_offset = last_offset + 1
        if has_entry:
            self._local.prepare_disk(early=self.is_replicated)
        return max_timestamp

    def write_plain(self, records: memoryview, size: int, last: int, max_timestamp: int) -> bool:
        """Append a batch to the active segment, which has room. Return False if the disk fails."""
        segment = self.active
        file = segment.file
        position = file.size
        try:
            file.append(records)
        except OSError as error:
            self.failed("append", error)
            return False
        self.log_end_offset = last + 1
        if segment.note(last, max_timestamp, position, size):
            self._index_grew()
        return True

    def _index_grew(self) -> None:
        """Set `timestamp_max` by the clock, and preallocate or write back if it is time."""
        self.timestamp_max = self.environment.scheduler.wall_ms() + self._after_max_ms
        self._local.prepare_disk(early=self.is_replicated)

    def _note_aborted(self, transaction: AbortedTxn | None) -> None:
        """Add an aborted transaction to its segment's index; None adds nothing. After an OSError,
        which is raised, the log is offline."""
        if transaction is not None:
            self.has_aborted = True
            try:
                self._local.note_aborted(transaction)
            except OSError:
                self.offline = True  # the marker is written, but the index lacks the transaction
                raise

    def _appended(
        self, first: int, last: int, max_timestamp: int, size: int, log_append_time: int = -1
    ) -> LogAppendInfo:
        """Fsync if `flush.messages` requires it. Return the append's result, with its error."""
        if self._counts_messages:
            try:
                self.flusher.appended(last - first + 1, self.config.flush_messages)
            except LogDirFailure as failure:
                return self.refused(AppendRefusal(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))
        start = self.log_start_offset
        return LogAppendInfo(first, last, max_timestamp, log_append_time, start, size)

    def refused(self, refusal: AppendRefusal) -> LogAppendInfo:
        """Return the result of an append that was refused."""
        return LogAppendInfo.refused(refusal, self.log_start_offset)

    def _append_failed(self, error: OSError) -> LogAppendInfo:
        """Take the log offline, as `failed` does, and return the result KAFKA_STORAGE_ERROR."""
        failure = self.failed("append", error)
        return self.refused(AppendRefusal(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))

    def failed(self, doing: str, error: OSError, *, torn: bool = False) -> LogDirFailure:
        """Take the log and its directory offline, except for a lack of descriptors. Return the
        exception, which the caller may raise. With `torn` the log in memory no longer matches that
        on disk: after any error the log is offline until the next start."""
        self.offline = self.offline or torn or not is_lack_of_descriptors(error)
        return self.environment.failures.fail(self.log_dir, f"{doing} of {self.partition}", error)

    @contextmanager
    def _failing(self, doing: str, *, torn: bool = False) -> Iterator[None]:
        """Call `failed` for an OSError in the block, and raise its LogDirFailure."""
        try:
            yield
        except OSError as error:
            raise self.failed(doing, error, torn=torn) from error

    def start_verification(
        self, producer_id: int, sequence: int, producer_epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """Return the guard for a transaction's first batch; None: it needs no verification."""
        now_ms = self.environment.scheduler.wall_ms()
        return self.producer_state.start_verification(
            producer_id, sequence, producer_epoch, supports_epoch_bump, now_ms
        )

    # ---- read ----------------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        upper_offset: int | None = None,
        min_one_message: bool = True,
    ) -> FetchDataInfo:
        """Return a slice of batches from the one that holds `start_offset` on. All are wholly below
        `upper_offset`: the high watermark, the last stable offset, or None for the log's end. With
        `min_one_message` the first batch is returned whole even if it is larger than `max_bytes`.
        Errors are in the result."""
        end = self.log_end_offset
        if start_offset < self.log_start_offset or start_offset > end:
            return _OUT_OF_RANGE
        if self.offline:
            return _STORAGE_ERROR
        if upper_offset is None or upper_offset > end:
            upper_offset = end
        if start_offset >= upper_offset:
            return NO_RECORDS
        active = self.active
        try:
            if start_offset >= active.base_offset:
                bound = None if upper_offset == end else upper_offset
                return active.read(start_offset, max_bytes, bound, min_one_message) or NO_RECORDS
            segments = self._local.segments
            return segments.read(start_offset, max_bytes, upper_offset, min_one_message)
        except CorruptBatch:
            return _CORRUPT
        except OSError as error:
            self.failed("read", error)
            return _STORAGE_ERROR

    # ---- truncation and deletion ---------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Remove the batch that holds `offset`, and all after it. Return False if the log ends at
        `offset` or before. The log start does not go back, even if the batch that held it is
        removed. Raises LogDirFailure."""
        with self._failing("truncation", torn=True):
            if offset >= self.log_end_offset:
                self.leader_epochs.truncate_from_end(offset, durably=False)  # KAFKA-10706
                return False
            if offset < self._local.segments.first.base_offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self.flusher.note_truncation(offset)
            end = self._local.truncate_to(offset)
            self._set_end(max(end, min(offset, self.log_start_offset)))
            self._rebuild_producers()
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove all records, epochs and producers, and continue the log at `offset`. The log start
        becomes `log_start_offset`, at most `offset`; None: `offset`. Raises LogDirFailure."""
        with self._failing("truncation", torn=True):
            self.flusher.note_truncation(offset)
            self._local.truncate_fully(offset, self.environment.scheduler.wall_ms())
            self.leader_epochs.clear()
            self.producer_state.clear(offset)
            self.log_start_offset = offset if log_start_offset is None else log_start_offset
            self._set_end(offset)

    def _set_end(self, offset: int) -> None:
        """Set the end to `offset` after a truncation, and limit all other offsets to it."""
        self.active = self._local.segments.active
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.flusher.note_truncation(offset)
        self.update_high_watermark(self.high_watermark)
        self.leader_epochs.truncate_from_end(offset)

    def _rebuild_producers(self) -> None:
        """Rebuild the producer state up to the log's end, after a truncation."""
        if not self.producer_state.entries:  # no producer to forget: the log need not be read
            self.producer_state.clear(self.log_end_offset)
            return
        start, end = self.log_start_offset, self.log_end_offset
        now_ms = self.environment.scheduler.wall_ms()
        local = self._local
        rebuild_producers(local.segments, self.producer_state, local.snapshots, start, end, now_ms)

    def increment_log_start_offset(self, offset: int) -> ErrorCode:
        """Raise the log start to `offset`, for DeleteRecords and a leader's log start: readers no
        longer get records before it. Return NONE, also without effect below the log start;
        OFFSET_OUT_OF_RANGE above the high watermark; KAFKA_STORAGE_ERROR if the disk fails."""
        if self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if offset > self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            try:
                self.leader_epochs.truncate_from_start(offset)
            except OSError as error:
                self.failed("moving the log start", error)
                return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def remove_oldest(self, segments: list[LogSegment]) -> None:
        """Take the oldest segments out of the log; their files are removed after
        `file.delete.delay.ms`. Raises LogDirFailure."""
        with self._failing("deletion of segments"):
            self._local.remove_oldest(segments)

    def replace_segments(self, group: CleanedGroup) -> None:
        """Replace the group's source segments, which must be unchanged, by the cleaned one. The
        names of its files are durable after the caller has synced the folder. Raises
        LogDirFailure."""
        with self._failing("replacing segments"):
            replace_segments(self.environment.filesystem, self._local, self.config, group)

    # ---- durability ----------------------------------------------------------------------------

    @property
    def recovery_point(self) -> int:
        """The offset up to which the log is fsynced."""
        return self.flusher.recovery_point

    def flush(self, done: Flushed | None = None) -> None:
        """Make the log durable, off the loop, then call `done(error)`."""
        self.flusher.flush(done)

    def close(self) -> None:
        """Write and fsync all files, then close them. Raises LogDirFailure."""
        self.flusher.close()

    def give_back_unused_room(self) -> None:
        """Free preallocated space if the log is idle since the last call. Raises LogDirFailure."""
        with self._failing("giving back room"):
            self._local.give_back_unused_room(self.log_end_offset)

    def roll(self, now_ms: int | None = None) -> None:
        """Begin a new segment at the log's end. Raises LogDirFailure."""
        if now_ms is None:
            now_ms = self.environment.scheduler.wall_ms()
        with self._failing("roll"):
            self._roll(now_ms, self.log_end_offset)

    def _roll(self, now_ms: int, base_offset: int) -> LogSegment:
        """Begin a new segment at `base_offset`, and return it. Snapshot the producers, and flush
        the old segment off the loop. Raises OSError."""
        old = self.active
        self.active = self._local.roll(base_offset, now_ms)
        if self.active is not old:
            self._local.snapshots.take(self.producer_state, base_offset)
            # The old segment's index files are new, even if its batches were flushed before.
            self.flusher.flush(from_offset=old.base_offset)
        return self.active

    # ---- the folder ----------------------------------------------------------------------------

    def set_topic_id(self, topic_id: bytes) -> None:
        """Set the topic id, after `partition.metadata` was written to a folder that had none."""
        self.topic_id = topic_id

    def set_being_cleaned(self, being_cleaned: bool) -> None:
        """Set `being_cleaned`: while it is true, retention deletes no segments."""
        self.being_cleaned = being_cleaned

    def go_offline(self) -> None:
        """Reject appends and reads from now on, because the log directory failed."""
        self.offline = True

    def retire(self) -> None:
        """Reject appends and reads, and close the files. Slices that are being sent stay valid."""
        self.go_offline()
        self._local.release_descriptors()

    def rename(self, directory: str) -> None:
        """Rename the folder (deletion of a log begins so). Raises LogDirFailure."""
        with self._failing("rename"):
            self._local.rename(directory)
