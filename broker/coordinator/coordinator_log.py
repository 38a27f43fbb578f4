"""What a coordinator sees of its internal topic: append, know when committed, load.

The group coordinator keeps its state in `__consumer_offsets`, the transaction coordinator in
`__transaction_state`. This module owns the port between a coordinator and such a topic, and the
errors that clients get for a log's errors. It never knows what the records mean. Follows Kafka's
`PartitionWriter` and `CoordinatorLoader`; KIP-98 and KIP-890 for records of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from storage.log.verification_state import VerificationGuard

Record = tuple[bytes, bytes | None]
"""Key and value of a record to append; value None is a tombstone."""

NO_PRODUCER_ID = -1


class LogRecord(NamedTuple):
    """A record of the log. `producer_id` ≥ 0 marks one that belongs to a transaction."""

    offset: int
    key: bytes | None
    value: bytes | None
    producer_id: int = NO_PRODUCER_ID


class TransactionMarker(NamedTuple):
    """A control record: the transaction of `producer_id` ends here, committed or aborted."""

    offset: int
    producer_id: int
    committed: bool


class TransactionalProducer(NamedTuple):
    """Whose transaction records belong to."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class TransactionalAppend(NamedTuple):
    """Leave to append records of a transaction, as `verify_transaction` gave it."""

    producer: TransactionalProducer
    guard: VerificationGuard | None = None


Verified = Callable[[TransactionalAppend | ErrorCode], None]


Deliver = Callable[[Iterable[LogRecord | TransactionMarker], Callable[[], None]], None]
"""Takes a part of a log, and what to call once it is taken in, now or later."""


class AppendResult(NamedTuple):
    """Where records went; with an error nothing was written."""

    error: ErrorCode
    first_offset: int = -1
    last_offset: int = -1


class CoordinatorLog(Protocol):
    """One internal topic. All calls and callbacks are on the loop's thread."""

    def build(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[bytearray]:
        """Build the batch of very many records, for `append`."""

    def append(
        self,
        partition: int,
        leader_epoch: int,
        records: Sequence[Record],
        transaction: TransactionalAppend | None = None,
        batch: bytearray | None = None,
    ) -> AppendResult:
        """Append `records` as one batch, all or none, stamped with the current time.

        With `transaction` the batch belongs to it. `batch`: what `build` made. Refused with
        NOT_LEADER_OR_FOLLOWER where this node does not lead in `leader_epoch`, with
        NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, KAFKA_STORAGE_ERROR, INVALID_PRODUCER_EPOCH or
        INVALID_TXN_STATE as a Produce would be.
        """

    def verify_transaction(
        self,
        partition: int,
        producer: TransactionalProducer,
        operation: TransactionSupportedOperation,
        done: Verified,
    ) -> None:
        """See to it that `partition` is in the producer's transaction, before an append to it.

        `done` once, now or later: with what `append` wants, or with an error, which may be one of
        the transaction coordinator's.
        """

    def high_watermark(self, partition: int) -> int:
        """Below this offset all is committed; 0 where this node has no replica."""

    def when_committed(self, partition: int, offset: int, callback: Callable[[], None]) -> None:
        """Call once when the high watermark is above `offset`: at once if it is. Never on error."""

    def load(
        self,
        partition: int,
        leader_epoch: int,
        deliver: Deliver,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Read the log from its start to its end: `deliver` in order, in parts, then `done`.

        Reading may happen elsewhere (`Blocking`), so that a long log does not hold up the loop. The
        next part is read when the one before is taken in.
        """


def coordinator_error(error: ErrorCode) -> ErrorCode:
    """What a client is told when its coordinator's log answered `error`."""
    return _CLIENT_ERRORS.get(error, error)


_CLIENT_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    # Of a transaction's verification: this one lets clients ask again without another look-up.
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
