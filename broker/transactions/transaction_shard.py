"""The transactional ids of one partition of `__transaction_state`: decisions, replay, completion.

    decide (by the table of `transaction_state`) → record → `replay` → committed → next step

Owns the latest metadata of each id, and the latest that is committed. While these two differ, the
id is busy: all other requests are answered CONCURRENT_TRANSACTIONS, so that no decision depends on
a record that may be lost with the leadership. The next step after a record (the markers after a
decision, the answer to the client) waits for its commit, without a time-out. Handlers never write:
they return an `Outcome`; so does the completion, which the shard submits itself.

Only `replay` changes metadata, live and loading. A loaded shard continues with the decisions in
its log after they are committed. `last_epoch` is not in Kafka's record: it is kept in memory, and
lost with the leadership.

Follows Kafka's `TransactionCoordinator` and `TransactionStateManager`; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_log import LogRecord, TransactionMarker
from broker.coordinator.coordinator_runtime import ShardContext
from broker.coordinator.outcome import AT_ONCE, NOTHING, Done, Outcome, call_reply, no_reply
from broker.transactions.held_requests import Addition, HeldRequests
from broker.transactions.marker_sender import MarkerSender, PendingMarkers
from broker.transactions.producer_identity import NO_IDENTITY, Identity
from broker.transactions.transaction_decisions import (
    MissingInput,
    decide_add,
    decide_complete,
    decide_end,
    decide_fence,
    decide_initialize,
    verification_errors,
)
from broker.transactions.transaction_expiry import OpenTransactions, is_expired
from broker.transactions.transaction_log import (
    read_transaction_record,
    transaction_record,
    transaction_tombstone,
)
from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_state import TransactionState
from ground.ports import Scheduler
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

COMPLETION_RETRY_MS = 100
"""The wait before the retry of a completion whose append failed."""

Then = Callable[["Transaction"], None]
Replayed = tuple[str, TransactionMetadata | None]
"""A transactional id and its metadata; None: the id is deleted."""


class Transaction:
    """A transactional id, with its latest and its latest committed metadata."""

    __slots__ = ("committed", "current", "id")

    def __init__(self, transactional_id: str, current: TransactionMetadata) -> None:
        self.id = transactional_id
        self.current = current
        self.committed: TransactionMetadata | None = None

    @property
    def is_busy(self) -> bool:
        """True if the latest metadata is not committed yet."""
        return self.committed is not self.current


class TransactionShard:
    """The transactional ids of a partition. `version()` is the cluster's `transaction.version`."""

    def __init__(
        self,
        config: BrokerConfig,
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
        self._open = OpenTransactions(scheduler)
        self._sending: dict[str, PendingMarkers] = {}
        self._held = HeldRequests(scheduler, self._add_again)
        self._decided: dict[bytes, Replayed] = {}  # the last decision, by the values of its records

    # -- replay --------------------------------------------------------------------------------

    def replay(self, record: LogRecord) -> None:
        """Set the latest metadata of the record's id; a tombstone removes the id. Records of other
        types are ignored. Raises ProtocolError if the record cannot be parsed."""
        assert record.key is not None
        replayed = self._decided.get(record.value or b"")  # the parsed metadata plus last_epoch
        if replayed is None:
            replayed = read_transaction_record(record.key, record.value)
        if replayed is None:
            return
        transactional_id, metadata = replayed
        self._open.update(transactional_id, metadata)
        if metadata is None:
            self.transactions.pop(transactional_id, None)
            return
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            self.transactions[transactional_id] = Transaction(transactional_id, metadata)
        else:
            transaction.current = metadata

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Do nothing: records of this topic are never part of a transaction."""

    def on_loaded(self) -> None:
        """Wait until all loaded records are committed. Then set their metadata as committed, and
        send the markers of decided transactions."""
        loaded = [(name, transaction.current) for name, transaction in self.transactions.items()]
        self._context.once_committed(lambda: self._resume(loaded))

    def _resume(self, loaded: Sequence[tuple[str, TransactionMetadata]]) -> None:
        """Set the loaded metadata as committed, and send the markers of decided transactions. Ids
        that changed since the load are left out."""
        for transactional_id, metadata in loaded:
            self._note_committed(transactional_id, metadata, self._send_markers)

    def on_unloaded(self) -> None:
        """Drop all ids and stop sending markers; the next leader sends the rest. Held requests get
        NOT_COORDINATOR."""
        sending, self._sending = self._sending, {}
        for pending in sending.values():
            pending.cancel()
        self.transactions = {}
        self._open = OpenTransactions(self._scheduler)
        self._held.release_all()

    # -- deciding ------------------------------------------------------------------------------

    def _decide(
        self,
        transactional_id: str,
        reply: T,
        *versions: TransactionMetadata,
        error: ErrorCode = ErrorCode.NONE,
        then: Then | None = None,
        after: int | None = None,
        written: Callable[[ErrorCode], Outcome[T] | None] | None = None,
    ) -> Outcome[T]:
        """Return the outcome that writes the next metadata, or two versions in one batch.

        When they are committed, the last version becomes the committed one, `then` is called, and
        `reply` is sent with `error`. `after` and `written` are `Outcome.after` and `Outcome.then`.
        The versions are kept for `replay`, because a record lacks `last_epoch`.
        """
        records = [
            transaction_record(transactional_id, metadata, self._version()) for metadata in versions
        ]
        self._decided = {
            value: (transactional_id, metadata)
            for (_, value), metadata in zip(records, versions, strict=True)
        }
        committed = partial(self._note_committed, transactional_id, versions[-1], then)
        return Outcome(reply, records, error, after, None, True, written, committed)

    def _note_committed(
        self, transactional_id: str, metadata: TransactionMetadata, then: Then | None
    ) -> None:
        """Set `metadata` as the committed version of the id, then call `then`.

        Ignores a superseded version. Retries a held request unless the transaction is prepared.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.current is not metadata:
            return
        transaction.committed = metadata
        if then is not None:
            then(transaction)
        if not metadata.state.is_prepared:
            self._held.release(transactional_id)

    # -- requests ------------------------------------------------------------------------------

    def initialize(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Identity | None,
        fresh_id: int | None,
    ) -> Outcome[Identity | MissingInput]:
        """Return the outcome of an InitProducerId: the reply has the producer id and its new epoch.

        Errors are in the outcome: CONCURRENT_TRANSACTIONS while a record is not committed, or for
        an open transaction, which is aborted; else those of `decide_initialize`. The reply
        PRODUCER_ID asks for the same call with a new producer id as `fresh_id`.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is not None and transaction.is_busy:
            return Outcome(NO_IDENTITY, error=ErrorCode.CONCURRENT_TRANSACTIONS)
        current = None if transaction is None else transaction.current
        now, version = self._scheduler.wall_ms(), self._version()
        following = decide_initialize(current, timeout_ms, expected, fresh_id, version, now)
        if isinstance(following, MissingInput):
            return Outcome(following)
        if isinstance(following, ErrorCode):
            return Outcome(NO_IDENTITY, error=following)
        if following.state.is_prepared:
            # No producer gets the epoch of a fence: the client retries, and gets the next epoch.
            busy = ErrorCode.CONCURRENT_TRANSACTIONS
            return self._decide(
                transactional_id, NO_IDENTITY, following, error=busy, then=self._send_markers
            )
        return self._decide(transactional_id, _identity(following), following)

    def add_partitions(
        self, transactional_id: str, addition: Addition, hold_ms: int = 0
    ) -> Outcome[Done]:
        """Return the outcome of an AddPartitionsToTxn or AddOffsetsToTxn, with the new metadata or
        an error.

        If the answer would be CONCURRENT_TRANSACTIONS, the request is held for up to `hold_ms` and
        retried, and the outcome has no reply. INVALID_PRODUCER_ID_MAPPING: the id is unknown.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return Outcome(addition.done, error=ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        busy = ErrorCode.CONCURRENT_TRANSACTIONS
        following: TransactionMetadata | ErrorCode = busy
        if not transaction.is_busy:
            following = _with_addition(addition, transaction.current, self._scheduler.wall_ms())
        if isinstance(following, TransactionMetadata):
            return self._decide(transactional_id, addition.done, following)
        if (
            following is busy
            and hold_ms > 0
            and self._held.hold(transactional_id, addition, hold_ms)
        ):
            return NOTHING
        return Outcome(addition.done, error=following)

    def _add_again(self, transactional_id: str, addition: Addition) -> None:
        """Submit a held request again, this time without a hold. If this shard does not have the id
        any more, answer NOT_COORDINATOR."""
        if transactional_id in self.transactions:
            self._context.submit(
                partial(self.add_partitions, transactional_id, addition), call_reply
            )
        else:
            addition.done(ErrorCode.NOT_COORDINATOR)

    def verify_partition_errors(
        self, transactional_id: str, identity: Identity, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Return NONE or an error for each partition: whether it is in the id's committed
        transaction."""
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
    ) -> Outcome[Identity | MissingInput]:
        """Return the outcome of an EndTxn; the answer and the markers wait for the commit of the
        decision.

        From `client_version` 2 on, the reply has the producer id and epoch to continue with. The
        errors are those of `decide_end`, INVALID_PRODUCER_ID_MAPPING for an unknown id, and
        CONCURRENT_TRANSACTIONS while a record is not committed.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return Outcome(NO_IDENTITY, error=ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.is_busy:
            return Outcome(NO_IDENTITY, error=ErrorCode.CONCURRENT_TRANSACTIONS)
        current, now = transaction.current, self._scheduler.wall_ms()
        following = decide_end(current, identity, committed, client_version, fresh_id, now)
        if isinstance(following, MissingInput):
            return Outcome(following)
        bumps = client_version >= 2
        if isinstance(following, ErrorCode):
            if following is ErrorCode.INVALID_TXN_STATE:
                action = "commit" if committed else "abort"
                state = current.state.shown
                log.warning("%s: asked to %s in state %s", transactional_id, action, state)
            return Outcome(_identity(current) if bumps else NO_IDENTITY, error=following)
        after = following.identity_after if bumps else NO_IDENTITY
        return self._decide(transactional_id, after, following, then=self._send_markers)

    # -- markers -------------------------------------------------------------------------------

    def _send_markers(self, transaction: Transaction) -> None:
        """Send the markers of a decision, then complete the transaction. Do nothing if the state is
        no decision."""
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
            done=lambda: self._markers_written(transaction),
        )
        self._sending[transaction.id] = pending
        self._markers.send(pending)

    def _markers_written(self, transaction: Transaction) -> None:
        """Submit the completion of the transaction, because all partitions have their marker."""
        self._context.submit(partial(self._complete, transaction), call_reply)

    def _complete(self, transaction: Transaction) -> Outcome[Done]:
        """Return the outcome that completes a transaction, all of whose partitions have their
        marker.

        If a held request can be granted, its partitions are written in the same batch, and the
        outcome answers it. The outcome has no records if the transaction is gone.
        """
        if self.transactions.get(transaction.id) is not transaction:
            return NOTHING
        self._sending.pop(transaction.id, None)
        now = self._scheduler.wall_ms()
        following = decide_complete(transaction.current, now)
        held = self._held.peek(transaction.id)
        added = None if held is None else _with_addition(held, following, now)
        if held is None or not isinstance(added, TransactionMetadata):
            return self._complete_alone(transaction, following)

        def written(error: ErrorCode) -> Outcome[Done] | None:
            """Return None if the append succeeded. Otherwise answer the held request with
            CONCURRENT_TRANSACTIONS, and return the outcome of the completion alone."""
            if error is ErrorCode.NONE:
                return None
            held.done(ErrorCode.CONCURRENT_TRANSACTIONS)
            return self._complete_alone(transaction, following)

        # The end and the next begin share one batch and one round of replication.
        self._held.drop(transaction.id)
        return self._decide(transaction.id, held.done, following, added, written=written)

    def _complete_alone(
        self, transaction: Transaction, following: TransactionMetadata
    ) -> Outcome[Done]:
        """Return the outcome that writes the completed state without a client's request.

        An error other than NOT_COORDINATOR leads to a retry after COMPLETION_RETRY_MS.
        """

        def written(error: ErrorCode) -> None:
            """Log the error of a failed append, and schedule a retry unless the shard is
            unloaded."""
            if error not in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR):
                log.info("%s not completed yet: %s", transaction.id, error.name)
                retry = partial(self._markers_written, transaction)
                self._scheduler.call_later(COMPLETION_RETRY_MS, retry)

        return self._decide(transaction.id, no_reply, following, written=written)

    # -- time ----------------------------------------------------------------------------------

    def timed_out(self) -> list[str]:
        """Return the ids whose transaction is open for longer than its time-out."""
        return [name for name in self._open.ids() if self._is_timed_out(name)]

    def _is_timed_out(self, transactional_id: str) -> bool:
        """Return whether the id's transaction exceeds its time-out; False while a record is not
        committed."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.is_busy:
            return False
        return self._open.is_timed_out(transactional_id, transaction.current)

    def abort_timed_out(
        self, transactional_id: str, fresh_id: int | None
    ) -> Outcome[bool | MissingInput]:
        """Return the outcome that aborts a transaction of `timed_out`, and replies True before the
        commit.

        It replies False, and writes nothing, if the transaction is not timed out any more. The
        reply PRODUCER_ID asks for the same call with a new producer id as `fresh_id`.
        """
        if not self._is_timed_out(transactional_id):
            return Outcome(False)
        metadata = self.transactions[transactional_id].current
        following = decide_fence(metadata, self._version(), fresh_id, self._scheduler.wall_ms())
        if isinstance(following, MissingInput):
            return Outcome(following)
        return self._decide(
            transactional_id, True, following, then=self._send_markers, after=AT_ONCE
        )

    def expire_ids(self, after_ms: int) -> Outcome[None]:
        """Return the outcome that deletes the ids that did not change for `after_ms`. Ids with an
        open, unfinished or uncommitted transaction stay."""
        latest = self._scheduler.wall_ms() - after_ms
        records = [
            transaction_tombstone(transaction.id)
            for transaction in self.transactions.values()
            if not transaction.is_busy and is_expired(transaction.current, latest)
        ]
        return Outcome(None, records, atomic=False, after=AT_ONCE)

    # -- administration ------------------------------------------------------------------------

    def visible(self) -> Iterator[tuple[str, TransactionMetadata]]:
        """Yield every id with its latest committed metadata."""
        for transaction in self.transactions.values():
            if transaction.committed is not None:
                yield transaction.id, transaction.committed


def _with_addition(
    addition: Addition, metadata: TransactionMetadata, now_ms: int
) -> TransactionMetadata | ErrorCode:
    """Return the metadata with the request's partitions, or the error (`decide_add`)."""
    identity, partitions, client_version, _ = addition
    return decide_add(metadata, identity, partitions, client_version, now_ms)


def _identity(metadata: TransactionMetadata) -> Identity:
    return metadata.producer_id, metadata.producer_epoch
