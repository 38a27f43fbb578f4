"""The transaction coordinator: finds a transactional id's shard, or the error if it is not here.

A transactional id belongs to the partition of `__transaction_state` that it hashes to, and that
partition's leader serves it. Owns the shards (through `CoordinatorRuntime`), the checks that need
no transaction, and the producer ids for which decisions wait. Owns two timers: for transactions
that exceed their time-out, and for unused ids. `TransactionShard` changes transactions.

Follows Kafka's `TransactionCoordinator`; KIP-98, KIP-360, KIP-664, KIP-890.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_log import CoordinatorLog
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.coordinator_runtime import CoordinatorRuntime
from broker.coordinator.name_pattern import (
    InvalidPattern,
    NamePattern,
    matching_names,
    pace_of_names,
)
from broker.coordinator.outcome import Done, Outcome, ReplyWithError, call_reply
from broker.transactions.held_requests import Addition
from broker.transactions.marker_sender import MarkerSender
from broker.transactions.producer_identity import NO_IDENTITY, Identity
from broker.transactions.transaction_decisions import MissingInput
from broker.transactions.transaction_log import by_topic
from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_shard import TransactionShard
from broker.transactions.transaction_state import state_named
from ground.ports import Scheduler, Timer
from ground.sliced_work import Pace, SlicedWork, Steps, in_bulk
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import TopicData
from protocol.messages.describe_transactions import TransactionState as DescribedTransaction
from protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from protocol.messages.list_transactions import TransactionState as ListedTransaction

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

IdentityReply = ReplyWithError[Identity]
NextProducerId = Callable[[Callable[[int | None], None]], None]
"""A function that calls back with a new producer id, now or later; None: retry later."""


class TransactionCoordinator:
    """The transaction coordinator of a broker.

    `partition_count()` is the number of partitions of `__transaction_state`, also before that topic
    exists. `version()` is the cluster's finalized `transaction.version`. `sliced` runs long work in
    slices; None: in one go.
    """

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        coordinator_log: CoordinatorLog,
        markers: MarkerSender,
        next_producer_id: NextProducerId,
        partition_count: Callable[[], int],
        version: Callable[[], int],
        sliced: SlicedWork | None = None,
    ) -> None:
        """Create a coordinator without partitions; `on_elected` loads them."""
        self._config = config
        self._scheduler = scheduler
        self._markers = markers
        self._next_producer_id = next_producer_id
        self._partition_count = partition_count
        self._stopped = False
        self._timers: dict[str, Timer] = {}
        self._runtime = CoordinatorRuntime(
            "transaction coordinator",
            coordinator_log,
            scheduler,
            lambda context: TransactionShard(config, scheduler, markers, version, context),
            config.request_timeout_ms,
            sliced,
        )

    # -- leadership ----------------------------------------------------------------------------

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """Load the ids of a partition of `__transaction_state`, which this broker now leads.

        The first call also starts the timers that abort timed-out transactions and delete unused
        ids.
        """
        self._runtime.on_elected(partition, leader_epoch)
        if not self._timers and not self._stopped:
            config = self._config
            aborts = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
            expiry = config.transaction_remove_expired_transaction_cleanup_interval_ms
            self._call_every("abort", aborts, self._abort_timed_out)
            self._call_every("expiry", expiry, self._expire_ids)

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload the ids of `partition`, which this broker no longer leads. Ignore a `leader_epoch`
        that is older than the loaded one."""
        self._runtime.on_resigned(partition, leader_epoch)

    def metadata_changed(self) -> None:
        """Send waiting markers to new leaders, after a change of the metadata."""
        self._markers.metadata_changed()

    def shutdown(self) -> None:
        """Unload all ids, and stop the timers and the markers. Parked and later requests get
        NOT_COORDINATOR."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers = {}
        self._markers.stop()
        self._runtime.shutdown()

    def _call_every(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        """Call `action` every `interval_ms`, first after one interval, until `shutdown` cancels the
        timer."""

        def fire() -> None:
            """Set the timer again and call `action`."""
            self._call_every(name, interval_ms, action)
            action()

        self._timers[name] = self._scheduler.call_later(interval_ms, fire)

    def _abort_timed_out(self) -> None:
        """Start to abort each transaction on this broker that exceeds its time-out."""
        for shard in self._runtime.active_shards():
            for transactional_id in shard.timed_out():
                self._abort(transactional_id)

    def _abort(self, transactional_id: str) -> None:
        """Start to abort a timed-out transaction; if it is not timed out any more, nothing happens.
        Only the log shows the result."""

        def log_result(error: ErrorCode, aborted: bool) -> None:
            """Log a failure at WARNING, and an abort at INFO; nothing if the transaction had ended
            already."""
            if error is not ErrorCode.NONE:
                log.warning(
                    "%s: could not abort the timed-out transaction: %s",
                    transactional_id,
                    error.name,
                )
            elif aborted:
                log.info("%s: aborting the timed-out transaction", transactional_id)

        self._decide(
            transactional_id,
            lambda shard, fresh: shard.abort_timed_out(transactional_id, fresh),
            log_result,
            lambda _: None,
        )

    def _expire_ids(self) -> None:
        """Delete the ids that did not change for `transactional.id.expiration.ms`, in later turns
        of the loop."""
        self.expire_ids(self._config.transactional_id_expiration_ms, later=True)

    def expire_ids(self, after_ms: int, *, later: bool = False) -> None:
        """Delete this broker's ids that did not change for `after_ms`.

        `later`: each shard runs in its own turn of the loop, not within this call.
        """
        expire = partial(TransactionShard.expire_ids, after_ms=after_ms)
        self._runtime.submit_to_all(expire, _log_expiry, later=later)

    # -- finding -------------------------------------------------------------------------------

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that holds `transactional_id`."""
        return partition_for(transactional_id, self._partition_count())

    def serves(self, transactional_id: str) -> bool:
        """Return whether this broker has loaded the partition of `transactional_id`."""
        return not isinstance(self._shard_for(transactional_id), ErrorCode)

    def _shard_for(self, transactional_id: str) -> TransactionShard | ErrorCode:
        """Return the active shard of the id, or the error that a client gets."""
        error = self._error_of(transactional_id)
        if error is not ErrorCode.NONE:
            return error
        return self._runtime.shard(self.partition_for(transactional_id))

    def _error_of(self, transactional_id: str) -> ErrorCode:
        """Return INVALID_REQUEST for an empty id, NOT_COORDINATOR after `shutdown`, else NONE."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.NOT_COORDINATOR if self._stopped else ErrorCode.NONE

    def _submit(
        self,
        transactional_id: str,
        decide: Callable[[TransactionShard], Outcome[T]],
        done: ReplyWithError[T],
        refuse: Done,
    ) -> None:
        """Run a decision of this id's shard; `done` gets its reply.

        Call `refuse` instead with INVALID_REQUEST for an empty id, or with NOT_COORDINATOR or
        COORDINATOR_LOAD_IN_PROGRESS if no shard is active.
        """
        error = self._error_of(transactional_id)
        if error is not ErrorCode.NONE:
            refuse(error)
        else:
            self._runtime.submit(self.partition_for(transactional_id), decide, done, refuse)

    def _decide(
        self,
        transactional_id: str,
        decide: Callable[[TransactionShard, int | None], Outcome[T | MissingInput]],
        done: ReplyWithError[T],
        refuse: Done,
    ) -> None:
        """Run a decision of the shard, and again with a new producer id if it needs one.

        `refuse` gets COORDINATOR_LOAD_IN_PROGRESS if there is no producer id now, else the errors
        of `_submit`.
        """

        def attempt(fresh_id: int | None) -> None:
            """Run the decision with `fresh_id`. If it lacks a producer id, request one and run it
            again."""

            def respond(error: ErrorCode, reply: T | MissingInput) -> None:
                """Pass the reply to `done`, or request a producer id if the decision lacks one."""
                if not isinstance(reply, MissingInput):
                    done(error, reply)
                    return
                assert fresh_id is None, "a decision had its producer id and needs another"
                self._next_producer_id(got_producer_id)

            self._submit(transactional_id, lambda shard: decide(shard, fresh_id), respond, refuse)

        def got_producer_id(fresh_id: int | None) -> None:
            """Run the decision again with the new producer id; None: answer that the client must
            retry."""
            if fresh_id is None:
                refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            else:
                attempt(fresh_id)

        attempt(None)

    # -- producers -----------------------------------------------------------------------------

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: Identity | None,
        reply: IdentityReply,
    ) -> None:
        """Initialize a transactional id: `reply` gets its producer id and new epoch, or an error.

        `expected` is the producer id and epoch in the request (KIP-360), or None.
        INVALID_TRANSACTION_TIMEOUT: `timeout_ms` is not positive, or above
        `transaction.max.timeout.ms`.
        """
        if transactional_id and not 0 < timeout_ms <= self._config.transaction_max_timeout_ms:
            reply(ErrorCode.INVALID_TRANSACTION_TIMEOUT, NO_IDENTITY)
            return
        self._decide(
            transactional_id,
            lambda shard, fresh: shard.initialize(transactional_id, timeout_ms, expected, fresh),
            lambda error, identity: reply(error, NO_IDENTITY if error else identity),
            lambda error: reply(error, NO_IDENTITY),
        )

    def add_partitions(
        self,
        transactional_id: str,
        identity: Identity,
        partitions: Sequence[TopicPartition],
        client_version: int,
        done: Done,
        hold_ms: int = 0,
    ) -> None:
        """Add partitions to a transaction, for AddPartitionsToTxn or AddOffsetsToTxn. `done` gets
        one error for all, or NONE.

        `hold_ms`: the time for which an early request may be held (see `held_requests`).
        """
        addition = Addition(identity, partitions, client_version, done)
        self._submit(
            transactional_id,
            lambda shard: shard.add_partitions(transactional_id, addition, hold_ms),
            call_reply,
            done,
        )

    def verify_partitions(
        self, transactional_id: str, identity: Identity, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Return NONE or an error for each partition: whether it is in the open transaction.

        This is an AddPartitionsToTxn with verify_only; nothing is changed.
        """
        shard = self._shard_for(transactional_id)
        if isinstance(shard, ErrorCode):
            return dict.fromkeys(partitions, shard)
        return shard.verify_partition_errors(transactional_id, identity, partitions)

    def end(
        self,
        transactional_id: str,
        identity: Identity,
        committed: bool,
        client_version: int,
        reply: IdentityReply,
    ) -> None:
        """Commit or abort a transaction, for EndTxn. `reply` gets an error, or NONE when the
        decision is committed; the markers follow.

        In protocol version 2 the reply has the producer id and epoch to continue with.
        """
        self._decide(
            transactional_id,
            lambda shard, fresh: shard.end(
                transactional_id, identity, committed, client_version, fresh
            ),
            lambda error, after: reply(error, NO_IDENTITY if error else after),
            lambda error: reply(error, NO_IDENTITY),
        )

    # -- administration ------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> DescribedTransaction:
        """Return the committed state of an id for DescribeTransactions.

        Otherwise the answer has an error code: TRANSACTIONAL_ID_NOT_FOUND, or that of a coordinator
        that is not here.
        """
        shard = self._shard_for(transactional_id)
        if isinstance(shard, ErrorCode):
            return DescribedTransaction(int(shard), transactional_id)
        transaction = shard.transactions.get(transactional_id)
        metadata = None if transaction is None else transaction.committed
        if metadata is None:
            return DescribedTransaction(int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND), transactional_id)
        return DescribedTransaction(
            error_code=int(ErrorCode.NONE),
            transactional_id=transactional_id,
            transaction_state=metadata.state.shown,
            transaction_timeout_ms=metadata.timeout_ms,
            transaction_start_time_ms=metadata.start_ms,
            producer_id=metadata.producer_id,
            producer_epoch=metadata.producer_epoch,
            topics=[TopicData(topic, indexes) for topic, indexes in by_topic(metadata).items()],
        )

    def list_transactions(
        self, request: ListTransactionsRequest
    ) -> Steps[ListTransactionsResponse]:
        """Return the answer to ListTransactions: this broker's ids that pass all filters.

        The ids and their metadata are those of the moment after the filters are read. The answer
        has an error after `shutdown`, while a partition is loading, or for an invalid pattern.
        """
        if self._stopped:
            return ListTransactionsResponse(error_code=int(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        if self._runtime.is_loading():
            return ListTransactionsResponse(error_code=int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        pattern = None
        if request.transactional_id_pattern:
            steps_max = self._config.ottla_regex_max_steps
            try:
                pattern = NamePattern(request.transactional_id_pattern, steps_max)
            except InvalidPattern:
                return ListTransactionsResponse(
                    error_code=int(ErrorCode.INVALID_REGULAR_EXPRESSION)
                )
        states, producer_ids = dict[str, None](), set[int]()
        yield from in_bulk(lambda part: states.update(dict.fromkeys(part)), request.state_filters)
        yield from in_bulk(producer_ids.update, request.producer_id_filters)
        unknown = list[str]()
        yield from in_bulk(
            lambda part: unknown.extend(name for name in part if state_named(name) is None), states
        )
        now = self._scheduler.wall_ms()

        def is_listed(metadata: TransactionMetadata) -> bool:
            """Return whether an id passes the filters for its state, producer id and duration."""
            longest = request.duration_filter
            return (
                (not states or metadata.state.shown in states)
                and (not producer_ids or metadata.producer_id in producer_ids)
                and (longest < 0 or now - metadata.start_ms > longest)
            )

        pace, listed = Pace(), []
        visible = dict(item for shard in self._runtime.active_shards() for item in shard.visible())
        names = list(visible)
        if pattern is not None:
            names = yield from matching_names(pattern, names, pace_of_names())
        for name in names:
            if pace.is_full():
                yield None
            metadata = visible[name]
            if is_listed(metadata):
                entry = ListedTransaction(name, metadata.producer_id, metadata.state.shown)
                listed.append(entry)
        return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=listed)


def _log_expiry(error: ErrorCode, _: None) -> None:
    """Log at WARNING that the tombstones of expired ids could not be written; nothing for NONE."""
    if error is not ErrorCode.NONE:
        log.warning("expired transactional ids not removed: %s", error.name)
