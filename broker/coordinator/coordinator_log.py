"""The port between a coordinator and its internal topic: append, wait for a commit, load.

The group coordinator keeps its state in `__consumer_offsets`, the transaction coordinator in
`__transaction_state`. This module owns that port, and the mapping from errors of the log to errors
for clients. It never interprets the records. Follows Kafka's `PartitionWriter` and
`CoordinatorLoader`; KIP-98 and KIP-890 for records of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from storage.log.verification_state import VerificationGuard

Record = tuple[bytes, bytes | None]
"""The key and value of a record to append. A value of None is a tombstone."""

NO_PRODUCER_ID = -1


class LogRecord(NamedTuple):
    """A record that was read from the log. It belongs to a transaction if `producer_id` ≥ 0."""

    offset: int
    key: bytes | None
    value: bytes | None
    producer_id: int = NO_PRODUCER_ID


class TransactionMarker(NamedTuple):
    """A control record that commits or aborts the transaction of `producer_id`."""

    offset: int
    producer_id: int
    committed: bool


class TransactionalProducer(NamedTuple):
    """The producer whose transaction the records belong to."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class TransactionalAppend(NamedTuple):
    """The permission to append records of a transaction, from `verify_transaction`."""

    producer: TransactionalProducer
    guard: VerificationGuard | None = None


VerificationCallback = Callable[[TransactionalAppend | ErrorCode], None]
"""A callback with a verified append, or the error of its verification."""


Deliver = Callable[[Iterable[LogRecord | TransactionMarker], Callable[[], None]], None]
"""A callback that gets a part of a log, and a function to call, now or later, to get the next."""


class AppendResult(NamedTuple):
    """The offsets of the records that were appended; with an error no record was written."""

    error: ErrorCode
    first_offset: int = -1
    last_offset: int = -1


class CoordinatorLog(Protocol):
    """The log of an internal topic. All calls and callbacks happen on the loop's thread."""

    def build(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[bytearray]:
        """Build the batch for `append` in slices, if there are many records."""

    def append(
        self,
        partition: int,
        leader_epoch: int,
        records: Sequence[Record],
        transaction: TransactionalAppend | None = None,
        batch: bytearray | None = None,
    ) -> AppendResult:
        """Append `records` as one batch, all or none, stamped with the current time.

        `transaction`: the batch belongs to it. `batch`: the result of `build` for these records.
        The error is NOT_LEADER_OR_FOLLOWER if this node does not lead in `leader_epoch`, or as for
        a Produce: NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, KAFKA_STORAGE_ERROR,
        INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE.
        """

    def verify_transaction(
        self,
        partition: int,
        producer: TransactionalProducer,
        operation: TransactionSupportedOperation,
        done: VerificationCallback,
    ) -> None:
        """Make sure that `partition` is in the producer's transaction, before an append to it.

        Calls `done` once, now or later: with the `transaction` argument for `append`, or with an
        error, which may come from the transaction coordinator.
        """

    def high_watermark(self, partition: int) -> int:
        """Return the offset below which the log is committed; 0 if this node has no replica."""

    def when_committed(self, partition: int, offset: int, callback: Callable[[], None]) -> None:
        """Call `callback` once when the high watermark is above `offset`: now if it already is.

        If this node does not lead the partition, or stops to, `callback` is never called.
        """

    def load(
        self,
        partition: int,
        leader_epoch: int,
        deliver: Deliver,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Read the log from start to end: `deliver` its parts in order, then call `done(NONE)`.

        If the log cannot be read, or this node stops leading in `leader_epoch`, `done` gets the
        error and no part follows. Parts may be read in another thread (`Blocking`), so that a long
        log does not block the loop. The next part is read after the receiver of `deliver` asks for
        it.
        """


def coordinator_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a client, given an error of the coordinator's log. An error without a
    counterpart in `_CLIENT_ERRORS` is returned as it is."""
    return _CLIENT_ERRORS.get(error, error)


_CLIENT_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    # From verifying a transaction: clients retry this error without another FindCoordinator.
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
