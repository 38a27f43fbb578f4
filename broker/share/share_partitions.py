"""The share-partitions that this broker leads: loaded on demand, persisted, their locks timed.

    absent ── ask for it ──► loading ──► ready ──► absent      fenced, leadership lost, group empty
                                └─ failed ─► absent

Owns the life of each share-partition, the timer of its locks, and the writes to the share
coordinator that its changes need. A write that is fenced ends the share-partition here: another
broker leads it, or its state was replaced. Decides nothing about records: `SharePartition` does.
Follows Kafka's `SharePartitionManager` and `SharePartitionCache` (KIP-932).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from broker.share.delivery.settings import DeliverySettings
from broker.share.delivery.share_partition import (
    AcknowledgedBatch,
    CorruptState,
    DeadLetter,
    PersistedState,
    Refusal,
    SharePartition,
    StateWrite,
)
from broker.share.share_metrics import ShareGroupMetrics
from broker.share.state.share_log import UNINITIALIZED, SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from ground.ports import Scheduler, Timer
from protocol.errors import ErrorCode

log = logging.getLogger(f"ottla.{__name__}")

EXPIRY_TICK_MS = 20
"""The least time between two looks at the locks of a share-partition."""

FENCED = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""The errors of a write after which the share-partition is not this broker's any more."""

_FOR_CLIENTS = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""The error of a client's request for an error of the share coordinator. Any other error is an
UNKNOWN_SERVER_ERROR for the client."""

Answered = Callable[[ErrorCode, str | None], None]
"""A callback with the error for a client and the reason for it."""


Bury = Callable[[SharePartitionKey, DeadLetter, Callable[[], None]], None]
"""A writer of records to the dead-letter topic, which calls back when it is done with them."""


class StateStore(Protocol):
    """The port to the share coordinator of a share-partition, on this broker or another."""

    def read(
        self,
        key: SharePartitionKey,
        leader_epoch: int,
        done: Callable[[ErrorCode, StateAnswer], None],
    ) -> None:
        """Read a state for its leader; `done` is called later or now."""

    def write(
        self,
        key: SharePartitionKey,
        request: WriteRequest,
        done: Callable[[ErrorCode, StateAnswer], None],
    ) -> None:
        """Write a leader's state; `done` is called later or now."""


class LedLog(Protocol):
    """The port to the logs that this broker leads."""

    def leader_epoch(self, key: SharePartitionKey) -> int | ErrorCode:
        """Return the leader epoch of the partition's log, or the error for a client."""

    def initial_offset(
        self, key: SharePartitionKey, done: Callable[[int | ErrorCode], None]
    ) -> None:
        """Look up the offset at which a group begins that has no start offset yet, by its config
        `share.auto.offset.reset`. `done` is called later or now, with the offset or the error for
        a client."""


class Ready(NamedTuple):
    """A share-partition that is loaded."""

    partition: SharePartition
    state_epoch: int
    leader_epoch: int


class _Loading:
    """A share-partition whose state is being read, or will be after the writes before."""

    __slots__ = ("begun_ms", "failed", "leader_epoch")

    def __init__(self, leader_epoch: int, failed: Answered, begun_ms: float) -> None:
        """Begin a load; `begun_ms` is on the monotonic clock."""
        self.leader_epoch = leader_epoch
        self.failed = failed
        self.begun_ms = begun_ms


