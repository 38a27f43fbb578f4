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
from enum import Enum

from broker.replication.coordinator_log import LogRecord, Record, TransactionMarker
from broker.replication.coordinator_runtime import Done, ShardContext
from broker.transactions.marker_sender import MarkerSender, PendingMarkers
from broker.transactions.transaction_config import TransactionConfig
from broker.transactions.transaction_log import (
    read_transaction_record,
    transaction_record,
    transaction_tombstone,
)
from broker.transactions.transaction_metadata import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
    created,
)
from broker.transactions.transaction_state import Event, TransactionState, outcome
from protocol.errors import ErrorCode
from storage.ports import Scheduler
from storage.topic_partition import TopicPartition

log = logging.getLogger("ottla.transactions")

TOMBSTONES_PER_APPEND = 1_000
COMPLETION_RETRY_MS = 100
"""The wait before a completion is appended again that the log refused."""

Identity = tuple[int, int]
"""Producer id and epoch."""
Identified = Callable[[ErrorCode, Identity], None]
NOBODY: Identity = (NO_PRODUCER_ID, NO_EPOCH)


class Needs(Enum):
    """What a decision lacks, so that it is to be made again."""

    PRODUCER_ID = "a fresh producer id"


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
        self._ongoing: dict[str, None] = {}
        self._sending: dict[str, PendingMarkers] = {}

    # -- replay --------------------------------------------------------------------------------

    def replay(self, record: LogRecord) -> None:
        """Apply one record of the log."""
        assert record.key is not None
        found = read_transaction_record(record.key, record.value)
        if found is None:
            return
        transactional_id, metadata = found
        self._ongoing.pop(transactional_id, None)
        if metadata is None:
            self.transactions.pop(transactional_id, None)
            return
        if metadata.state is TransactionState.ONGOING:
            self._ongoing[transactional_id] = None
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

    # -- writing -------------------------------------------------------------------------------

    def _write(
        self,
        transaction: Transaction | str,
        metadata: TransactionMetadata,
        then: Callable[[Transaction], None] | None = None,
    ) -> ErrorCode:
        """Append a version; with its commit it stands, and `then` is called."""
        name = transaction if isinstance(transaction, str) else transaction.id
        error = self._context.append([transaction_record(name, metadata, self._version())])
        if error is not ErrorCode.NONE:
            return error
        written = self.transactions[name]
        written.current = metadata  # As replayed, and with the last epoch.
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

    # -- InitProducerId ------------------------------------------------------------------------

    def initialize(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Identity | None,
        fresh_id: int | None,
        reply: Identified,
    ) -> Needs | None:
        """InitProducerId; `fresh_id` where the decision needed one before."""
        now = self._scheduler.wall_ms()
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            if fresh_id is None:
                return Needs.PRODUCER_ID
            metadata = created(fresh_id, timeout_ms, now)
        else:
            metadata = transaction.current
            if transaction.is_busy:
                reply(ErrorCode.CONCURRENT_TRANSACTIONS, NOBODY)
                return None
        if expected is not None and not _may_initialize(metadata, expected):
            reply(ErrorCode.PRODUCER_FENCED, NOBODY)
            return None
        what = outcome(metadata.state, Event.INITIALIZE)
        if what is TransactionState.PREPARE_EPOCH_FENCE:
            assert transaction is not None
            return self._fence(
                transaction, fresh_id, lambda error: reply(error or _WAIT_AND_RETRY, NOBODY)
            )
        if what is not TransactionState.EMPTY:
            assert isinstance(what, ErrorCode)
            reply(what, NOBODY)
            return None
        epoch = None if expected is None else expected[1]
        following: TransactionMetadata | ErrorCode
        if metadata.is_epoch_exhausted and epoch in (None, metadata.producer_epoch):
            if fresh_id is None:
                return Needs.PRODUCER_ID
            following = metadata.with_producer_id(fresh_id, timeout_ms, epoch is not None, now)
        else:
            following = metadata.with_next_epoch(timeout_ms, epoch, now)
        if isinstance(following, ErrorCode):
            reply(following, NOBODY)
            return None
        identity = (following.producer_id, following.producer_epoch)
        error = self._write(transaction or transactional_id, following)
        self._answer(error, lambda code: reply(code, NOBODY if code else identity))
        return None

    def _answer(self, error: ErrorCode, done: Done) -> None:
        """Say `error`, or when all that was appended is committed."""
        if error is not ErrorCode.NONE:
            done(error)
        else:
            self._context.after_commit(done)

    # -- partitions ----------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        identity: Identity,
        partitions: Sequence[TopicPartition],
        client_version: int,
        done: Done,
    ) -> None:
        """AddPartitionsToTxn and AddOffsetsToTxn: `partitions` belong to the transaction."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            done(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        metadata = transaction.current
        if transaction.is_busy or metadata.state.is_prepared:
            # First of all: the producer may have the id that is its own only after this.
            done(ErrorCode.CONCURRENT_TRANSACTIONS)
        elif metadata.producer_id != identity[0]:
            done(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        elif metadata.producer_epoch != identity[1]:
            done(ErrorCode.PRODUCER_FENCED)
        elif metadata.state is TransactionState.ONGOING and all(
            one in metadata.partitions for one in partitions
        ):
            done(ErrorCode.NONE)
        else:
            what = outcome(metadata.state, Event.ADD_PARTITIONS)
            assert what is TransactionState.ONGOING
            now = self._scheduler.wall_ms()
            following = metadata.with_partitions(partitions, client_version, now)
            self._answer(self._write(transaction, following), done)

    def verify_partition_errors(
        self, transactional_id: str, identity: Identity, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Which of `partitions` are in the transaction, as far as that is committed."""
        transaction = self.transactions.get(transactional_id)
        metadata = None if transaction is None else transaction.committed
        if metadata is None or metadata.producer_id != identity[0]:
            error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        elif metadata.producer_epoch != identity[1]:
            error = ErrorCode.PRODUCER_FENCED
        elif metadata.state.is_prepared:
            error = ErrorCode.CONCURRENT_TRANSACTIONS
        else:
            inside = metadata.partitions
            return {
                one: ErrorCode.NONE if one in inside else ErrorCode.TRANSACTION_ABORTABLE
                for one in partitions
            }
        return dict.fromkeys(partitions, error)

    # -- the end -------------------------------------------------------------------------------

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
        metadata = transaction.current
        event = _end_event(metadata, identity, committed, client_version)
        what = event if isinstance(event, ErrorCode) else outcome(metadata.state, event)
        bumps = client_version >= 2
        if isinstance(what, ErrorCode):
            if what is ErrorCode.INVALID_TXN_STATE:
                log.warning(
                    "%s is in state %s and was asked to %s",
                    transactional_id,
                    metadata.state.shown,
                    "commit" if committed else "abort",
                )
            done_before = what is ErrorCode.NONE and bumps
            reply(what, _identity(metadata) if done_before else NOBODY)
            return None
        assert what is not None and what.is_prepared
        next_id = NO_PRODUCER_ID
        if metadata.needs_producer_id_to_end(client_version):
            if fresh_id is None:
                return Needs.PRODUCER_ID
            next_id = fresh_id
        now = self._scheduler.wall_ms()
        following = metadata.decided(committed, client_version, next_id, now)
        after = following.identity_after if bumps else NOBODY
        error = self._write(transaction, following, self._send_markers)
        self._answer(error, lambda code: reply(code, NOBODY if code else after))
        return None

    def _fence(self, transaction: Transaction, fresh_id: int | None, done: Done) -> Needs | None:
        """Abort an open transaction under an epoch that its producer has not."""
        metadata = transaction.current
        fence = outcome(metadata.state, Event.FENCE)
        assert isinstance(fence, TransactionState)
        assert outcome(fence, Event.FENCE) is TransactionState.PREPARE_ABORT
        version = self._version()
        next_id = NO_PRODUCER_ID
        if metadata.needs_producer_id_to_end(version):
            if fresh_id is None:
                return Needs.PRODUCER_ID
            next_id = fresh_id
        following = metadata.fenced(version, next_id, self._scheduler.wall_ms())
        self._answer(self._write(transaction, following, self._send_markers), done)
        return None

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
        metadata = transaction.current
        what = outcome(metadata.state, Event.MARKERS_WRITTEN)
        assert isinstance(what, TransactionState), f"{transaction.id}: markers, {metadata.state}"
        following = metadata.completed(self._scheduler.wall_ms())
        assert following.state is what
        error = self._write(transaction, following)
        if error not in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR):
            log.info("%s not completed yet: %s", transaction.id, error.name)
            self._scheduler.call_later(COMPLETION_RETRY_MS, lambda: self._complete(transaction))

    # -- time ----------------------------------------------------------------------------------

    def timed_out(self) -> list[str]:
        """Ids whose transaction is open for longer than its time-out."""
        now = self._scheduler.wall_ms()
        found = []
        for name in self._ongoing:
            transaction = self.transactions[name]
            metadata = transaction.current
            if not transaction.is_busy and metadata.start_ms + metadata.timeout_ms < now:
                found.append(name)
        return found

    def abort_timed_out(self, transactional_id: str, fresh_id: int | None) -> Needs | None:
        """Abort one of `timed_out`, if it still is."""
        if transactional_id not in self.timed_out():
            return None
        transaction = self.transactions[transactional_id]

        def done(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                log.info("%s: transaction aborted, its time is up", transactional_id)
            else:
                log.warning("%s: transaction not aborted: %s", transactional_id, error.name)

        return self._fence(transaction, fresh_id, done)

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


_WAIT_AND_RETRY = ErrorCode.CONCURRENT_TRANSACTIONS


def _identity(metadata: TransactionMetadata) -> Identity:
    return metadata.producer_id, metadata.producer_epoch


def _may_initialize(metadata: TransactionMetadata, expected: Identity) -> bool:
    """Whether a producer that says who it is may go on (KIP-360); its epoch is looked at later."""
    producer_id, epoch = expected
    if metadata.producer_epoch == NO_EPOCH or producer_id == metadata.producer_id:
        return True
    return producer_id == metadata.previous_producer_id and epoch >= EPOCH_MAX - 1


def _end_event(
    metadata: TransactionMetadata, identity: Identity, committed: bool, client_version: int
) -> Event | ErrorCode:
    """Which end a request means, by its producer id and epoch."""
    producer_id, epoch = identity
    bumps = client_version >= 2
    present = metadata.producer_epoch
    rotated = (
        bumps
        and producer_id == metadata.previous_producer_id != metadata.producer_id
        and epoch == EPOCH_MAX - 1
        and present == 0
    )
    if producer_id != metadata.producer_id and not rotated:
        rotates = metadata.state.is_prepared and identity == metadata.identity_after
        busy, unknown = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return busy if rotates else unknown
    if rotated or (bumps and epoch + 1 == present):
        return Event.COMMIT_AGAIN if committed else Event.ABORT_AGAIN
    if epoch != present:
        return ErrorCode.PRODUCER_FENCED
    if bumps:
        return Event.COMMIT_AND_BUMP if committed else Event.ABORT_AND_BUMP
    return Event.COMMIT if committed else Event.ABORT
