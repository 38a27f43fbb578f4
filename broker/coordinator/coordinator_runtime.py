"""The runtime of a coordinator's shards, one for each partition of its internal topic.

    submit → decide (the shard) → `Outcome` → records appended and replayed → … committed … → reply

Owns the set of partitions that this node coordinates, their epochs, loading and unloading, and the
replies that wait for a commit. Decisions of a shard run in order, long ones in slices. A decision,
its append and the replay of its records are one piece of work, and later decisions wait behind it.
Never interprets a record: the shard's `replay` does. Durable state changes only in `replay`, while
the shard is live or loading. A record is replayed right after its append, so that the next decision
sees it; a failed append is not replayed. An appended record that is not committed can be lost only
together with the leadership, and then the whole shard is dropped.

The number of parked replies is bounded by the number of connections. Each waits at most
`commit_timeout_ms`. Follows Kafka's `CoordinatorRuntime`, without its snapshots of past
states.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from broker.coordinator.coordinator_log import (
    NO_PRODUCER_ID,
    CoordinatorLog,
    LogRecord,
    Record,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
    VerificationCallback,
    coordinator_error,
)
from broker.coordinator.outcome import AT_ONCE, Decided, Done, Outcome, ReplyWithError, batches_of
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.ordered_work import OrderedWork, raise_error
from ground.ports import Scheduler, Timer
from ground.sliced_work import Pace, SlicedWork, Steps
from protocol.errors import ErrorCode, ProtocolError

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

REPLAYS_A_SLICE = 200
REPLAYED_BYTES = 64
"""The number of bytes of a value whose replay takes as long as one more record."""


class CoordinatorShard(Protocol):
    """The state machine of one partition."""

    def replay(self, record: LogRecord) -> None:
        """Apply one record. Raises ProtocolError if it cannot be parsed."""

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Apply the end of a transaction."""

    def on_loaded(self) -> None:
        """Go live: the whole log has been replayed."""

    def on_unloaded(self) -> None:
        """Answer parked requests with NOT_COORDINATOR and stop all timers: this shard is closed."""


class ShardState(Enum):
    """The life of a shard.

    LOADING   requests get COORDINATOR_LOAD_IN_PROGRESS; → ACTIVE, FAILED, CLOSED
    ACTIVE    requests are decided; → CLOSED
    FAILED    the log could not be read, requests get NOT_COORDINATOR; → CLOSED
    CLOSED    another node leads, requests get NOT_COORDINATOR; final
    """

    LOADING = "Loading"
    ACTIVE = "Active"
    FAILED = "Failed"
    CLOSED = "Closed"


class _Parked(NamedTuple):
    offset: int
    deadline_ms: float
    done: Done


