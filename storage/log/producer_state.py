"""The state of a log's idempotent and transactional producers: sequences, epochs, transactions.

Owns, for each producer id: the last five batches, the producer epoch, the coordinator epoch of its
last marker, and the first offset of an open transaction. A retry is recognised by its sequence
range, and gets the old offsets; an open transaction bounds the last stable offset. All that is a
function of the log, and is rebuilt from snapshots (`storage.log.producer_snapshot`) and the batches
after them. It also owns the verifications under way (KIP-890), which a restart loses.

Never: decodes records; the caller decodes markers.

Follows KIP-98, KIP-360, KIP-890 and Kafka's `ProducerStateManager`, `ProducerAppendInfo`,
`ProducerStateEntry`. Sequences wrap from 2^31-1 to 0.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from log_format.transaction_index import AbortedTxn
from protocol.control_records import ControlRecordType, EndTransactionMarker
from protocol.errors import ApiError, ErrorCode
from protocol.record_batch import NO_PRODUCER_EPOCH, RecordBatchHeader
from storage.log.ongoing_transactions import OngoingTransactions
from storage.log.producer_rules import ProducerRules
from storage.log.verification_state import VerificationGuard, VerificationState

BATCHES_PER_PRODUCER = 5
SEQUENCE_MASK = 0x7FFFFFFF
NO_EPOCH = -1
NO_SEQUENCE = -1
EPOCH_BUMP_VERSION = 2
"""The level of the feature `transaction.version` from which on each end of a transaction raises the
producer epoch (KIP-890)."""


class BatchMetadata(NamedTuple):
    """An appended batch of a producer."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """The sequence of its first record."""
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        """The offset of its first record."""
        return self.last_offset - self.offset_delta


class ProducerStateEntry:
    """The state of a producer id. `current_txn_first_offset` is None outside a transaction."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_sequence",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = NO_EPOCH
        self.coordinator_epoch = -1
        self.last_timestamp = -1
        self.last_sequence = NO_SEQUENCE
        self.current_txn_first_offset: int | None = None
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_PER_PRODUCER)

    @classmethod
    def of_snapshot(
        cls,
        producer_id: int,
        producer_epoch: int,
        last: BatchMetadata,
        last_timestamp: int,
        coordinator_epoch: int,
        txn_first_offset: int,
    ) -> ProducerStateEntry:
        """Return the entry of a snapshot's fields. An offset of -1 means that there is none."""
        entry = cls(producer_id)
        entry.producer_epoch = producer_epoch
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = last_timestamp
        entry.last_sequence = last.last_sequence
        entry.current_txn_first_offset = None if txn_first_offset < 0 else txn_first_offset
        if last.last_offset >= 0:
            entry.batches.append(last)
        return entry

    @property
    def last_offset(self) -> int:
        """The offset of its last record, -1 without one."""
        return self.batches[-1].last_offset if self.batches else -1

    def add(self, last_sequence: int, last_offset: int, delta: int, timestamp: int) -> None:
        """Add a batch of the present epoch as the latest of five, and set the last sequence and
        timestamp."""
        self.batches.append(BatchMetadata(last_sequence, last_offset, delta, timestamp))
        self.last_sequence = last_sequence
        self.last_timestamp = timestamp

    def find(self, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """Return the batch, of the last five, with exactly this range of sequences, else None."""
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                return batch
        return None


class ProducerStateManager:
    """The producers of one log, by its batches up to `map_end_offset` (exclusive)."""

    __slots__ = (
        "_verifications",
        "entries",
        "map_end_offset",
        "rules",
        "topic_partition",
        "transactions",
    )

    def __init__(self, topic_partition: str, rules: ProducerRules) -> None:
        self.topic_partition = topic_partition
        self.rules = rules
        self.entries: dict[int, ProducerStateEntry] = {}
        self.map_end_offset = 0
        self.transactions = OngoingTransactions()
        self._verifications: dict[int, VerificationState] = {}

    # ---- before an append ----------------------------------------------------------------------

    def find_duplicate(self, header: RecordBatchHeader) -> BatchMetadata | None:
        """Return the batch of the producer's last five that this one repeats, None if none."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.producer_epoch != header.producer_epoch:
            return None
        return entry.find(header.base_sequence, header.last_sequence)

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether the producer has an open transaction with exactly this epoch."""
        entry = self.entries.get(producer_id)
        return (
            entry is not None
            and entry.current_txn_first_offset is not None
            and entry.producer_epoch == producer_epoch
        )

    def match_next_batch(
        self, producer_id: int, epoch: int, sequence: int, in_transaction: bool
    ) -> ProducerStateEntry | None:
        """Return the producer if a batch has its epoch and its next sequence, else None.

        A transactional batch needs an open transaction too; any other batch needs that none is
        open.
        """
        entry = self.entries.get(producer_id)
        if (
            entry is None
            or entry.producer_epoch != epoch
            or sequence != (entry.last_sequence + 1) & SEQUENCE_MASK
            or (entry.current_txn_first_offset is None) is in_transaction
        ):
            return None
        return entry

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard | None:
        """Return the guard that the append needs after the coordinator has confirmed the
        transaction.

        It is the guard of this verification, or of an earlier one without an append yet. None means
        that the transaction has begun here, so no verification is needed.

        `sequence` is the batch's base sequence, -1 without one.
        """
        if self.has_ongoing_transaction(producer_id, epoch):
            return None
        state = self._verifications.get(producer_id)
        if state is None:
            state = VerificationState(now_ms, sequence, epoch, supports_epoch_bump)
            self._verifications[producer_id] = state
        else:
            state.note_batch(sequence, epoch)
        return state.guard

    def first_fault(
        self,
        batches: list[tuple[int, RecordBatchHeader]],
        offset: int,
        *,
        from_client: bool,
        guard: VerificationGuard | None,
    ) -> BatchMetadata | ApiError | None:
        """Return None if a leader may append all batches at `offset`.

        Otherwise return a value for the first batch that must not be appended: the error or, for a
        duplicate, the earlier batch that it repeats. `guard` is that of `start_verification`.
        """
        for _, header in batches:
            if not header.has_producer_id or header.is_control:
                continue
            answer = (self.find_duplicate(header) if from_client else None) or self.check(
                header, offset, check_sequence=from_client, guard=guard
            )
            if answer is not None:
                return answer
        return None

    def check(
        self,
        header: RecordBatchHeader,
        offset: int,
        *,
        check_sequence: bool,
        guard: VerificationGuard | None = None,
    ) -> ApiError | None:
        """Return the error if a leader must not append the data batch at `offset`, else None.

        Batches of a coordinator have no sequences to check. Followers do not call this, because
        the leader has checked their batches.
        """
        return (
            (self._transaction_fault(header, guard) if header.is_transactional else None)
            or self._epoch_fault(header.producer_id, header.producer_epoch, offset)
            or (self._sequence_fault(header, offset) if check_sequence else None)
            or self._mixture_fault(header, offset)
        )

    def _transaction_fault(
        self, header: RecordBatchHeader, guard: VerificationGuard | None
    ) -> ApiError | None:
        """Return INVALID_TXN_STATE if the batch would begin a transaction without its
        verification's `guard` (KIP-890). Return INVALID_PRODUCER_EPOCH if its epoch is old, None if
        it is valid."""
        producer_id, epoch = header.producer_id, header.producer_epoch
        if self.has_ongoing_transaction(producer_id, epoch):
            return None
        entry = self.entries.get(producer_id)
        if entry is not None and epoch < entry.producer_epoch:
            return ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen "
                f"epoch {entry.producer_epoch}",
            )
        state = self._verifications.get(producer_id)
        if self.rules.verifies and (state is None or state.guard is not guard):
            return ApiError(
                ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction"
            )
        return None

    def _epoch_fault(self, producer_id: int, epoch: int, offset: int) -> ApiError | None:
        """Return INVALID_PRODUCER_EPOCH if the epoch is below the producer's last one, else
        None."""
        entry = self.entries.get(producer_id)
        seen = NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch
        if epoch >= seen:
            return None
        return ApiError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {producer_id} at offset {offset} in {self.topic_partition} is "
            f"{epoch}, which is smaller than the last seen epoch {seen}",
        )

    def _sequence_fault(self, header: RecordBatchHeader, offset: int) -> ApiError | None:
        """Return OUT_OF_ORDER_SEQUENCE_NUMBER if the batch's sequence is not the producer's next
        one, or above the lowest that waits for a verification; else None.

        An unknown producer id may start with any sequence, because its records may have been
        deleted (KIP-360). With version 2 of the transactions protocol it starts with 0.
        """
        entry = self.entries.get(header.producer_id)
        sequence, epoch = header.base_sequence, header.producer_epoch
        where = f"producer {header.producer_id} at offset {offset} in partition"
        state = self._verifications.get(header.producer_id)
        if state is not None:
            if state.supports_epoch_bump and sequence != 0 and (entry is None or not entry.batches):
                return ApiError(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"Invalid sequence number for {where} {self.topic_partition}: {sequence} "
                    "(incoming seq. number). Expected sequence 0 for transactions v2 idempotent "
                    "producer with no existing state.",
                )
            if sequence > state.lowest_sequence:
                return ApiError(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"Out of order sequence number for {where} {self.topic_partition}: {sequence} "
                    f"(incoming seq. number), {state.lowest_sequence} (earliest seen sequence)",
                )
        if entry is None:
            return None
        seen = entry.producer_epoch
        if epoch != seen:
            if sequence == 0 or seen == NO_EPOCH:
                return None
            return ApiError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of {where} {self.topic_partition}: {epoch} "
                f"(request epoch), {sequence} (seq. number), {seen} (current producer epoch)",
            )
        last = entry.last_sequence
        if sequence == (last + 1) & SEQUENCE_MASK:  # `last` is -1 before the first batch
            return None
        return ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for {where} {self.topic_partition}: {sequence} "
            f"(incoming seq. number), {last} (current end sequence number)",
        )

    def _mixture_fault(self, header: RecordBatchHeader, offset: int) -> ApiError | None:
        """Return INVALID_TXN_STATE for a batch without a transaction while the producer has one
        open, else None."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.current_txn_first_offset is None or header.is_transactional:
            return None
        return ApiError(
            ErrorCode.INVALID_TXN_STATE,
            f"Expected transactional write from producer {header.producer_id} at offset {offset} "
            f"in partition {self.topic_partition}",
        )

    def check_marker(
        self,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
        offset: int,
        transaction_version: int,
    ) -> ApiError | None:
        """Return the error if a coordinator's marker must not be appended at `offset`, else None.

        From version 2 of the transactions protocol on each end raises the epoch. So a marker with
        the present epoch is late or repeated, and only allowed if no transaction is open
        (KAFKA-19999).
        """
        entry = self.entries.get(producer_id) or ProducerStateEntry(producer_id)
        seen = entry.producer_epoch
        repeated = (
            transaction_version >= EPOCH_BUMP_VERSION
            and epoch == seen
            and entry.current_txn_first_offset is not None
        )
        if epoch < seen or repeated:
            sign = "<=" if transaction_version >= EPOCH_BUMP_VERSION else "<"
            return ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Epoch of producer {producer_id} at offset {offset} in {self.topic_partition} is "
                f"{epoch}, which is {sign} the last seen epoch {seen} (TV{transaction_version})",
            )
        if entry.coordinator_epoch > coordinator_epoch:
            return ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {producer_id} at offset {offset} in "
                f"partition {self.topic_partition}: {coordinator_epoch} (zombie), "
                f"{entry.coordinator_epoch} (current)",
            )
        return None

    # ---- after an append -----------------------------------------------------------------------

    def update(self, header: RecordBatchHeader, base_offset: int) -> None:
        """Add a data batch, with a producer id, that was appended at `base_offset` to its
        producer's state. A transactional batch begins a transaction if none is open, and ends the
        verification."""
        entry = self.entries.get(header.producer_id)
        if entry is None:
            entry = self.entries[header.producer_id] = ProducerStateEntry(header.producer_id)
        if entry.producer_epoch != header.producer_epoch:
            entry.batches.clear()
            entry.producer_epoch = header.producer_epoch
        delta = header.last_offset_delta
        entry.add(header.last_sequence, base_offset + delta, delta, header.max_timestamp)
        if header.is_transactional:
            self._verifications.pop(header.producer_id, None)
            if entry.current_txn_first_offset is None:
                entry.current_txn_first_offset = base_offset
                self.transactions.begin(base_offset, header.producer_id)

    def end_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        offset: int,
        timestamp: int,
        *,
        raised: bool = False,
    ) -> AbortedTxn | None:
        """Apply a marker at `offset` to its producer's state. It ends the producer's transaction if
        one is open here.

        Return the entry for the transaction index if the transaction was aborted, else None.

        With `raised` the end raised the epoch (transactions protocol version 2). A verification
        with `producer_epoch` itself belongs to the next transaction then, and stays valid. Its
        batch may precede the marker, because the client gets its answer before markers are written.
        """
        verification = self._verifications.get(producer_id)
        if verification is not None and not (
            raised and verification.supports_epoch_bump and verification.epoch >= producer_epoch
        ):
            del self._verifications[producer_id]
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerStateEntry(producer_id)
        if entry.producer_epoch != producer_epoch:
            entry.batches.clear()
            entry.last_sequence = NO_SEQUENCE
            entry.producer_epoch = producer_epoch
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        first, entry.current_txn_first_offset = entry.current_txn_first_offset, None
        if first is None:
            return None
        last_stable_offset = self.transactions.end(first, offset)
        if marker.type is not ControlRecordType.ABORT:
            return None
        return AbortedTxn(producer_id, first, offset, last_stable_offset)

    def update_map_end_offset(self, offset: int) -> None:
        """Set `map_end_offset`: the state covers the log up to `offset`, also after batches without
        a producer."""
        self.map_end_offset = offset

    def replay(
        self, header: RecordBatchHeader, marker: EndTransactionMarker | None = None
    ) -> AbortedTxn | None:
        """Apply the log's next batch to the state. Return the index entry if it aborts a
        transaction, else None.

        `marker` is that of a producer's control batch, None if compaction has removed it.
        """
        self.map_end_offset = header.next_offset
        if not header.has_producer_id:
            return None
        if not header.is_control:
            self.update(header, header.base_offset)
        elif marker is not None:
            return self.end_transaction(
                header.producer_id,
                header.producer_epoch,
                marker,
                header.base_offset,
                header.max_timestamp,
            )
        return None

    # ---- expiry and snapshots ------------------------------------------------------------------

    def is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        """Return whether a producer has been idle for `producer.id.expiration.ms`.

        A producer with an open transaction does not expire.
        """
        if entry.current_txn_first_offset is not None:
            return False
        return now_ms - entry.last_timestamp >= self.rules.expiration_ms

    def remove_expired(self, now_ms: int) -> int:
        """Forget expired producers, and verifications as old as `producer.id.expiration.ms`. Return
        the number of producers."""
        expired = [pid for pid, entry in self.entries.items() if self.is_expired(entry, now_ms)]
        for producer_id in expired:
            del self.entries[producer_id]
        for producer_id, state in list(self._verifications.items()):
            if now_ms - state.created_ms >= self.rules.expiration_ms:
                del self._verifications[producer_id]
        return len(expired)

    def clear(self, end_offset: int) -> None:
        """Forget all producers; the state is that at `end_offset` now. Verifications stay."""
        self.entries.clear()
        self.transactions.clear()
        self.map_end_offset = end_offset

    def restore(self, entry: ProducerStateEntry) -> None:
        """Add an entry of a snapshot, and its open transaction."""
        self.entries[entry.producer_id] = entry
        if entry.current_txn_first_offset is not None:
            self.transactions.restore(entry.current_txn_first_offset, entry.producer_id)
