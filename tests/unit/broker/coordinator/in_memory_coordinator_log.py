"""A coordinator's log in memory: tests say when records are committed and what append answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.sliced_work import Steps
from protocol.errors import ErrorCode


class InMemoryCoordinatorLog:
    """`broker.coordinator.coordinator_log.CoordinatorLog`."""

    def __init__(self, *, commit_at_once: bool = True) -> None:
        self.commit_at_once = commit_at_once
        self.append_error = ErrorCode.NONE
        self.appends = 0
        self.load_error = ErrorCode.NONE
        self.hold_loads = False
        self.records: dict[int, list[LogRecord | TransactionMarker]] = {}
        self.batches: list[list[LogRecord]] = []
        """Of all partitions, in the order in which they were appended."""
        self.committed: dict[int, int] = {}
        self._waiting: dict[int, list[tuple[int, Callable[[], None]]]] = {}
        self._held_loads: list[Callable[[], None]] = []
        self.verify_error = ErrorCode.NONE
        self.hold_verifications = False
        self.verifications: list[
            tuple[int, TransactionalProducer, TransactionSupportedOperation]
        ] = []
        self._held_verifications: list[Callable[[], None]] = []

    def build(
        self, _records: Sequence[Record], _transaction: TransactionalAppend | None
    ) -> Steps[bytearray]:
        """Records stay as they are."""
        yield from ()
        return bytearray()

    def append(
        self,
        partition: int,
        leader_epoch: int,
        records: Sequence[Record],
        transaction: TransactionalAppend | None = None,
        _batch: bytearray | None = None,
    ) -> AppendResult:
        """Append unless `append_error` says otherwise."""
        if self.append_error is not ErrorCode.NONE:
            return AppendResult(self.append_error)
        self.appends += 1
        log = self.records.setdefault(partition, [])
        first = len(log)
        producer_id = -1 if transaction is None else transaction.producer.producer_id
        batch = [
            LogRecord(first + index, key, value, producer_id)
            for index, (key, value) in enumerate(records)
        ]
        log.extend(batch)
        self.batches.append(batch)
        if self.commit_at_once:
            self.commit(partition)
        return AppendResult(ErrorCode.NONE, first, len(log) - 1)

    def verify_transaction(
        self,
        partition: int,
        producer: TransactionalProducer,
        operation: TransactionSupportedOperation,
        done: VerificationCallback,
    ) -> None:
        """Good, or `verify_error`; now or at `finish_verifications`."""
        self.verifications.append((partition, producer, operation))

        def verify() -> None:
            error = self.verify_error
            done(TransactionalAppend(producer) if error is ErrorCode.NONE else error)

        if self.hold_verifications:
            self._held_verifications.append(verify)
        else:
            verify()

    def finish_verifications(self) -> None:
        """Let every held verification end, in order."""
        held, self._held_verifications = self._held_verifications, []
        for verify in held:
            verify()

    def high_watermark(self, partition: int) -> int:
        """What `commit` says."""
        return self.committed.get(partition, -1) + 1

    def append_marker(self, partition: int, producer_id: int, committed: bool) -> int:
        """End a transaction, as WriteTxnMarkers does; its offset."""
        log = self.records.setdefault(partition, [])
        offset = len(log)
        log.append(TransactionMarker(offset, producer_id, committed))
        if self.commit_at_once:
            self.commit(partition)
        return offset

    def when_committed(self, partition: int, offset: int, callback: Callable[[], None]) -> None:
        """Now, or when `commit` gets there."""
        if offset <= self.committed.get(partition, -1):
            callback()
        else:
            self._waiting.setdefault(partition, []).append((offset, callback))

    def commit(self, partition: int, offset: int | None = None) -> None:
        """Move the high watermark above `offset`, by default above all records."""
        last = len(self.records.get(partition, ())) - 1
        self.committed[partition] = last if offset is None else min(offset, last)
        waiting = self._waiting.pop(partition, [])
        for wanted, callback in waiting:
            self.when_committed(partition, wanted, callback)

    def load(
        self,
        partition: int,
        leader_epoch: int,
        deliver: Deliver,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Deliver all in one slice, now or at `finish_loads`."""

        def read() -> None:
            if self.load_error is ErrorCode.NONE:
                records = list(self.records.get(partition, ()))
                deliver(records, lambda: done(ErrorCode.NONE))
            else:
                done(self.load_error)

        if self.hold_loads:
            self._held_loads.append(read)
        else:
            read()

    def finish_loads(self) -> None:
        """Let every held load run, in order."""
        held, self._held_loads = self._held_loads, []
        for read in held:
            read()
