"""Runs a coordinator's shards, one for each partition of its internal topic.

    submit → decide (the shard) → `Outcome` → records appended and replayed → … committed … → reply

Owns which partitions this node coordinates, their epochs, loading and unloading, and the replies
that wait for a commit. What is asked of a shard is done in order, long work in slices: a decision,
its records and their replay are one piece, and what comes meanwhile waits behind it. Never knows
what a record means: the shard's `replay` does, and it is the only way durable state changes, when
live as when loading. A record is replayed as soon as it is appended, so that the next decision sees
it; a failed append is not replayed. What was appended but never committed can only be lost with the
leadership, and then the whole shard is dropped.

The number of parked replies is bounded by the connections; each waits `offsets.commit.timeout.ms`
at most. Follows Kafka's `CoordinatorRuntime`, without its snapshots of past states.
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
    Verified,
    coordinator_error,
)
from broker.coordinator.outcome import AT_ONCE, Decided, Done, Outcome, Told
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.ordered_work import OrderedWork, raise_error
from ground.ports import Scheduler, Timer
from ground.sliced_work import Pace, SlicedWork, Steps
from protocol.errors import ErrorCode, ProtocolError

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

RECORDS_PER_BATCH = 1_000
"""Of an outcome that is not atomic, so that no batch outgrows max.message.bytes."""
REPLAYS_A_SLICE = 200
REPLAYED_BYTES = 64
"""As many more of a record's value take as long as one more record."""