class ShardContext:
    """The runtime's side of a shard: its leader epoch, committed offset, and work in order."""

    def __init__(
        self,
        partition: int,
        leader_epoch: int,
        coordinator_log: CoordinatorLog,
        scheduler: Scheduler,
        commit_timeout_ms: int,
        sliced: SlicedWork | None = None,
    ) -> None:
        """Create the context of a loading shard. Without `sliced`, long work runs in one go."""
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.state = ShardState.LOADING
        self.last_offset = -1
        self.committed_offset = -1
        self._log = coordinator_log
        self._scheduler = scheduler
        self._commit_timeout_ms = commit_timeout_ms
        self._parked: deque[_Parked] = deque()
        self._timer: Timer | None = None
        self._work = OrderedWork(sliced)
        self._replayed_below: int | None = None
        self.shard: CoordinatorShard | None = None

    @property
    def high_watermark(self) -> int:
        """The offset below which the log is committed.

        While an append is only replayed in part, this is at most the first offset of that append:
        a reader of committed state sees all of an append or nothing.
        """
        committed = self._log.high_watermark(self.partition)
        return committed if self._replayed_below is None else min(committed, self._replayed_below)

    @property
    def is_amid_an_append(self) -> bool:
        """True while an append of several records may be replayed only in part."""
        return self._replayed_below is not None

    @property
    def is_deciding(self) -> bool:
        """True while a decision is in progress; its records may be replayed only in part."""
        return self._work.is_behind

    def submit(
        self,
        decide: Callable[[], Decided[T]],
        done: ReplyWithError[T],
        refuse: Done | None = None,
        *,
        later: bool = False,
    ) -> None:
        """Run `decide`, append and replay the records of its `Outcome`, and call `done` once.

        A failed append calls `done` with its error at once. A missing commit calls it with
        COORDINATOR_NOT_AVAILABLE after `commit_timeout_ms`, or with NOT_COORDINATOR when the shard
        is unloaded. `refuse` is called instead of `done` if the shard is unloaded before `decide`
        runs (NOT_COORDINATOR), or if a sliced decision raises (UNKNOWN_SERVER_ERROR). Without
        `refuse`, `decide` always runs, and an error is only logged. An error in the first slice is
        raised if no decision is before it. With `later`, nothing runs in this call.
        """

        def decided(respond: Callable[[], None] | None, error: Exception | None) -> None:
            """Call `respond`. If the decision raised, log the error and call `refuse`, if given."""
            if respond is not None:
                respond()
                return
            log.error("%s: a decision failed", self, exc_info=error)
            if refuse is not None:
                refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

        take = self._work.take_later if later else self._work.take
        take(self._carry_out(decide, done, refuse), decided)

    def _carry_out(
        self, decide: Callable[[], Decided[T]], done: ReplyWithError[T], refuse: Done | None
    ) -> Steps[Callable[[], None]]:
        """Run a decision, append its records, and return the call that replies.

        If `refuse` is given and the shard is not active, run nothing and return the call
        `refuse(NOT_COORDINATOR)`. Decisions without `refuse`, such as a timer's, always run.
        """
        if refuse is not None and self.state is not ShardState.ACTIVE:
            return partial(refuse, ErrorCode.NOT_COORDINATOR)
        return (yield from self._decide_and_write(decide, done))

    def _decide_and_write(
        self, decide: Callable[[], Decided[T]], done: ReplyWithError[T]
    ) -> Steps[Callable[[], None]]:
        """Run a decision, append and replay its records, and return the call that replies. That
        call waits for the commit, or calls `done` with the append's error at once."""
        outcome = yield from _in_steps(decide())
        while True:
            reply, records, reply_error, offset, transaction, atomic, then, committed = outcome
            if not records:
                break
            if atomic:
                error = yield from self._append(records, transaction)
            else:
                error = yield from self._append_in_batches(records, transaction)
            following = None if then is None else then(error)
            if following is not None:
                outcome = yield from _in_steps(following)
            elif error:
                return partial(done, error, reply)
            else:
                break
        if offset is None:
            offset = self.last_offset if records else AT_ONCE
        if committed is not None:
            self.once_committed(committed)
        if offset == AT_ONCE:
            return partial(done, reply_error, reply)
        respond = partial(_respond, done, reply_error, reply)
        return partial(self._after_commit, respond, offset)

    def _append_in_batches(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[ErrorCode]:
        """Append and replay the records in batches. Return an error at once; earlier ones stay."""
        for part in batches_of(records):
            error = yield from self._append(part, transaction)
            if error:
                return error
        return ErrorCode.NONE

    def _append(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[ErrorCode]:
        """Append `records` and replay them. Return an error for clients, or NONE.

        After an error the shard has not changed, or it was unloaded. The append of many records
        takes a slice of its own, apart from the end of the decision and the first replays.
        """
        is_long, batch = len(records) > REPLAYS_A_SLICE, None
        if is_long:
            batch = yield from self._log.build(records, transaction)
            yield None
        if self._is_gone():
            return ErrorCode.NOT_COORDINATOR
        epoch = self.leader_epoch
        result = self._log.append(self.partition, epoch, records, transaction, batch)
        if result.error is not ErrorCode.NONE:
            log.warning("%s: append refused: %s", self, result.error.name)
            return coordinator_error(result.error)
        producer_id = NO_PRODUCER_ID if transaction is None else transaction.producer.producer_id
        if len(records) > 1:
            self._replayed_below = result.first_offset
        try:
            if is_long:
                yield None
            error = yield from self._replay_written(records, result.first_offset, producer_id)
        finally:
            self._replayed_below = None
        if error is ErrorCode.NONE:
            self.last_offset = max(self.last_offset, result.last_offset)
        return error

    def _replay_written(
        self, records: Sequence[Record], first_offset: int, producer_id: int
    ) -> Steps[ErrorCode]:
        """Replay appended records in slices. Return NOT_COORDINATOR if the shard is unloaded."""
        assert self.shard is not None
        pace = Pace(REPLAYS_A_SLICE)
        for index, (key, value) in enumerate(records):
            if pace.is_full(replays(value)) and index:
                yield None
            if self._is_gone():
                return ErrorCode.NOT_COORDINATOR
            self.shard.replay(LogRecord(first_offset + index, key, value, producer_id))
        return ErrorCode.NONE

    def _is_gone(self) -> bool:
        """Return whether the shard is not active any more, which is possible after each pause."""
        return self.state is not ShardState.ACTIVE

    def _after_commit(self, done: Done, offset: int) -> None:
        """Call `done` once: NONE when `offset` is committed, NOT_COORDINATOR if the shard is
        unloaded, COORDINATOR_NOT_AVAILABLE after the commit time-out."""
        if self.state is not ShardState.ACTIVE:
            done(ErrorCode.NOT_COORDINATOR)
            return
        if offset > self.committed_offset:
            self._log.when_committed(self.partition, offset, lambda: self._on_committed(offset))
        if offset <= self.committed_offset:
            done(ErrorCode.NONE)
            return
        deadline = self._scheduler.monotonic_ms() + self._commit_timeout_ms
        self._parked.append(_Parked(offset, deadline, done))
        if self._timer is None:
            self._timer = self._scheduler.call_later(self._commit_timeout_ms, self._on_timeout)

    def once_committed(self, callback: Callable[[], None]) -> None:
        """Call `callback` when all records so far are committed, without a time-out. If the shard
        is unloaded before, it is never called."""
        offset = self.last_offset
        if offset <= self.committed_offset:
            callback()
            return

        def committed() -> None:
            """Advance `committed_offset` and call `callback`, if the shard is still active."""
            if self.state is ShardState.ACTIVE:
                self.committed_offset = max(self.committed_offset, offset)
                callback()

        self._log.when_committed(self.partition, offset, committed)

    def load_part(
        self, records: Iterable[LogRecord | TransactionMarker], load_next: Callable[[], None]
    ) -> None:
        """Replay a part of the log while loading, then call `load_next`. A record that cannot be
        parsed ends the loading: the shard is FAILED."""
        self._work.take(self._replay_loaded(records, load_next), raise_error)

    def _replay_loaded(
        self, records: Iterable[LogRecord | TransactionMarker], load_next: Callable[[], None]
    ) -> Steps[None]:
        """Replay a part of the log in slices, then load the next. An unreadable record is logged
        and makes the shard FAILED; then, or after an unload, nothing more is loaded."""
        assert self.shard is not None
        pace = Pace(REPLAYS_A_SLICE)
        for record in records:
            value = None if isinstance(record, TransactionMarker) else record.value
            if pace.is_full(replays(value)):
                yield None
            if self.state is not ShardState.LOADING:
                return
            try:
                self._replay_record(self.shard, record)
            except ProtocolError as error:
                log.error("%s cannot be loaded: %s", self, error)
                self.state = ShardState.FAILED
                return
        load_next()

    def _replay_record(
        self, shard: CoordinatorShard, record: LogRecord | TransactionMarker
    ) -> None:
        """Apply a marker, or a record that has a key, to the shard, and advance `last_offset`."""
        if isinstance(record, TransactionMarker):
            shard.replay_marker(record)
        elif record.key is not None:
            shard.replay(record)
        self.last_offset = record.offset

    def marker_appended(self, marker: TransactionMarker) -> None:
        """Replay a marker of WriteTxnMarkers, after the work before it, if the shard is active."""
        self._work.take(self._replay_appended(marker), raise_error)

    def _replay_appended(self, marker: TransactionMarker) -> Steps[None]:
        """Apply a marker written after the load and advance `last_offset`, if the shard is
        active."""
        yield from ()
        if self.state is ShardState.ACTIVE:
            assert self.shard is not None
            self.shard.replay_marker(marker)
            self.last_offset = max(self.last_offset, marker.offset)

    def close(self) -> None:
        """Set the state to CLOSED, and answer parked replies with NOT_COORDINATOR. Call
        `on_unloaded` of the shard if it was active."""
        was_active = self.state is ShardState.ACTIVE
        self.state = ShardState.CLOSED
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._parked:
            self._parked.popleft().done(ErrorCode.NOT_COORDINATOR)
        if was_active and self.shard is not None:
            self.shard.on_unloaded()

    def _on_committed(self, offset: int) -> None:
        """Advance `committed_offset`, and send the replies of committed records in order."""
        if self.state is not ShardState.ACTIVE:
            return
        self.committed_offset = max(self.committed_offset, offset)
        due = [waiting for waiting in self._parked if waiting.offset <= self.committed_offset]
        if not due:
            return
        self._parked = deque(
            waiting for waiting in self._parked if waiting.offset > self.committed_offset
        )
        if not self._parked and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for waiting in due:
            waiting.done(ErrorCode.NONE)

    def _on_timeout(self) -> None:
        """Answer COORDINATOR_NOT_AVAILABLE for late writes, which may still be committed."""
        # All replies wait equally long, so the first parked is due first, and one timer is enough.
        self._timer = None
        now = self._scheduler.monotonic_ms()
        expired: list[_Parked] = []
        while self._parked and self._parked[0].deadline_ms <= now:
            expired.append(self._parked.popleft())
        if self._parked:
            self._timer = self._scheduler.call_later(
                self._parked[0].deadline_ms - now, self._on_timeout
            )
        for waiting in expired:
            waiting.done(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def __str__(self) -> str:
        """Return the partition and its leader epoch, for the log."""
        return f"partition {self.partition} (leader epoch {self.leader_epoch})"


S = TypeVar("S", bound=CoordinatorShard)


class CoordinatorRuntime(Generic[S]):
    """The shards of a coordinator. `make_shard(context)` returns an empty shard."""

    def __init__(
        self,
        name: str,
        coordinator_log: CoordinatorLog,
        scheduler: Scheduler,
        make_shard: Callable[[ShardContext], S],
        commit_timeout_ms: int,
        sliced: SlicedWork | None = None,
    ) -> None:
        """Create a runtime without shards. Without `sliced`, long work runs in one go."""
        self.name = name
        self._sliced = sliced
        self._log = coordinator_log
        self._scheduler = scheduler
        self._make_shard = make_shard
        self._commit_timeout_ms = commit_timeout_ms
        self._shards: dict[int, tuple[ShardContext, S]] = {}

    def shard(self, partition: int) -> S | ErrorCode:
        """Return the live shard, or else COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR."""
        entry = self._active_shard(partition)
        return entry if isinstance(entry, ErrorCode) else entry[1]

    def _active_shard(self, partition: int) -> tuple[ShardContext, S] | ErrorCode:
        """Return the active shard, or else COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR."""
        entry = self._shards.get(partition)
        if entry is None:
            return ErrorCode.NOT_COORDINATOR
        state = entry[0].state
        if state is ShardState.ACTIVE:
            return entry
        loading = state is ShardState.LOADING
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NOT_COORDINATOR

    def verify_transaction(
        self,
        partition: int,
        producer: TransactionalProducer,
        operation: TransactionSupportedOperation,
        done: VerificationCallback,
    ) -> None:
        """Make sure that `partition` is in the producer's transaction; `done` gets the permission
        to append, or an error for clients. The shard may be unloaded by then: look it up again."""

        def verified(result: TransactionalAppend | ErrorCode) -> None:
            """Pass the permission to `done`, or the error translated for clients."""
            done(coordinator_error(result) if isinstance(result, ErrorCode) else result)

        self._log.verify_transaction(partition, producer, operation, verified)

    def submit(
        self,
        partition: int,
        decide: Callable[[S], Decided[T]],
        done: ReplyWithError[T],
        refuse: Done,
    ) -> None:
        """Run a decision of the shard of `partition`, append its records: see
        `ShardContext.submit`.

        If the shard is not live here, only `refuse` is called, with the error for clients.
        """
        entry = self._active_shard(partition)
        if isinstance(entry, ErrorCode):
            refuse(entry)
        else:
            context, shard = entry
            context.submit(partial(decide, shard), done, refuse)

    def submit_to_all(
        self, decide: Callable[[S], Decided[T]], done: ReplyWithError[T], *, later: bool = True
    ) -> None:
        """Run a decision of every live shard, in the order of election, each in its own loop turn.

        Each decision is before all that is submitted to its shard after this call. With `later`
        False, a short decision runs within this call.
        """
        for context, shard in list(self._shards.values()):
            if context.state is ShardState.ACTIVE:
                context.submit(partial(decide, shard), done, later=later)

    def partitions(self) -> list[int]:
        """Return the partition of every shard, live or not, in the order of election."""
        return list(self._shards)

    def wait_until_replayed(self, partition: int) -> Steps[None]:
        """Yield until no append to `partition` is replayed only in part, so that a reader of the
        shard sees all of an append or nothing."""
        while (entry := self._shards.get(partition)) and entry[0].is_amid_an_append:
            yield None

    def active_shards(self) -> Iterator[S]:
        """Yield every live shard, in the order of election."""
        for context, shard in list(self._shards.values()):
            if context.state is ShardState.ACTIVE:
                yield shard

    def partition_counts(self) -> Counter[ShardState]:
        """Return the number of this node's shards in each state."""
        return Counter(context.state for context, _ in self._shards.values())

    def is_loading(self) -> bool:
        """Return whether some shard is still loading."""
        return any(context.state is ShardState.LOADING for context, _ in self._shards.values())

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """Load the shard of `partition`, which this node leads from `leader_epoch` on.

        The same or an older epoch changes nothing. With a newer epoch, a live shard stays as it is:
        a leader's log is truncated only after it followed another leader, and then the shard was
        unloaded. A shard that is still loading or FAILED is closed and loaded again.
        """
        entry = self._shards.get(partition)
        if entry is not None:
            context = entry[0]
            if context.leader_epoch >= leader_epoch:
                return
            if context.state is ShardState.ACTIVE:
                context.leader_epoch = leader_epoch
                return
            context.close()
        context = ShardContext(
            partition,
            leader_epoch,
            self._log,
            self._scheduler,
            self._commit_timeout_ms,
            self._sliced,
        )
        shard = self._make_shard(context)
        context.shard = shard
        self._shards[partition] = (context, shard)
        self._log.load(
            partition,
            leader_epoch,
            context.load_part,
            lambda error: self._on_load_end(context, shard, error),
        )

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload the shard of `partition`: another node leads, or the partition is deleted.

        If `leader_epoch` is given and older than the epoch of the shard, nothing happens.
        """
        entry = self._shards.get(partition)
        if entry is None or (leader_epoch is not None and leader_epoch < entry[0].leader_epoch):
            return
        del self._shards[partition]
        entry[0].close()

    def on_marker(self, partition: int, marker: TransactionMarker) -> None:
        """Replay `marker`, appended to `partition` by WriteTxnMarkers, if its shard is live."""
        entry = self._shards.get(partition)
        if entry is not None and entry[0].state is ShardState.ACTIVE:
            entry[0].marker_appended(marker)

    def shutdown(self) -> None:
        """Unload all shards."""
        for partition in list(self._shards):
            self.on_resigned(partition)

    def _on_load_end(self, context: ShardContext, shard: S, error: ErrorCode) -> None:
        """Make a loaded shard ACTIVE and call its `on_loaded`. After an error, log it and make the
        shard FAILED. Do nothing if the shard was unloaded before."""
        if context.state is not ShardState.LOADING:
            return
        if error is not ErrorCode.NONE:
            log.error("%s: %s cannot be loaded: %s", self.name, context, error.name)
            context.state = ShardState.FAILED
            return
        context.state = ShardState.ACTIVE
        shard.on_loaded()


def replays(value: bytes | None) -> int:
    """Return the cost of replaying a record with this value, in replays of a short record."""
    return 1 if value is None else 1 + len(value) // REPLAYED_BYTES


def _in_steps(decided: Decided[T]) -> Steps[Outcome[T]]:
    """Return the outcome, after running the decision's own slices if it is a generator."""
    if isinstance(decided, Outcome):
        return decided
    return (yield from decided)


def _respond(done: ReplyWithError[T], reply_error: ErrorCode, reply: T, error: ErrorCode) -> None:
    """Call `done` with the reply, and with `error`, or `reply_error` if that is NONE."""
    done(error or reply_error, reply)