class SharePartitions:
    """The share-partitions of a broker. `wake(key)` is called whenever a waiting fetch of that
    share-partition may find something, `bury` for records that go to the dead-letter topic."""

    def __init__(
        self,
        scheduler: Scheduler,
        store: StateStore,
        led: LedLog,
        settings: Callable[[str], DeliverySettings],
        wake: Callable[[SharePartitionKey], None],
        bury: Bury,
        metrics: ShareGroupMetrics | None = None,
    ) -> None:
        """Create without share-partitions; `settings(group_id)` gives a group's configs."""
        self._scheduler = scheduler
        self._store = store
        self._led = led
        self._settings = settings
        self._wake = wake
        self._bury = bury
        self._metrics = metrics or ShareGroupMetrics()
        self._entries: dict[SharePartitionKey, Ready | _Loading] = {}
        self._of_partition: dict[tuple[bytes, int], dict[SharePartitionKey, None]] = {}
        self._timers: dict[SharePartitionKey, Timer] = {}
        self._writes: dict[tuple[SharePartitionKey, int], int] = {}
        """The number of writes without an answer, by the leader epoch that they name. No later
        leader epoch fences them, so a state is read in that epoch only after their answers."""

    # -- life ----------------------------------------------------------------------------------

    def ready(self, key: SharePartitionKey) -> Ready | None:
        """Return a share-partition that is loaded, else None."""
        entry = self._entries.get(key)
        return entry if isinstance(entry, Ready) else None

    def keys(self) -> list[SharePartitionKey]:
        """Return the share-partitions that are loaded or being loaded."""
        return list(self._entries)

    def of_partition(self, topic_id: bytes, index: int) -> list[SharePartitionKey]:
        """Return the share-partitions of a partition that are loaded or being loaded."""
        return list(self._of_partition.get((topic_id, index), ()))

    def load(self, key: SharePartitionKey, failed: Answered) -> None:
        """Load a share-partition unless it is there or on its way; `wake` tells when it is ready.

        `failed` gets the error of a load that this call began.
        """
        if key in self._entries:
            return
        leader_epoch = self._led.leader_epoch(key)
        if isinstance(leader_epoch, ErrorCode):
            failed(leader_epoch, None)
            return
        loading = _Loading(leader_epoch, failed, self._scheduler.monotonic_ms())
        self._entries[key] = loading
        self._of_partition.setdefault((key.topic_id, key.partition), {})[key] = None
        if (key, leader_epoch) not in self._writes:
            self._read(key, loading)

    def _read(self, key: SharePartitionKey, loading: _Loading) -> None:
        """Read the state of a share-partition that is being loaded."""
        self._store.read(key, loading.leader_epoch, partial(self._was_read, key, loading))

    def _was_read(
        self, key: SharePartitionKey, loading: _Loading, error: ErrorCode, state: StateAnswer
    ) -> None:
        """Install a state that was read, if need be after the look-up of its start offset."""
        if self._entries.get(key) is not loading:
            return
        if error is not ErrorCode.NONE:
            self._load_failed(key, loading, *_for_client(error, state.message))
        elif state.start_offset == UNINITIALIZED:
            self._led.initial_offset(key, partial(self._found_start, key, loading, state))
        else:
            self._install(key, loading, state)

    def _found_start(
        self,
        key: SharePartitionKey,
        loading: _Loading,
        state: StateAnswer,
        offset: int | ErrorCode,
    ) -> None:
        """Install a state without a start offset, with the offset that was looked up."""
        if self._entries.get(key) is not loading:
            return
        if isinstance(offset, ErrorCode):
            self._load_failed(key, loading, offset, "the group's start offset is not available")
        else:
            self._install(key, loading, state._replace(start_offset=offset))

    def _install(self, key: SharePartitionKey, loading: _Loading, state: StateAnswer) -> None:
        """Let a share-partition be ready with a state that has a start offset."""
        try:
            partition = SharePartition(
                PersistedState(state.start_offset, state.batches),
                partial(self._settings, key.group_id),
            )
        except CorruptState as fault:
            log.error("group %s: the state of %s cannot be: %s", key.group_id, key.text, fault)
            reason = "the state of the share-partition is damaged"
            self._load_failed(key, loading, ErrorCode.UNKNOWN_SERVER_ERROR, reason)
            return
        self._metrics.loaded(self._scheduler.monotonic_ms() - loading.begun_ms)
        self._entries[key] = Ready(partition, state.state_epoch, loading.leader_epoch)
        self._bury_all(key, partition.unfinished_dead_letters)
        self._wake(key)

    def _load_failed(
        self, key: SharePartitionKey, loading: _Loading, error: ErrorCode, reason: str | None
    ) -> None:
        """Forget a share-partition whose load failed. A later fetch loads it again."""
        self._metrics.loaded(self._scheduler.monotonic_ms() - loading.begun_ms)
        self._forget(key)
        loading.failed(error, reason)
        self._wake(key)

    def _forget(self, key: SharePartitionKey) -> None:
        """Remove a share-partition."""
        del self._entries[key]
        of_partition = self._of_partition[key.topic_id, key.partition]
        del of_partition[key]
        if not of_partition:
            del self._of_partition[key.topic_id, key.partition]

    def drop(self, key: SharePartitionKey) -> None:
        """Forget a share-partition: its records stay as they are persisted. Waiting fetches are
        woken, to find that it is gone."""
        if key not in self._entries:
            return
        self._forget(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._wake(key)

    def drop_group(self, group_id: str) -> None:
        """Forget all share-partitions of a group, because it has no members with a session here."""
        for key in self.keys():
            if key.group_id == group_id:
                self.drop(key)

    def drop_partition(self, topic_id: bytes, index: int) -> None:
        """Forget the share-partitions of a partition that this broker no longer leads."""
        for key in self.of_partition(topic_id, index):
            self.drop(key)

    # -- changes -------------------------------------------------------------------------------

    def acknowledge(
        self,
        key: SharePartitionKey,
        member: str,
        batches: Sequence[AcknowledgedBatch],
        done: Answered,
    ) -> None:
        """Acknowledge records; `done` is called after the share coordinator has written that.

        UNKNOWN_TOPIC_OR_PARTITION: the share-partition is not loaded. Else the errors of
        `SharePartition.acknowledge` and of the write.
        """
        ready = self.ready(key)
        if ready is None:
            text = "This server does not host this topic-partition."
            done(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
            return
        try:
            write = ready.partition.acknowledge(member, batches, self._scheduler.monotonic_ms())
        except Refusal as refusal:
            done(refusal.error, str(refusal))
            return
        self._time_locks(key)
        self._persist(key, ready, write, done)

    def release(self, key: SharePartitionKey, member: str) -> None:
        """Release all that a member has acquired, because its session ended."""
        ready = self.ready(key)
        if ready is not None:
            self._persist(key, ready, ready.partition.release(member), _ignore)

    def acquired(self, key: SharePartitionKey) -> None:
        """Time the locks of records that a fetch has just acquired."""
        self._time_locks(key)

    def log_start_moved(self, topic_id: bytes, index: int, offset: int) -> None:
        """Move the start offsets of a partition's groups to its log's new start."""
        for key in self.of_partition(topic_id, index):
            ready = self.ready(key)
            if ready is not None:
                ready.partition.log_start_moved(offset)
                self._wake(key)

    def _persist(
        self, key: SharePartitionKey, ready: Ready, write: StateWrite | None, done: Answered
    ) -> None:
        """Write a change; `done` gets NONE at once if there is nothing to write."""
        if write is None:
            done(ErrorCode.NONE, None)
            return
        request = WriteRequest(
            ready.state_epoch,
            ready.leader_epoch,
            write.start_offset,
            write.final_count,
            write.batches,
        )
        place = (key, ready.leader_epoch)
        self._writes[place] = self._writes.get(place, 0) + 1
        self._store.write(key, request, partial(self._written, key, ready, write, done))

    def _written(
        self,
        key: SharePartitionKey,
        ready: Ready,
        write: StateWrite,
        done: Answered,
        error: ErrorCode,
        answer: StateAnswer,
    ) -> None:
        """Complete a change that was written, or take it back."""
        letters = ready.partition.persisted(write, is_written=error is ErrorCode.NONE)
        if self._entries.get(key) is ready:
            if error in FENCED:
                self.drop(key)
            else:
                self._bury_all(key, letters)
                if error is not ErrorCode.NONE:
                    self._end_locks(key, ready)
                self._wake(key)
        self._write_ended(key, ready.leader_epoch)
        done(*_for_client(error, answer.message))

    def _write_ended(self, key: SharePartitionKey, leader_epoch: int) -> None:
        """Note the answer of a write; read the state if a load in that epoch waits for the last."""
        place = (key, leader_epoch)
        self._writes[place] -= 1
        if self._writes[place]:
            return
        del self._writes[place]
        entry = self._entries.get(key)
        if isinstance(entry, _Loading) and entry.leader_epoch == leader_epoch:
            self._read(key, entry)

    # -- locks ---------------------------------------------------------------------------------

    def _time_locks(self, key: SharePartitionKey) -> None:
        """Start the timer of the next lock that expires, unless it runs already."""
        ready = self.ready(key)
        if ready is None or key in self._timers:
            return
        expiry_ms = ready.partition.next_expiry_ms()
        if expiry_ms is None:
            return
        delay_ms = max(expiry_ms - self._scheduler.monotonic_ms(), EXPIRY_TICK_MS)
        self._timers[key] = self._scheduler.call_later(
            delay_ms, partial(self._expire_locks, key, ready)
        )

    def _expire_locks(self, key: SharePartitionKey, ready: Ready) -> None:
        """Do what the timer of the locks was started for."""
        del self._timers[key]
        self._end_locks(key, ready)

    def _end_locks(self, key: SharePartitionKey, ready: Ready) -> None:
        """End the locks whose time is over, and start the timer of the next."""
        write = ready.partition.expire_locks(self._scheduler.monotonic_ms())
        if write is not None:
            records = sum(batch.last - batch.first + 1 for batch in write.batches)
            self._metrics.locks_expired(key, records)
            self._persist(key, ready, write, _ignore)
            self._wake(key)
        self._time_locks(key)

    # -- dead letters --------------------------------------------------------------------------

    def _bury_all(self, key: SharePartitionKey, letters: Sequence[DeadLetter]) -> None:
        """Write records to the dead-letter topic, and archive them then."""
        for letter in letters:
            self._bury(key, letter, partial(self._buried, key, letter))

    def _buried(self, key: SharePartitionKey, letter: DeadLetter) -> None:
        """Archive records that are in the dead-letter topic."""
        ready = self.ready(key)
        if ready is not None:
            self._persist(key, ready, ready.partition.dead_letter_written(letter), _ignore)


def _for_client(error: ErrorCode, message: str | None) -> tuple[ErrorCode, str | None]:
    """Return the error for a client after an error of the share coordinator, with its reason. A
    reason that concerns only the brokers is left out."""
    if error is ErrorCode.NONE:
        return error, message
    if error in (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_VERSION):
        message = "Unable to complete operation due to server error."
    return _FOR_CLIENTS.get(error, ErrorCode.UNKNOWN_SERVER_ERROR), message


def _ignore(_: ErrorCode, __: str | None) -> None:
    """Do nothing: no client waits."""
