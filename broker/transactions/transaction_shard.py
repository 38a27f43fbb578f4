"""The transactional ids of one partition of `__transaction_state`: decides, writes, completes.

    decide (by the table of `transaction_state`) → record → `replay` → committed → what follows

Owns the newest version of each id, and the newest that is committed. While these two differ the id
is busy: every other request is told CONCURRENT_TRANSACTIONS, so nothing ever builds on a record
that a lost leadership can take back. What follows a record (the markers after a decision, the
answer to the client) follows its commit, however late that is.

Only `replay` changes a version, when live as when loading; a shard that is loaded goes on with the
decisions that it finds, once they are committed. `last_epoch` is not in Kafka's record: it is kept
beside it and lost with the leadership.

Follows Kafka's `TransactionCoordinator` and `TransactionStateManager`; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from broker.coordinator.coordinator_log import LogRecord, Record, TransactionMarker
from broker.coordinator.coordinator_runtime import ShardContext
from broker.coordinator.outcome import Done
from broker.transactions.held_requests import Addition, HeldRequests
from broker.transactions.marker_sender import MarkerSender, PendingMarkers
from broker.transactions.producer_identity import NOBODY, Identity
from broker.transactions.transaction_config import TransactionConfig
from broker.transactions.transaction_decisions import (
    Needs,
    decide_add,
    decide_complete,
    decide_end,
    decide_fence,
    decide_initialize,
    verification_errors,
)
from broker.transactions.transaction_log import (
    read_transaction_record,
    transaction_record,
    transaction_tombstone,
)
from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_state import Event, TransactionState, outcome
from protocol.errors import ErrorCode
from storage.ports import Scheduler
from storage.topic_partition import TopicPartition

log = logging.getLogger(f"ottla.{__name__}")

TOMBSTONES_PER_APPEND = 1_000
COMPLETION_RETRY_MS = 100
"""The wait before a completion is appended again that the log refused."""

Identified = Callable[[ErrorCode, Identity], None]
Replayed = tuple[str, TransactionMetadata | None]
"""A transactional id and its version; None: it is forgotten."""


class Transaction:
    """One transactional id."""

    __slots__ = ("committed", "current", "id")

    def __init__(self, transactional_id: str, current: TransactionMetadata) -> None:
        self.id = transactional_id
        self.current = current
        self.committed: TransactionMetadata | None = None

    @property
    def is_busy(self) -> bool:
        """Whether its newest version may still be lost."""
        return self.committed is not self.current


class TransactionShard:
    """One shard. `version()` is the cluster's `transaction.version`."""

    def __init__(
        self,
        config: TransactionConfig,
        scheduler: Scheduler,
        markers: MarkerSender,
        version: Callable[[], int],
        context: ShardContext,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._markers = markers
        self._version = version
        self._context = context
        self.transactions: dict[str, Transaction] = {}
        self._ongoing: dict[str, float] = {}  # and since when, by this broker's monotonic clock
        self._sending: dict[str, PendingMarkers] = {}
        self._held = HeldRequests(scheduler, self._add_again)
        self._written: dict[bytes, Replayed] = {}  # what values mean while they are written

    # -- replay --------------------------------------------------------------------------------

    def replay(self, record: LogRecord) -> None:
        """Apply one record of the log."""
        assert record.key is not None
        found = self._written.get(record.value or b"")  # what its bytes say, and the last epoch
        if found is None:
            found = read_transaction_record(record.key, record.value)
        if found is None:
            return
        transactional_id, metadata = found
        since_ms = self._ongoing.pop(transactional_id, None)
        if metadata is None:
            self.transactions.pop(transactional_id, None)
            return
        if metadata.state is TransactionState.ONGOING:
            if since_ms is None:
                since_ms = self._scheduler.monotonic_ms()
            self._ongoing[transactional_id] = since_ms
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            self.transactions[transactional_id] = Transaction(transactional_id, metadata)
        else:
            transaction.current = metadata

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Nobody writes transactionally to this topic."""

    def on_loaded(self) -> None:
        """The log is replayed: go on with what was decided, once that is committed."""
        loaded = [(one, one.current) for one in self.transactions.values()]
        self._context.once_committed(lambda: self._resume(loaded))

    def _resume(self, loaded: Sequence[tuple[Transaction, TransactionMetadata]]) -> None:
        for transaction, metadata in loaded:
            self._committed(transaction, metadata, self._send_markers)

    def on_unloaded(self) -> None:
        """Led elsewhere: the next leader sends the markers that are left."""
        sending, self._sending = self._sending, {}
        for pending in sending.values():
            pending.cancelled = True
        self.transactions = {}
        self._ongoing = {}
        self._held.release_all()

    # -- writing -------------------------------------------------------------------------------

    def _write(
        self,
        name: str,
        metadata: TransactionMetadata,
        then: Callable[[Transaction], None] | None = None,
        before: TransactionMetadata | None = None,
    ) -> ErrorCode:
        """Append a version; with its commit it stands, and `then` is called.

        `before` is a version that comes first, in the same batch: both are there, or neither.
        """
        versions = (metadata,) if before is None else (before, metadata)
        records = [transaction_record(name, one, self._version()) for one in versions]
        for (_, value), one in zip(records, versions, strict=True):
            self._written[value] = name, one
        try:
            error = self._context.append(records)
        finally:
            self._written.clear()
        if error is not ErrorCode.NONE:
            return error
        written = self.transactions[name]
        self._context.once_committed(lambda: self._committed(written, metadata, then))
        return ErrorCode.NONE

    def _committed(
        self,
        transaction: Transaction,
        metadata: TransactionMetadata,
        then: Callable[[Transaction], None] | None,
    ) -> None:
        if self.transactions.get(transaction.id) is not transaction:
            return
        if transaction.current is metadata:
            transaction.committed = metadata
            if then is not None:
                then(transaction)
            if not metadata.state.is_prepared:
                self._held.release(transaction.id)

    # -- requests ------------------------------------------------------------------------------

    def initialize(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Identity | None,
        fresh_id: int | None,
        reply: Identified,
    ) -> Needs | None:
        """InitProducerId; `fresh_id` where the decision needed one before."""
        transaction = self.transactions.get(transactional_id)
        if transaction is not None and transaction.is_busy:
            reply(ErrorCode.CONCURRENT_TRANSACTIONS, NOBODY)
            return None
        current = None if transaction is None else transaction.current
        now, version = self._scheduler.wall_ms(), self._version()
        following = decide_initialize(current, timeout_ms, expected, fresh_id, version, now)
        if isinstance(following, Needs):
            return following
        if isinstance(following, ErrorCode):
            reply(following, NOBODY)
        elif following.state.is_prepared:
            # The epoch of a fence is nobody's: the client asks again, and gets the next.
            error = self._write(transactional_id, following, self._send_markers)
            busy = ErrorCode.CONCURRENT_TRANSACTIONS
            self._answer(error, lambda code: reply(code or busy, NOBODY))
        else:
            identity = _identity(following)
            error = self._write(transactional_id, following)
            self._answer(error, lambda code: reply(code, NOBODY if code else identity))
        return None

    def add_partitions(
        self,
        transactional_id: str,
        identity: Identity,
        partitions: Sequence[TopicPartition],
        client_version: int,
        done: Done,
        hold_ms: int = 0,
    ) -> None:
        """AddPartitionsToTxn and AddOffsetsToTxn: `partitions` belong to the transaction.

        One that comes before the last transaction is completed waits for up to `hold_ms`.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            done(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        busy = ErrorCode.CONCURRENT_TRANSACTIONS
        following: TransactionMetadata | ErrorCode = busy
        if not transaction.is_busy:
            now = self._scheduler.wall_ms()
            following = decide_add(transaction.current, identity, partitions, client_version, now)
        if isinstance(following, TransactionMetadata):
            self._answer(self._write(transactional_id, following), done)
            return
        if following is busy and hold_ms > 0:
            addition = Addition(identity, partitions, client_version, done)
            if self._held.hold(transactional_id, addition, hold_ms):
                return
        done(following)

    def _add_again(self, transactional_id: str, addition: Addition) -> None:
        if transactional_id in self.transactions:
            self.add_partitions(transactional_id, *addition)
        else:
            addition.done(ErrorCode.NOT_COORDINATOR)

    def verify_partition_errors(
        self, transactional_id: str, identity: Identity, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Which of `partitions` are in the transaction, as far as that is committed."""
        transaction = self.transactions.get(transactional_id)
        committed = None if transaction is None else transaction.committed
        return verification_errors(committed, identity, partitions)

    def end(
        self,
        transactional_id: str,
        identity: Identity,
        committed: bool,
        client_version: int,
        fresh_id: int | None,
        reply: Identified,
    ) -> Needs | None:
        """EndTxn: the decision is written; with its commit the answer and the markers leave."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            reply(ErrorCode.INVALID_PRODUCER_ID_MAPPING, NOBODY)
            return None
        if transaction.is_busy:
            reply(ErrorCode.CONCURRENT_TRANSACTIONS, NOBODY)
            return None
        current, now = transaction.current, self._scheduler.wall_ms()
        following = decide_end(current, identity, committed, client_version, fresh_id, now)
        if isinstance(following, Needs):
            return following
        bumps = client_version >= 2
        if isinstance(following, ErrorCode):
            if following is ErrorCode.INVALID_TXN_STATE:
                what = "commit" if committed else "abort"
                state = current.state.shown
                log.warning("%s: asked to %s in state %s", transactional_id, what, state)
            done_before = following is ErrorCode.NONE and bumps
            reply(following, _identity(current) if done_before else NOBODY)
            return None
        after = following.identity_after if bumps else NOBODY
        error = self._write(transactional_id, following, self._send_markers)
        self._answer(error, lambda code: reply(code, NOBODY if code else after))
        return None

    def _answer(self, error: ErrorCode, done: Done) -> None:
        """Say `error`, or when all that was appended is committed."""
        if error is not ErrorCode.NONE:
            done(error)
        else:
            self._context.after_commit(done)

    # -- markers -------------------------------------------------------------------------------

    def _send_markers(self, transaction: Transaction) -> None:
        """Tell every partition what was decided; where it was not loaded decided, nothing."""
        metadata = transaction.current
        if not metadata.state.is_prepared:
            return
        pending = PendingMarkers(
            transactional_id=transaction.id,
            producer_id=metadata.producer_id,
            producer_epoch=metadata.producer_epoch,
            committed=metadata.state is TransactionState.PREPARE_COMMIT,
            transaction_version=metadata.client_version,
            coordinator_epoch=lambda: self._context.leader_epoch,
            partitions=dict(metadata.partitions),
            done=lambda: self._complete(transaction),
        )
        self._sending[transaction.id] = pending
        self._markers.send(pending)

    def _complete(self, transaction: Transaction) -> None:
        """Every partition has its marker."""
        if self.transactions.get(transaction.id) is not transaction:
            return
        self._sending.pop(transaction.id, None)
        now = self._scheduler.wall_ms()
        following = decide_complete(transaction.current, now)
        held = self._held.peek(transaction.id)
        if held is not None:
            added = decide_add(following, held.identity, held.partitions, held.client_version, now)
            if isinstance(added, TransactionMetadata):
                # One batch and one round of replication for the end and the next beginning.
                self._held.take(transaction.id)
                error = self._write(transaction.id, added, before=following)
                self._answer(error and ErrorCode.CONCURRENT_TRANSACTIONS, held.done)
                if error is ErrorCode.NONE:
                    return
        error = self._write(transaction.id, following)
        if error not in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR):
            log.info("%s not completed yet: %s", transaction.id, error.name)
            self._scheduler.call_later(COMPLETION_RETRY_MS, lambda: self._complete(transaction))

    # -- time ----------------------------------------------------------------------------------

    def timed_out(self) -> list[str]:
        """Ids whose transaction is open for longer than its time-out: since its start, as in Kafka,
        or, as clocks are set back and differ between brokers, since it is known here."""
        return [name for name in self._ongoing if self._is_timed_out(name)]

    def _is_timed_out(self, transactional_id: str) -> bool:
        transaction = self.transactions[transactional_id]
        if transaction.is_busy:
            return False
        start_ms, timeout_ms = transaction.current.start_ms, transaction.current.timeout_ms
        known_ms = self._scheduler.monotonic_ms() - self._ongoing[transactional_id]
        return start_ms + timeout_ms < self._scheduler.wall_ms() or known_ms > timeout_ms

    def abort_timed_out(self, transactional_id: str, fresh_id: int | None) -> Needs | None:
        """Abort one of `timed_out`, if it still is."""
        if transactional_id not in self._ongoing or not self._is_timed_out(transactional_id):
            return None
        metadata = self.transactions[transactional_id].current
        following = decide_fence(metadata, self._version(), fresh_id, self._scheduler.wall_ms())
        if isinstance(following, Needs):
            return following
        error = self._write(transactional_id, following, self._send_markers)
        if error is ErrorCode.NONE:
            log.info("%s: aborting the timed-out transaction", transactional_id)
        else:
            log.warning(
                "%s: could not abort the timed-out transaction: %s", transactional_id, error.name
            )
        return None

    def expire_ids(self) -> None:
        """Forget ids without a sign of life for `transactional.id.expiration.ms`."""
        latest = self._scheduler.wall_ms() - self._config.transactional_id_expiration_ms
        records: list[Record] = [
            transaction_tombstone(one.id)
            for one in self.transactions.values()
            if not one.is_busy
            and one.current.updated_ms <= latest
            and outcome(one.current.state, Event.EXPIRE) is TransactionState.DEAD
        ]
        for start in range(0, len(records), TOMBSTONES_PER_APPEND):
            error = self._context.append(records[start : start + TOMBSTONES_PER_APPEND])
            if error is not ErrorCode.NONE:
                log.warning("expired transactional ids not removed: %s", error.name)
                return

    # -- administration ------------------------------------------------------------------------

    def visible(self) -> Iterator[tuple[str, TransactionMetadata]]:
        """Every id with its newest committed version."""
        for transaction in self.transactions.values():
            if transaction.committed is not None:
                yield transaction.id, transaction.committed


def _identity(metadata: TransactionMetadata) -> Identity:
    return metadata.producer_id, metadata.producer_epoch
