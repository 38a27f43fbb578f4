"""A coordinator's internal topic on the replicas of this broker: the real `CoordinatorLog`.

An append goes through `Partition` like a Produce with acks=all: one batch, of the origin
COORDINATOR. For records of a transaction, the transaction coordinator verifies it first, as for a
Produce. Loading reads parts of `offsets.load.buffer.size` bytes in the blocking pool and delivers
each on the loop; the next part is read after the receiver asks for it. Owns the callbacks that wait
for an offset to be committed. Never interprets the records. Follows Kafka's
`CoordinatorPartitionWriter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from broker.coordinator.coordinator_log import (
    AppendResult,
    Deliver,
    LogRecord,
    Record,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
    VerificationCallback,
)
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.verification.append_verification import AppendVerification, Errors, Guards
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.ports import Blocking
from ground.sliced_work import Pace, Steps, in_one_go
from ground.topic_partition import TopicPartition
from protocol import records as batch_records
from protocol.control_records import ControlRecordType, control_record_type
from protocol.errors import ErrorCode
from protocol.plain_batch import add_plain_records, build_plain_batch, finish_plain_batch
from protocol.record_batch import (
    HEADER_SIZE,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    CorruptBatch,
    iterate_batches,
)
from storage.log.file_records import FileRecords
from storage.log.log_append_info import AppendOrigin

ALL_REPLICAS = -1
NO_SEQUENCE = -1
LACK_RETRY_MS = 1_000
BUILT_AT_ONCE = 500
"""The number of records of a batch that are written in one slice."""

Loaded = list[LogRecord | TransactionMarker]


class ReplicaCoordinatorLog:
    """The partitions of an internal topic that this broker leads.

    `verification` asks the transaction coordinator before an append with a transaction. Without
    `verification`, such appends are not checked.
    """

    def __init__(
        self,
        topic: str,
        replicas: ReplicaManager,
        blocking: Blocking,
        load_buffer_bytes: int,
        compression: int = 0,
        verification: AppendVerification | None = None,
    ) -> None:
        """Create the log of `topic`. `compression` is the codec's number in a batch. Without
        `verification`, transactional appends are not checked."""
        self._verification = verification
        self._topic = topic
        self._replicas = replicas
        self._blocking = blocking
        self._load_buffer_bytes = load_buffer_bytes
        self._compression = compression
        self._waiting: dict[Partition, _CommitWaiters] = {}

    def append(
        self,
        partition: int,
        leader_epoch: int,
        records: Sequence[Record],
        transaction: TransactionalAppend | None = None,
        batch: bytearray | None = None,
    ) -> AppendResult:
        """Append `records` as one batch, all or none, stamped with the current time.

        If `batch` is given, its records have the time at which `build` made it. The error is
        NOT_LEADER_OR_FOLLOWER if this node does not lead in `leader_epoch`, or that of an absent
        replica or of the append. Requests that wait for the partition are woken in a later turn of
        the loop.
        """
        leader = self._led_partition(partition, leader_epoch)
        if isinstance(leader, ErrorCode):
            return AppendResult(leader)
        now_ms = self._replicas.scheduler.wall_ms()
        if batch is None and transaction is None and not self._compression:
            batch = build_plain_batch(records, now_ms)
        elif batch is None:
            batch = in_one_go(self.build(records, transaction))
        info = leader.append_as_leader(
            memoryview(batch),
            ALL_REPLICAS,
            now_ms,
            origin=AppendOrigin.COORDINATOR,
            verification_guard=None if transaction is None else transaction.guard,
            internal_allowed=True,
        )
        if isinstance(info, ErrorCode):
            return AppendResult(info)
        if info.error:
            return AppendResult(info.error)
        # Not within this call: the caller begins to wait for this offset only after it.
        self._replicas.scheduler.call_soon(leader.changed)
        return AppendResult(ErrorCode.NONE, info.first_offset, info.last_offset)

    def build(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[bytearray]:
        """Build the batch of these records in slices, stamped with the current time."""
        now_ms = self._replicas.scheduler.wall_ms()
        if transaction is None and not self._compression:
            batch = bytearray(HEADER_SIZE)
            for first in range(0, len(records), BUILT_AT_ONCE):
                add_plain_records(batch, records[first : first + BUILT_AT_ONCE], first)
                yield None
            return finish_plain_batch(batch, len(records), now_ms)
        pace = Pace(BUILT_AT_ONCE)
        producer = None if transaction is None else transaction.producer
        builder = batch_records.RecordBatchBuilder(
            compression=self._compression,
            producer_id=NO_PRODUCER_ID if producer is None else producer.producer_id,
            producer_epoch=NO_PRODUCER_EPOCH if producer is None else producer.producer_epoch,
            is_transactional=producer is not None,
        )
        for key, value in records:
            if pace.is_full():
                yield None
            builder.append(key, value, now_ms)
        return builder.build()

    def verify_transaction(
        self,
        partition: int,
        producer: TransactionalProducer,
        operation: TransactionSupportedOperation,
        done: VerificationCallback,
    ) -> None:
        """Make sure that `partition` is in the producer's transaction, before an append to it.

        `done` gets the permission to append, or the error of the verification or of an absent
        replica. Without an `AppendVerification`, nothing is checked.
        """
        replica = self._replicas.partition(self._topic, partition)
        if replica is None:
            done(self._replicas.why_absent(self._topic, partition))
            return
        if self._verification is None:
            done(TransactionalAppend(producer))
            return
        key = TopicPartition(self._topic, partition)

        def verified(errors: Errors, guards: Guards) -> None:
            """Call `done` with the guarded append, or with the error of the verification."""
            error = errors.get(key, ErrorCode.NONE)
            if error is ErrorCode.NONE:
                done(TransactionalAppend(producer, guards.get(key)))
            else:
                done(error)

        self._verification.verify(*producer, {replica: NO_SEQUENCE}, operation, verified)

    def high_watermark(self, partition: int) -> int:
        """Return the offset below which the log is committed; 0 if this node has no replica."""
        replica = self._replicas.partition(self._topic, partition)
        return 0 if replica is None else replica.log.high_watermark

    def when_committed(self, partition: int, offset: int, callback: Callable[[], None]) -> None:
        """Call `callback` once when the high watermark is above `offset`: now if it already is.

        If this node does not lead the partition, or stops to, `callback` is never called.
        """
        replica = self._replicas.partition(self._topic, partition)
        if replica is None or not replica.is_leader:
            return
        if replica.log.high_watermark > offset:
            callback()
            return
        waiters = self._waiting.get(replica)
        if waiters is None:
            waiters = self._waiting[replica] = _CommitWaiters(self._waiting)
            replica.listeners[waiters] = None
        waiters.add(offset, callback)

    def load(
        self,
        partition: int,
        leader_epoch: int,
        deliver: Deliver,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Read the log from start to end: `deliver` its parts in order, then call `done`.

        `done` gets NONE, or the error because of which no part follows: this node does not lead in
        `leader_epoch` or the log is unreadable.
        """
        leader = self._led_partition(partition, leader_epoch)
        if isinstance(leader, ErrorCode):
            done(leader)
            return
        self._load_from(leader, leader_epoch, leader.log.log_start_offset, deliver, done)

    def _load_from(
        self,
        partition: Partition,
        leader_epoch: int,
        offset: int,
        deliver: Deliver,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Deliver the log from `offset` on in parts, each read and decoded on another thread.

        `deliver` also gets the call that loads the next part. `done` gets NONE at the log's end,
        NOT_LEADER_OR_FOLLOWER if the epoch has ended, or the error of an unreadable log. A lack of
        file descriptors delays a part.
        """
        if not partition.is_leader or partition.leader_epoch != leader_epoch:
            done(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        data = partition.log.read(offset, self._load_buffer_bytes)
        if data.error is ErrorCode.KAFKA_STORAGE_ERROR and not partition.log.offline:
            # No file descriptor is left for an old segment: retry later, and keep what is loaded.
            retry = partial(self._load_from, partition, leader_epoch, offset, deliver, done)
            self._replicas.scheduler.call_later(LACK_RETRY_MS, retry)
            return
        if data.error or not isinstance(data.records, FileRecords):
            done(data.error)
            return
        records = data.records

        def job() -> tuple[int, Loaded]:
            """Read this part of the log and decode it: the next offset and the records."""
            return _decode(records.read(), offset)

        def loaded(result: tuple[int, Loaded] | None, error: Exception | None) -> None:
            """Deliver the decoded part with the call that loads the next, or call `done` with the
            error."""
            if not partition.is_leader or partition.leader_epoch != leader_epoch:
                # Checked first: a follower may have truncated the records that were read.
                done(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            elif isinstance(error, OSError):
                done(ErrorCode.KAFKA_STORAGE_ERROR)
            elif isinstance(error, CorruptBatch):
                done(ErrorCode.CORRUPT_MESSAGE)
            elif error is not None or result is None:
                raise AssertionError(f"loading {partition!r} failed") from error
            else:
                next_offset, part = result
                load_next = partial(
                    self._load_from, partition, leader_epoch, next_offset, deliver, done
                )
                deliver(part, load_next)

        self._blocking.submit(job, loaded)

    def _led_partition(self, partition: int, leader_epoch: int) -> Partition | ErrorCode:
        """Return the partition if this node leads it in this epoch, else NOT_LEADER_OR_FOLLOWER or
        the reason why the replica is absent."""
        replica = self._replicas.partition(self._topic, partition)
        if replica is None:
            return self._replicas.why_absent(self._topic, partition)
        if not replica.is_leader or replica.leader_epoch != leader_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return replica


class _CommitWaiters:
    """The callbacks that wait for offsets of a partition (a `PartitionListener`)."""

    def __init__(self, registry: dict[Partition, _CommitWaiters]) -> None:
        """Create without callbacks. The waiters remove themselves from `registry` when none is
        left."""
        self._registry = registry
        self._waiting: list[tuple[int, Callable[[], None]]] = []

    def add(self, offset: int, callback: Callable[[], None]) -> None:
        self._waiting.append((offset, callback))

    def partition_changed(self, partition: Partition) -> None:
        """Call the callbacks whose offset is committed. Drop all if this node no longer leads.

        When none is left, stop listening to the partition.
        """
        high_watermark = partition.log.high_watermark if partition.is_leader else -1
        ready = [callback for offset, callback in self._waiting if offset < high_watermark]
        self._waiting = [w for w in self._waiting if w[0] >= high_watermark >= 0]
        if not self._waiting:
            partition.listeners.pop(self, None)
            self._registry.pop(partition, None)
        for callback in ready:
            callback()


def _decode(data: bytes, from_offset: int) -> tuple[int, Loaded]:
    """Return the offset after the whole batches in `data`, and their records from `from_offset`."""
    loaded: Loaded = []
    next_offset = from_offset
    view = memoryview(data)
    for position, header in iterate_batches(view, allow_partial_tail=True):
        next_offset = header.next_offset
        for record in batch_records.iterate_records(view, position):
            if record.offset < from_offset:
                continue
            if header.is_control:
                loaded.extend(_marker(record, header.producer_id))
                continue
            producer_id = header.producer_id if header.is_transactional else -1
            loaded.append(LogRecord(record.offset, record.key, record.value, producer_id))
    return next_offset, loaded


def _marker(record: batch_records.Record, producer_id: int) -> Iterable[TransactionMarker]:
    """Yield the marker of a control record, if it ends a transaction."""
    kind = control_record_type(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        yield TransactionMarker(record.offset, producer_id, kind == ControlRecordType.COMMIT)
