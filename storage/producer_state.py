"""What a log knows of its idempotent and transactional producers: sequences, epochs, open work.

Owns: per producer id the last five batches (a retry is recognised by its sequence range, and gets
its old offsets), the producer epoch, and the first offset of an open transaction, which bounds the
last stable offset. The state is a function of the log: it is rebuilt from snapshots
(`storage.producer_snapshot`) and the batches after them.

Never: decodes records, or holds anything that is not in the log.

Follows KIP-98, KIP-360, KIP-890 and Kafka's `ProducerStateManager`, `ProducerAppendInfo`,
`ProducerStateEntry` 4.3. Sequences wrap from 2^31-1 to 0.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from protocol.errors import ApiError, ErrorCode
from protocol.record_batch import RecordBatchHeader

BATCHES_PER_PRODUCER = 5
SEQUENCE_MASK = 0x7FFFFFFF
NO_EPOCH = -1
NO_SEQUENCE = -1


class BatchMetadata(NamedTuple):
    """One appended batch of a producer."""

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
    """One producer id. `current_txn_first_offset` is None outside a transaction."""

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

    @property
    def last_offset(self) -> int:
        """The offset of its last record, or -1."""
        return self.batches[-1].last_offset if self.batches else -1

    def add(self, last_sequence: int, last_offset: int, delta: int, timestamp: int) -> None:
        """Remember a batch of the present epoch, as the latest of five."""
        self.batches.append(BatchMetadata(last_sequence, last_offset, delta, timestamp))
        self.last_sequence = last_sequence
        self.last_timestamp = timestamp

    def find(self, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """The remembered batch with exactly this range of sequences."""
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                return batch
        return None


class ProducerStateManager:
    """All producers of one log, up to `map_end_offset` (exclusive)."""

    __slots__ = ("_ongoing", "entries", "expiration_ms", "map_end_offset", "topic_partition")

    def __init__(self, topic_partition: str, expiration_ms: int) -> None:
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        self.entries: dict[int, ProducerStateEntry] = {}
        self.map_end_offset = 0
        # Open transactions: first offset → producer id, in the order they began.
        self._ongoing: dict[int, int] = {}

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return next(iter(self._ongoing), None)

    def find_duplicate(self, header: RecordBatchHeader) -> BatchMetadata | None:
        """The batch this one repeats, when it is among the producer's last five."""
        entry = self.entries.get(header.producer_id)
        if entry is None or entry.producer_epoch != header.producer_epoch:
            return None
        return entry.find(header.base_sequence, header.last_sequence)

    def check(
        self, header: RecordBatchHeader, offset: int, *, check_sequence: bool
    ) -> ApiError | None:
        """Why the batch may not be appended at `offset`; None when it continues its producer.

        A producer id that is not known may start with any sequence: its records may have been
        deleted (KIP-360). Sequences of replicated batches were checked by the leader.
        """
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return None
        epoch, seen = header.producer_epoch, entry.producer_epoch
        if epoch < seen:
            if not check_sequence:
                return None
            return ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Epoch of producer {header.producer_id} at offset {offset} in "
                f"{self.topic_partition} is {epoch}, which is smaller than the last seen "
                f"epoch {seen}",
            )
        if not check_sequence:
            return None
        if epoch != seen:
            if header.base_sequence == 0 or seen == NO_EPOCH:
                return None
            return ApiError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of producer {header.producer_id} at "
                f"offset {offset} in partition {self.topic_partition}: {epoch} (request epoch), "
                f"{header.base_sequence} (seq. number), {seen} (current producer epoch)",
            )
        last = entry.last_sequence
        if header.base_sequence == (last + 1) & SEQUENCE_MASK:  # none yet is -1: the first is 0
            return None
        return ApiError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {header.producer_id} at offset {offset} "
            f"in partition {self.topic_partition}: {header.base_sequence} (incoming seq. number), "
            f"{last} (current end sequence number)",
        )

    def update(self, header: RecordBatchHeader, base_offset: int) -> None:
        """A data batch with a producer id is in the log at `base_offset`."""
        entry = self.entries.get(header.producer_id)
        if entry is None:
            entry = self.entries[header.producer_id] = ProducerStateEntry(header.producer_id)
        if entry.producer_epoch != header.producer_epoch:
            entry.batches.clear()
            entry.producer_epoch = header.producer_epoch
        delta = header.last_offset_delta
        entry.add(header.last_sequence, base_offset + delta, delta, header.max_timestamp)
        if header.is_transactional and entry.current_txn_first_offset is None:
            entry.current_txn_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id

    def end_transaction(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int
    ) -> int | None:
        """A control record ends the producer's transaction; gives its first offset, if it had one.

        Transactions come in a later issue; the state here is complete for replaying their logs.
        """
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerStateEntry(producer_id)
        if entry.producer_epoch != producer_epoch:
            entry.batches.clear()
            entry.last_sequence = NO_SEQUENCE
            entry.producer_epoch = producer_epoch
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        first, entry.current_txn_first_offset = entry.current_txn_first_offset, None
        if first is not None:
            self._ongoing.pop(first, None)
        return first

    def replay(self, header: RecordBatchHeader) -> None:
        """A batch of the log, in order, while the state is rebuilt."""
        if header.has_producer_id:
            if header.is_control:
                self.end_transaction(
                    header.producer_id, header.producer_epoch, -1, header.max_timestamp
                )
            else:
                self.update(header, header.base_offset)
        self.map_end_offset = header.next_offset

    def is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        """Whether a producer was silent for `producer.id.expiration.ms`."""
        if entry.current_txn_first_offset is not None:
            return False
        return now_ms - entry.last_timestamp >= self.expiration_ms

    def remove_expired(self, now_ms: int) -> int:
        """Forget silent producers; gives how many."""
        expired = [pid for pid, entry in self.entries.items() if self.is_expired(entry, now_ms)]
        for producer_id in expired:
            del self.entries[producer_id]
        return len(expired)

    def clear(self, end_offset: int) -> None:
        """Nothing is known, up to `end_offset`."""
        self.entries.clear()
        self._ongoing.clear()
        self.map_end_offset = end_offset

    def restore(self, entry: ProducerStateEntry) -> None:
        """Take an entry from a snapshot."""
        self.entries[entry.producer_id] = entry
        if entry.current_txn_first_offset is not None:
            self._ongoing[entry.current_txn_first_offset] = entry.producer_id
            self._ongoing = dict(sorted(self._ongoing.items()))
