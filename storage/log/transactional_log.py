"""What idempotence and transactions add to a log: who may append, and what was aborted.

Owns: the questions to producer state that an append asks, the transaction index, and the guards of
KIP-890. The last stable offset, which follows from both sides, is `storage.log.recoverable_log`'s.

Never: writes a batch, but for markers (`storage.log.unified_log` does), or asks a coordinator.

Kafka's class: `UnifiedLog` 4.3. KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from bisect import bisect_left

from protocol.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    build_transaction_marker,
    read_transaction_marker,
)
from protocol.errors import ErrorCode
from protocol.record_batch import RecordBatchHeader, TimestampType
from storage.log.file_records import FileRecords
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_dir_failure import LogDirFailure
from storage.log.recoverable_log import RecoverableLog
from storage.log.refusal import LOG_APPEND_TIME, Refusal
from storage.log.transaction_index import AbortedTxn
from storage.log.verification_state import VerificationGuard

OFFLINE = Refusal(ErrorCode.KAFKA_STORAGE_ERROR, "The log directory is offline.")
_NOBODYS = Refusal(
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "A marker needs a producer id, a producer epoch and a transaction version, each other than -1.",
)


class TransactionalLog(RecoverableLog):
    """One partition's log, as producers and transactions see it."""

    # ---- append --------------------------------------------------------------------------------

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer has a transaction open here under just this epoch."""
        return self._producers.has_ongoing_transaction(producer_id, producer_epoch)

    def maybe_start_transaction_verification(
        self, producer_id: int, sequence: int, producer_epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """What an append has to bring along once the coordinator has said yes; None where the
        transaction has begun here, and nobody needs to be asked.

        `sequence` is the batch's base sequence, -1 without one.
        """
        producers = self._producers
        if producers.has_ongoing_transaction(producer_id, producer_epoch):
            return None
        now_ms = self._environment.scheduler.wall_ms()
        return producers.start_verification(
            producer_id, sequence, producer_epoch, supports_epoch_bump, now_ms
        )

    def _check_producers(
        self,
        batches: list[tuple[int, RecordBatchHeader]],
        origin: AppendOrigin,
        guard: VerificationGuard | None,
    ) -> LogAppendInfo | None:
        """A refusal, or the answer to a duplicate; None when all batches may be appended."""
        from_client = origin is AppendOrigin.CLIENT
        for _, header in batches:
            if not header.has_producer_id or header.is_control:
                continue
            if from_client:
                known = self._producers.find_duplicate(header)
                if known is not None:
                    return LogAppendInfo(
                        known.first_offset,
                        known.last_offset,
                        known.timestamp,
                        known.timestamp,
                        self.log_start_offset,
                        duplicate=True,
                    )
            fault = self._producers.check(
                header, self.log_end_offset, check_sequence=from_client, guard=guard
            )
            if fault is not None:
                return self._refused(Refusal(fault.code, fault.message or ""))
        return None

    def append_end_txn_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        committed: bool,
        leader_epoch: int,
        now_ms: int,
        transaction_version: int,
    ) -> LogAppendInfo:
        """End a producer's transaction here, as its coordinator says; also where it has none.

        `transaction_version` is the level of that feature under which the transaction ran. Refused
        with INVALID_PRODUCER_EPOCH, or TRANSACTION_COORDINATOR_FENCED; and as Kafka does, with
        UNKNOWN_SERVER_ERROR, where one of the first two or the last is -1, which stands for none.
        """
        if self.offline:
            return self._refused(OFFLINE)
        if -1 in (producer_id, producer_epoch, transaction_version):
            return self._refused(_NOBODYS)
        offset = self.log_end_offset
        fault = self._producers.check_marker(
            producer_id, producer_epoch, coordinator_epoch, offset, transaction_version
        )
        if fault is not None:
            return self._refused(Refusal(fault.code, fault.message or ""))
        kind = ControlRecordType.COMMIT if committed else ControlRecordType.ABORT
        batch = build_transaction_marker(
            kind,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
            leader_epoch=leader_epoch,
            base_offset=offset,
            timestamp_type=TimestampType(self.config.message_timestamp_type == LOG_APPEND_TIME),
        )
        size = len(batch)
        try:
            if leader_epoch != self.leader_epochs.latest:
                self.leader_epochs.assign(leader_epoch, offset)
            segment = self._active
            if segment.is_full(offset, now_ms, size, now_ms):
                segment = self._roll(now_ms)
            segment.note(offset, now_ms, segment.append(batch), size)
            self.log_end_offset = offset + 1
            marker = EndTransactionMarker(kind, coordinator_epoch)
            raised = transaction_version >= 2
            self._note_aborted(
                self._producers.end_transaction(
                    producer_id, producer_epoch, marker, offset, now_ms, raised=raised
                )
            )
        except OSError as error:
            return self._append_failed(error)
        info = LogAppendInfo(offset, offset, now_ms, -1, self.log_start_offset, size)
        return self._count_messages(info) if self._counts_messages else info

    def _note_producer(self, records: memoryview, position: int, header: RecordBatchHeader) -> None:
        """A batch of a producer was written. Raises OSError; CorruptBatch never: the CRC is right,
        and a leader wrote the marker."""
        marker = read_transaction_marker(records, position) if header.is_control else None
        self._note_aborted(self._producers.replay(header, marker))

    def _note_aborted(self, transaction: AbortedTxn | None) -> None:
        if transaction is not None:
            self._has_aborted = True
            try:
                self._local.note_aborted(transaction)
            except OSError:
                self.offline = True  # the marker is written, and what it ended is known to nobody
                raise

    def _refused(self, refusal: Refusal) -> LogAppendInfo:
        start = self.log_start_offset if refusal.names_log_start else -1
        return LogAppendInfo.refused(refusal.error, refusal.message, start, refusal.record_errors)

    def _count_messages(self, info: LogAppendInfo) -> LogAppendInfo:
        """`flush.messages`: fsync before the answer, as its meaning is (not the default)."""
        if self._flusher.count(info.last_offset - info.first_offset + 1) >= self._flush_messages:
            try:
                self.flush_now()
            except LogDirFailure as failure:
                return self._refused(Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))
        return info

    def _append_failed(self, error: OSError) -> LogAppendInfo:
        failure = self._failed("append", error)
        return self._refused(Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))

    # ---- read ----------------------------------------------------------------------------------

    def aborted_in(self, start_offset: int, records: FileRecords | bytes) -> list[AbortedTxn]:
        """The aborted transactions that a slice from `read(start_offset, …)` may have records of.

        Raises CorruptBatch, or LogDirFailure.
        """
        if not self._has_aborted or not isinstance(records, FileRecords):
            return []
        try:
            return self.collect_aborted(start_offset, self._end_of(start_offset, records))
        except OSError as error:
            raise self._failed("reading aborted transactions", error) from error

    def collect_aborted(self, start_offset: int, end_offset: int) -> list[AbortedTxn]:
        """Aborted transactions that overlap [start_offset, end_offset), in the order of markers.

        A marker may lie segments behind its records: the search ends where an entry tells that
        everything below `end_offset` was stable. Raises CorruptBatch and OSError.
        """
        found: list[AbortedTxn] = []
        for segment in self._local.segments.read_from(start_offset):
            aborted = segment.aborted
            first = bisect_left(aborted, start_offset, key=lambda one: one.last_offset)
            for one in aborted[first:] if first else aborted:
                if one.first_offset < end_offset:
                    found.append(one)
                if one.last_stable_offset >= end_offset:
                    return found
        return found

    def _end_of(self, start_offset: int, records: FileRecords) -> int:
        """An offset that the slice does not reach; a little far, as the index is sparse."""
        segments = self._local.segments.read_from(start_offset)
        for segment in segments:
            if (file := segment.open_file) is not None and records.lies_in(file):
                beyond = segment.offset_beyond(records.position + len(records))
                if beyond is not None:
                    return beyond
                following = next(segments, None)
                return following.base_offset if following else self.log_end_offset
        return self.log_end_offset
