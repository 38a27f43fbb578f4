"""The share-partitions of one partition of `__share_group_state`: decisions and replay.

    initialize → snapshot │ write, read of a new leader → update, or each N-th time a snapshot
    delete → tombstone    │ cold states, from time to time → snapshot

Owns the state of each share-partition, and fences old leaders by leader epoch and old
initializations by state epoch. Each handler is for one share-partition, writes nothing, and returns
an `Outcome`; only `replay` changes states. Follows Kafka's `ShareCoordinatorShard` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker.coordinator.coordinator_log import LogRecord, Record, TransactionMarker
from broker.coordinator.outcome import AT_ONCE, Outcome
from broker.share.state.share_log import (
    UNINITIALIZED,
    SharePartitionKey,
    Snapshot,
    Update,
    read_share_record,
    snapshot_record,
    tombstone,
    update_record,
)
from broker.share.state.share_metrics import ShareMetrics
from broker.share.state.share_state import ShareState
from broker.share.state_batches import StateBatch, StateBatches
from ground.ports import Scheduler
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps
from protocol.errors import ErrorCode


class StateAnswer(NamedTuple):
    """A share-partition's state for an answer; without a state, the values of none."""

    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = UNINITIALIZED
    final_count: int = UNINITIALIZED
    batches: Sequence[StateBatch] = ()
    message: str | None = None
    """The reason of the outcome's error."""