class CoordinatorShard(Protocol):
    """The state machine of one partition."""

    def replay(self, record: LogRecord) -> None:
        """Apply one record. ProtocolError where it cannot be read."""

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Apply the end of a transaction."""

    def on_loaded(self) -> None:
        """All of the log was replayed: the shard is live now."""

    def on_unloaded(self) -> None:
        """The partition is led elsewhere: answer NOT_COORDINATOR to what is parked, stop timers."""


class ShardState(Enum):
    """Whether a shard answers.

    LOADING   answers COORDINATOR_LOAD_IN_PROGRESS; → ACTIVE, FAILED, CLOSED
    ACTIVE    answers; → CLOSED
    FAILED    its log could not be read: answers NOT_COORDINATOR; → CLOSED
    CLOSED    led elsewhere: answers NOT_COORDINATOR; for good
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
    """One partition as its shard sees it: what is committed, and `submit` for its timers."""

    def __init__(
        self,
        partition: int,
        leader_epoch: int,
        coordinator_log: CoordinatorLog,
        scheduler: Scheduler,
        commit_timeout_ms: int,
        sliced: SlicedWork | None = None,
    ) -> None:
        """Without `sliced` long work is done in one go."""
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
        """Below this offset the log is committed. Never amid what one append wrote, some of which
        may not be replayed yet: who reads what is committed sees all of an append or nothing."""
        committed = self._log.high_watermark(self.partition)
        return committed if self._replayed_below is None else min(committed, self._replayed_below)

    @property
    def is_amid_an_append(self) -> bool:
        """Whether some of what one append wrote is replayed, and some is not."""
        return self._replayed_below is not None

    @property
    def is_deciding(self) -> bool:
        """Whether something is under way here, and its records may be replayed in part."""
        return self._work.is_behind

    def submit(
        self,
        decide: Callable[[], Decided[T]],
        done: Told[T],
        refuse: Done | None = None,
        *,
        later: bool = False,
    ) -> None:
        """Decide, write what was decided, and tell `done` once: see `Outcome`.

        An append that is refused tells its error at once. A commit that does not come tells
        COORDINATOR_NOT_AVAILABLE after `offsets.commit.timeout.ms`, or NOT_COORDINATOR when the
        shard is unloaded before. With `refuse` that is told NOT_COORDINATOR where the shard is
        unloaded before its turn, and UNKNOWN_SERVER_ERROR where a long decision failed. `later`: it
        has its place among what is decided here, but none of it is done now.
        """

        def decided(tell: Callable[[], None] | None, error: Exception | None) -> None:
            if tell is not None:
                tell()
                return
            log.error("%s: a decision failed", self, exc_info=error)
            if refuse is not None:
                refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

        take = self._work.take_later if later else self._work.take
        take(self._carry_out(decide, done, refuse), decided)

    def _carry_out(
        self, decide: Callable[[], Decided[T]], done: Told[T], refuse: Done | None
    ) -> Steps[Callable[[], None]]:
        """Where it is to be refused: not what is decided by a shard's own timers."""
        if refuse is not None and self.state is not ShardState.ACTIVE:
            return partial(refuse, ErrorCode.NOT_COORDINATOR)
        return (yield from self._decide_and_write(decide, done))

    def _decide_and_write(
        self, decide: Callable[[], Decided[T]], done: Told[T]
    ) -> Steps[Callable[[], None]]:
        """What tells the reply, now or when all is committed."""
        outcome = yield from _outcome(decide())
        while True:
            reply, records, told, wanted, transaction, atomic, then, committed = outcome
            if not records:
                break
            if atomic:
                error = yield from self._append(records, transaction)
            else:
                error = yield from self._append_in_batches(records, transaction)
            following = None if then is None else then(error)
            if following is not None:
                outcome = yield from _outcome(following)
            elif error:
                return partial(done, error, reply)
            else:
                break
        if wanted is None:
            wanted = self.last_offset if records else AT_ONCE
        if committed is not None:
            self.once_committed(committed)
        if wanted == AT_ONCE:
            return partial(done, told, reply)
        tell = partial(_tell, done, told, reply)
        return partial(self._after_commit, tell, wanted)

    def _append_in_batches(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[ErrorCode]:
        for start in range(0, len(records), RECORDS_PER_BATCH):
            part = records[start : start + RECORDS_PER_BATCH]
            error = yield from self._append(part, transaction)
            if error:
                return error
        return ErrorCode.NONE

    def _append(
        self, records: Sequence[Record], transaction: TransactionalAppend | None
    ) -> Steps[ErrorCode]:
        """Write `records` and replay them. An error is one for clients; then nothing changed, or
        the shard is not here any more.

        To write many takes as long as a slice: neither the end of the decision nor the first
        replays are in it."""
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
        """Begins with a slice, which may be one after that of the append."""
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
        """Whether this is led elsewhere, or not loaded: asked after a slice."""
        return self.state is not ShardState.ACTIVE

    def _after_commit(self, done: Done, wanted: int) -> None:
        """Call `done` once: with NONE when offset `wanted` is committed."""
        if self.state is not ShardState.ACTIVE:
            done(ErrorCode.NOT_COORDINATOR)
            return
        if wanted > self.committed_offset:
            self._log.when_committed(self.partition, wanted, lambda: self._on_committed(wanted))
        if wanted <= self.committed_offset:
            done(ErrorCode.NONE)
            return
        deadline = self._scheduler.monotonic_ms() + self._commit_timeout_ms
        self._parked.append(_Parked(wanted, deadline, done))
        if self._timer is None:
            self._timer = self._scheduler.call_later(self._commit_timeout_ms, self._on_timeout)

    def once_committed(self, callback: Callable[[], None]) -> None:
        """Call `callback` when all that was appended is committed, however late.

        Never, where the shard is unloaded before.
        """
        wanted = self.last_offset
        if wanted <= self.committed_offset:
            callback()
            return

        def committed() -> None:
            if self.state is ShardState.ACTIVE:
                self.committed_offset = max(self.committed_offset, wanted)
                callback()

        self._log.when_committed(self.partition, wanted, committed)

    def take_in(
        self, records: Iterable[LogRecord | TransactionMarker], taken_in: Callable[[], None]
    ) -> None:
        """Replay a part of the log, then `taken_in()`; only while loading. What cannot be read ends
        the loading."""
        self._work.take(self._replay_loaded(records, taken_in), raise_error)

    def _replay_loaded(
        self, records: Iterable[LogRecord | TransactionMarker], taken_in: Callable[[], None]
    ) -> Steps[None]:
        assert self.shard is not None
        pace = Pace(REPLAYS_A_SLICE)
        for record in records:
            value = None if isinstance(record, TransactionMarker) else record.value
            if pace.is_full(replays(value)):
                yield None
            if self.state is not ShardState.LOADING:
                return
            try:
                self._replay_one(self.shard, record)
            except ProtocolError as error:
                log.error("%s cannot be loaded: %s", self, error)
                self.state = ShardState.FAILED
                return
        taken_in()

    def _replay_one(self, shard: CoordinatorShard, record: LogRecord | TransactionMarker) -> None:
        if isinstance(record, TransactionMarker):
            shard.replay_marker(record)
        elif record.key is not None:
            shard.replay(record)
        self.last_offset = record.offset

    def marker_appended(self, marker: TransactionMarker) -> None:
        """A control record was written to this partition by WriteTxnMarkers."""
        self._work.take(self._replay_appended(marker), raise_error)

    def _replay_appended(self, marker: TransactionMarker) -> Steps[None]:
        yield from ()
        if self.state is ShardState.ACTIVE:
            assert self.shard is not None
            self.shard.replay_marker(marker)
            self.last_offset = max(self.last_offset, marker.offset)

    def close(self) -> None:
        """Stop answering; what is parked gets NOT_COORDINATOR."""
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
        # All wait equally long, so the first parked is the first due, and one timer is enough.
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
        return f"partition {self.partition} (leader epoch {self.leader_epoch})"


S = TypeVar("S", bound=CoordinatorShard)


class CoordinatorRuntime(Generic[S]):
    """The shards of one coordinator. `make_shard(context)` makes an empty one."""

    def __init__(
        self,
        name: str,
        coordinator_log: CoordinatorLog,
        scheduler: Scheduler,
        make_shard: Callable[[ShardContext], S],
        commit_timeout_ms: int,
        sliced: SlicedWork | None = None,
    ) -> None:
        """Without `sliced` long work is done in one go."""
        self.name = name
        self._sliced = sliced
        self._log = coordinator_log
        self._scheduler = scheduler
        self._make_shard = make_shard
        self._commit_timeout_ms = commit_timeout_ms
        self._shards: dict[int, tuple[ShardContext, S]] = {}

    def shard(self, partition: int) -> S | ErrorCode:
        """The live shard of `partition`, or why there is none here."""
        found = self._find(partition)
        return found if isinstance(found, ErrorCode) else found[1]

    def _find(self, partition: int) -> tuple[ShardContext, S] | ErrorCode:
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
        done: Verified,
    ) -> None:
        """Before an append with a transaction: see `CoordinatorLog`. Errors are those for clients.

        `done` may come when the shard is gone, or is another one: look for it then.
        """

        def verified(outcome: TransactionalAppend | ErrorCode) -> None:
            done(coordinator_error(outcome) if isinstance(outcome, ErrorCode) else outcome)

        self._log.verify_transaction(partition, producer, operation, verified)

    def submit(
        self, partition: int, decide: Callable[[S], Decided[T]], done: Told[T], refuse: Done
    ) -> None:
        """Have the shard of `partition` decide: see `ShardContext.submit`.

        Where it does not answer here, or not yet, `refuse` is told why, and nothing else happens.
        """
        found = self._find(partition)
        if isinstance(found, ErrorCode):
            refuse(found)
        else:
            context, shard = found
            context.submit(partial(decide, shard), done, refuse)

    def submit_to_all(
        self, decide: Callable[[S], Decided[T]], done: Told[T], *, later: bool = True
    ) -> None:
        """Have every live shard decide, in the order of election, each in a turn of its own: before
        all that is asked of it from now on. Not `later`: what is short is done now."""
        for context, shard in list(self._shards.values()):
            if context.state is ShardState.ACTIVE:
                context.submit(partial(decide, shard), done, later=later)

    def partitions(self) -> list[int]:
        """Of every shard, in the order of election."""
        return list(self._shards)

    def amid_an_append(self, partition: int) -> Steps[None]:
        """Slices that others need until no append to a partition is replayed in part: who reads
        a shard then sees all of it or nothing."""
        while (found := self._shards.get(partition)) and found[0].is_amid_an_append:
            yield None

    def active_shards(self) -> Iterator[S]:
        """Every live shard, in the order of election."""
        for context, shard in list(self._shards.values()):
            if context.state is ShardState.ACTIVE:
                yield shard

    def partition_counts(self) -> Counter[ShardState]:
        """How many partitions are coordinated here, by how far they are."""
        return Counter(context.state for context, _ in self._shards.values())

    def is_loading(self) -> bool:
        """Whether some shard is still being loaded."""
        return any(context.state is ShardState.LOADING for context, _ in self._shards.values())

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """This node leads `partition` from `leader_epoch` on: load it.

        Told again of the same or an older epoch, nothing happens. Told of a newer one, a live shard
        goes on under it: a leader's log is cut only when it has followed another, and then the
        shard was unloaded. One that is still loading begins again.
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
            context.take_in,
            lambda error: self._on_load_end(context, shard, error),
        )

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """This node does not lead `partition` any more, or the partition is gone (epoch None)."""
        entry = self._shards.get(partition)
        if entry is None or (leader_epoch is not None and leader_epoch < entry[0].leader_epoch):
            return
        del self._shards[partition]
        entry[0].close()

    def on_marker(self, partition: int, marker: TransactionMarker) -> None:
        """WriteTxnMarkers appended `marker` to `partition`."""
        entry = self._shards.get(partition)
        if entry is not None and entry[0].state is ShardState.ACTIVE:
            entry[0].marker_appended(marker)

    def shutdown(self) -> None:
        """Resign from everything."""
        for partition in list(self._shards):
            self.on_resigned(partition)

    def _on_load_end(self, context: ShardContext, shard: S, error: ErrorCode) -> None:
        if context.state is not ShardState.LOADING:
            return
        if error is not ErrorCode.NONE:
            log.error("%s: %s cannot be loaded: %s", self.name, context, error.name)
            context.state = ShardState.FAILED
            return
        context.state = ShardState.ACTIVE
        shard.on_loaded()


def replays(value: bytes | None) -> int:
    """How many replays of a short record that of one with this value counts for."""
    return 1 if value is None else 1 + len(value) // REPLAYED_BYTES


def _outcome(decided: Decided[T]) -> Steps[Outcome[T]]:
    if isinstance(decided, Outcome):
        return decided
    return (yield from decided)


def _tell(done: Told[T], told: ErrorCode, reply: T, error: ErrorCode) -> None:
    done(error or told, reply)