class WriteRequest(NamedTuple):
    """A leader's write of a share-partition's state."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    final_count: int
    batches: Sequence[StateBatch] = ()


NO_STATE = StateAnswer()
TOMBSTONE = BULK_AT_ONCE // PIECES_AT_ONCE
"""The keys of states that are looked at in the time in which one tombstone is made."""
StateOutcome = Outcome[StateAnswer]


class ShareStateShard:
    """The states of a partition. `has_partition(topic_id, index)` knows the topics there are;
    `updates_per_snapshot` is `share.coordinator.snapshot.update.records.per.snapshot`."""

    def __init__(
        self,
        scheduler: Scheduler,
        has_partition: Callable[[bytes, int], bool],
        updates_per_snapshot: int,
        metrics: ShareMetrics,
    ) -> None:
        """Create a shard without states; `replay` loads them."""
        self._metrics = metrics
        self._scheduler = scheduler
        self._has_partition = has_partition
        self._updates_per_snapshot = updates_per_snapshot
        self.states: dict[SharePartitionKey, ShareState] = {}
        self._last_tombstone: int | None = None
        self._last_offset = AT_ONCE

    # -- replay --------------------------------------------------------------------------------

    def replay(self, record: LogRecord) -> None:
        """Apply a record. Records of other types are ignored. Raises ProtocolError if the record
        cannot be parsed."""
        assert record.key is not None
        self._last_offset = record.offset
        parsed = read_share_record(record.key, record.value)
        if parsed is None:
            return
        key, value = parsed
        if value is None:
            self.states.pop(key, None)
            self._last_tombstone = record.offset
        elif isinstance(value, Snapshot):
            self.states[key] = ShareState(value, record.offset, self.states.get(key))
        else:
            self._replay_update(key, value, record.offset)

    def _replay_update(self, key: SharePartitionKey, update: Update, offset: int) -> None:
        """Apply an update. Its snapshot may be gone only in a log that was cut by hand: the update
        is then all there is."""
        state = self.states.get(key)
        if state is None:
            rest = Snapshot(
                update.snapshot_epoch,
                0,
                update.leader_epoch,
                update.start_offset,
                update.final_count,
                0,
                0,
                update.batches,
            )
            self.states[key] = ShareState(rest, offset)
        else:
            state.apply(update)

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Do nothing: records of this topic are never part of a transaction."""

    def on_loaded(self) -> None:
        """Do nothing: the states are complete."""

    def on_unloaded(self) -> None:
        """Drop all states."""
        self.states = {}

    # -- requests of leaders -------------------------------------------------------------------

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> StateOutcome:
        """Return the outcome that replaces a state by an empty one: the group has the topic now.

        INVALID_REQUEST: a negative number. FENCED_STATE_EPOCH: a later initialization was before.
        UNKNOWN_TOPIC_OR_PARTITION: the cluster does not have the partition.
        """
        refusal = _negative(key.partition, state_epoch)
        state = self.states.get(key)
        if refusal is None and state is not None and state.state_epoch > state_epoch:
            refusal = _refused(ErrorCode.FENCED_STATE_EPOCH, "the state was initialized later")
        refusal = refusal or self._unknown(key)
        if refusal is not None:
            return refusal
        now_ms = self._scheduler.wall_ms()
        epoch = 0 if state is None else state.latest.snapshot_epoch + 1
        final_count = UNINITIALIZED if start_offset == UNINITIALIZED else 0
        snapshot = Snapshot(epoch, state_epoch, 0, start_offset, final_count, now_ms, now_ms)
        return Outcome(NO_STATE, [snapshot_record(key, snapshot)])

    def write(self, key: SharePartitionKey, request: WriteRequest) -> StateOutcome:
        """Return the outcome of a leader's write.

        INVALID_REQUEST: a negative number, or a state that was never initialized.
        FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH: a later leader or initialization was before.
        UNKNOWN_TOPIC_OR_PARTITION: the cluster does not have the partition.
        """
        self._metrics.wrote()
        state, refusal = self._fenced(key, request.leader_epoch, request.state_epoch)
        if state is None or refusal is not None:
            return refusal or _uninitialized()
        return Outcome(NO_STATE, [self._written(key, state, request, state.leader_epoch)])

    def read(self, key: SharePartitionKey, leader_epoch: int) -> StateOutcome:
        """Return the outcome of a leader's read, whose reply is the state. The first read in a
        leader epoch writes that epoch, which fences all older leaders. Errors are those of
        `write`."""
        state, refusal = self._fenced(key, leader_epoch)
        if state is None or refusal is not None:
            return refusal or _uninitialized()
        answer = _answer(state)
        if state.highest_leader_epoch == leader_epoch:
            return self._committed(answer)
        self._metrics.wrote()
        write = WriteRequest(state.state_epoch, leader_epoch, state.start_offset, state.final_count)
        return Outcome(answer, [self._written(key, state, write, leader_epoch)])

    def summary(self, key: SharePartitionKey) -> StateOutcome:
        """Return the outcome of a read without batches, for a group's coordinator. The reply of a
        state that was never initialized is NO_STATE."""
        refusal = _negative(key.partition) or self._unknown(key)
        if refusal is not None:
            return refusal
        state = self.states.get(key)
        return self._committed(NO_STATE if state is None else _answer(state)._replace(batches=()))

    def delete(self, key: SharePartitionKey) -> StateOutcome:
        """Return the outcome that deletes a state; one that is not there is no error."""
        refusal = _negative(key.partition) or self._unknown(key)
        if refusal is not None:
            return refusal
        return (
            Outcome(NO_STATE, [tombstone(key)]) if key in self.states else self._committed(NO_STATE)
        )

    def _committed(self, answer: StateAnswer) -> StateOutcome:
        """Return the outcome that answers when all records so far are committed, so that no client
        sees a state that may still be lost."""
        return Outcome(answer, after=self._last_offset)

    def _fenced(
        self, key: SharePartitionKey, leader_epoch: int, state_epoch: int | None = None
    ) -> tuple[ShareState | None, StateOutcome | None]:
        """Return the state that a leader asks for, and the refusal if it may not have it."""
        state = self.states.get(key)
        refusal = _negative(key.partition, leader_epoch, state_epoch or 0)
        if refusal is not None or state is None:
            return state, refusal
        if state.highest_leader_epoch > leader_epoch:
            refusal = _refused(ErrorCode.FENCED_LEADER_EPOCH, "a later leader has read the state")
        elif state_epoch is not None and state.state_epoch > state_epoch:
            refusal = _refused(ErrorCode.FENCED_STATE_EPOCH, "the state was initialized later")
        return state, refusal or self._unknown(key)

    def _unknown(self, key: SharePartitionKey) -> StateOutcome | None:
        """Return the refusal of a partition that the cluster does not have."""
        if self._has_partition(key.topic_id, key.partition):
            return None
        message = "the cluster has no such topic id or partition"
        return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)

    def _written(
        self,
        key: SharePartitionKey,
        state: ShareState,
        request: WriteRequest,
        leader_epoch: int,
    ) -> Record:
        """Return the record of a write: a snapshot if there were many updates since the last."""
        start, final_count = state.after_write(request.start_offset, request.final_count)
        if state.updates >= self._updates_per_snapshot:
            snapshot = state.next_snapshot(
                self._scheduler.wall_ms(),
                start_offset=start,
                final_count=final_count,
                leader_epoch=leader_epoch,
                batches=request.batches,
            )
            return snapshot_record(key, snapshot)
        batches = StateBatches(request.batches)
        if start != UNINITIALIZED:
            batches.drop_before(start)
        epoch = state.latest.snapshot_epoch
        return update_record(key, Update(epoch, leader_epoch, start, final_count, tuple(batches)))

    # -- time and topics -----------------------------------------------------------------------

    def snapshot_cold(self, older_than_ms: int) -> Steps[Outcome[None]]:
        """Return the outcome that writes a new snapshot of each state whose last one is so old:
        then the records before it are redundant."""
        now_ms, pace = self._scheduler.wall_ms(), Pace()
        records, is_any_warm = list[Record](), False
        for key, state in self.states.items():
            latest = state.latest
            is_any_warm = is_any_warm or latest.created_ms == latest.written_ms
            is_old = now_ms - latest.written_ms >= older_than_ms
            if pace.is_full(1 + is_old * len(state.batches)):
                yield None
            if is_old:
                records.append(snapshot_record(key, _renewed(state, now_ms)))
        # If all states are cold already, and have a snapshot since, no record is redundant.
        return Outcome(None, records if is_any_warm else [], atomic=False, after=AT_ONCE)

    def delete_topics(self, topic_ids: frozenset[bytes]) -> Steps[Outcome[None]]:
        """Return the outcome that deletes the states of topics that were deleted."""
        pace, records = Pace(BULK_AT_ONCE), list[Record]()
        for key in self.states:
            is_deleted = key.topic_id in topic_ids
            if pace.is_full(TOMBSTONE if is_deleted else 1):
                yield None
            if is_deleted:
                records.append(tombstone(key))
        return Outcome(None, records, atomic=False, after=AT_ONCE)

    def prunable(self) -> Outcome[int | None]:
        """Return the outcome whose reply is `redundant_before()`, after all records are committed:
        until then, another leader may need the records before an uncommitted snapshot."""
        return Outcome(self.redundant_before(), after=self._last_offset)

    def redundant_before(self) -> int | None:
        """Return the offset before which no record is needed; None if nothing is known."""
        offsets = [state.snapshot_offset for state in self.states.values()]
        return min(offsets) if offsets else self._last_tombstone


def _answer(state: ShareState) -> StateAnswer:
    return StateAnswer(
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        state.final_count,
        tuple(state.batches),
    )


def _renewed(state: ShareState, now_ms: int) -> Snapshot:
    """Return the snapshot of a cold state: later than its creation, by which it is known."""
    renewed = state.next_snapshot(
        now_ms,
        start_offset=state.start_offset,
        final_count=state.final_count,
        leader_epoch=state.leader_epoch,
    )
    return renewed._replace(created_ms=state.latest.created_ms)


def _refused(error: ErrorCode, message: str) -> StateOutcome:
    return Outcome(StateAnswer(message=message), error=error)


def _uninitialized() -> StateOutcome:
    return _refused(ErrorCode.INVALID_REQUEST, "the share-partition was never initialized")


def _negative(*numbers: int) -> StateOutcome | None:
    """Return the refusal if a partition or an epoch is negative."""
    if min(numbers) >= 0:
        return None
    return _refused(ErrorCode.INVALID_REQUEST, "partition and epochs must not be negative")
