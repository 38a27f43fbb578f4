"""Shards that only remember: append, replay, commit, load, unload."""

from __future__ import annotations

import logging

import pytest

from broker.coordinator.coordinator_log import (
    LogRecord,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
)
from broker.coordinator.coordinator_runtime import (
    CoordinatorRuntime,
    ShardContext,
)
from broker.verification.transaction_verification import TransactionSupportedOperation
from protocol.errors import ErrorCode, ProtocolError
from tests.in_memory_coordinator_log import InMemoryCoordinatorLog
from tests.simulation.sim_scheduler import SimScheduler

TIMEOUT_MS = 5_000


class Memory:
    """A shard that lists what it was given."""

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.seen: list[object] = []
        self.answers: list[ErrorCode] = []
        self.producers: list[int] = []

    def replay(self, record: LogRecord) -> None:
        self.producers.append(record.producer_id)
        if record.value == b"damaged":
            raise ProtocolError("damaged")
        self.seen.append((record.offset, record.key))

    def replay_marker(self, marker: TransactionMarker) -> None:
        self.seen.append(marker)

    def on_loaded(self) -> None:
        self.seen.append("loaded")

    def on_unloaded(self) -> None:
        self.seen.append("unloaded")

    def write(self, key: bytes) -> ErrorCode:
        error = self.context.append([(key, b"v")])
        if error is ErrorCode.NONE:
            self.context.after_commit(self.answers.append)
        return error


class World:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.log = InMemoryCoordinatorLog()
        self.runtime = CoordinatorRuntime("test", self.log, self.scheduler, Memory, TIMEOUT_MS)

    def shard(self, partition: int = 0) -> Memory:
        shard = self.runtime.shard(partition)
        assert isinstance(shard, Memory)
        return shard


def led() -> World:
    world = World()
    world.runtime.on_elected(0, 1)
    return world


def test_a_record_is_replayed_at_append_and_answered_at_commit() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    assert shard.write(b"a") is ErrorCode.NONE
    assert shard.seen == ["loaded", (0, b"a")]
    assert shard.answers == []
    world.log.commit(0)
    assert shard.answers == [ErrorCode.NONE]
    assert world.scheduler.pending() == 0


def test_replies_leave_in_order_and_only_for_what_is_committed() -> None:
    world = led()
    world.log.commit_at_once = False
    context = world.shard().context
    calls: list[tuple[str, ErrorCode]] = []
    for name in ("a", "b", "c"):
        context.append([(name.encode(), b"v")])
        context.after_commit(lambda error, name=name: calls.append((name, error)))  # type: ignore[misc]
    context.after_commit(lambda error: calls.append(("a again", error)), 0)
    world.log.commit(0, 0)
    assert calls == [("a", ErrorCode.NONE), ("a again", ErrorCode.NONE)]
    world.log.commit(0)
    assert calls[2:] == [("b", ErrorCode.NONE), ("c", ErrorCode.NONE)]


def test_a_refused_append_is_not_replayed() -> None:
    world = led()
    world.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    shard = world.shard()
    assert shard.write(b"a") is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (shard.seen, shard.answers) == (["loaded"], [])


def test_appending_nothing_is_done_at_once() -> None:
    world = led()
    shard = world.shard()
    assert shard.context.append([]) is ErrorCode.NONE
    shard.context.after_commit(shard.answers.append)
    assert shard.answers == [ErrorCode.NONE]


def test_a_reply_does_not_wait_for_ever() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    shard.write(b"a")
    world.scheduler.run_for(3_000)
    shard.write(b"b")
    world.scheduler.run_for(2_000)
    assert shard.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.log.commit(0)
    assert shard.answers[1:] == [ErrorCode.NONE]
    world.scheduler.run_for(60_000)
    assert len(shard.answers) == 2


def test_resigning_answers_what_is_parked() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    shard.write(b"a")
    world.runtime.on_resigned(0, 1)
    assert shard.answers == [ErrorCode.NOT_COORDINATOR]
    assert shard.seen[-1] == "unloaded"
    assert world.runtime.shard(0) is ErrorCode.NOT_COORDINATOR
    assert shard.write(b"b") is ErrorCode.NOT_COORDINATOR
    shard.context.after_commit(shard.answers.append)
    world.log.commit(0)
    world.scheduler.run_for(60_000)
    assert shard.answers == [ErrorCode.NOT_COORDINATOR] * 2


def test_a_new_leader_replays_all_of_the_log() -> None:
    world = led()
    world.shard().write(b"a")
    world.log.append_marker(0, 7, committed=True)
    world.log.records[0].append(LogRecord(2, None, b"without a key"))
    world.runtime.on_resigned(0)
    world.runtime.on_elected(0, 2)
    shard = world.shard()
    assert shard.seen == [(0, b"a"), TransactionMarker(1, 7, True), "loaded"]
    assert shard.context.last_offset == 2


def test_what_was_loaded_is_shown_when_it_is_committed() -> None:
    world = World()
    world.log.commit_at_once = False
    world.log.append(0, 1, [(b"a", b"v")])
    world.runtime.on_elected(0, 1)
    shard = world.shard()
    shard.context.after_commit(shard.answers.append)
    assert shard.answers == []
    world.log.commit(0)
    assert shard.answers == [ErrorCode.NONE]


def test_while_it_loads() -> None:
    world = World()
    world.log.hold_loads = True
    world.runtime.on_elected(0, 1)
    assert world.runtime.shard(0) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.runtime.is_loading()
    assert list(world.runtime.active_shards()) == []
    world.log.finish_loads()
    assert not world.runtime.is_loading()
    assert list(world.runtime.active_shards()) == [world.shard()]


def test_a_load_that_was_overtaken_is_dropped() -> None:
    world = World()
    world.log.append(0, 1, [(b"a", b"v")])
    world.log.hold_loads = True
    world.runtime.on_elected(0, 1)
    world.runtime.on_resigned(0, 1)
    world.log.finish_loads()
    assert world.runtime.shard(0) is ErrorCode.NOT_COORDINATOR
    world.runtime.on_elected(0, 2)
    world.runtime.on_elected(0, 3)
    world.log.finish_loads()
    assert world.shard().context.leader_epoch == 3
    assert world.shard().seen == [(0, b"a"), "loaded"]


@pytest.mark.parametrize("damage", ["record", "read"])
def test_a_log_that_cannot_be_loaded(damage: str, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.log.append(0, 1, [(b"a", b"damaged" if damage == "record" else b"v")])
    if damage == "read":
        world.log.load_error = ErrorCode.KAFKA_STORAGE_ERROR
    with caplog.at_level(logging.ERROR):
        world.runtime.on_elected(0, 1)
    assert world.runtime.shard(0) is ErrorCode.NOT_COORDINATOR
    assert "cannot be loaded" in caplog.text
    world.runtime.on_resigned(0, 1)


def test_a_live_shard_goes_on_under_a_later_epoch_of_the_same_leader() -> None:
    """As after a reassignment: its members need not join again, and what waits goes on waiting."""
    world = led()
    first = world.shard()
    world.log.commit_at_once = False
    first.write(b"a")
    world.runtime.on_elected(0, 1)
    world.runtime.on_elected(0, 0)
    world.runtime.on_resigned(0, 0)
    world.runtime.on_resigned(5, 1)
    assert (world.shard(), first.context.leader_epoch) == (first, 1)
    world.runtime.on_elected(0, 2)
    assert (world.shard(), first.context.leader_epoch) == (first, 2)
    world.runtime.on_resigned(0, 1)  # late word of the epoch before
    assert world.shard() is first
    world.log.commit(0)
    assert first.answers == [ErrorCode.NONE]


def test_a_shard_that_could_not_be_loaded_is_loaded_again_in_the_next_epoch() -> None:
    world = World()
    world.log.load_error = ErrorCode.KAFKA_STORAGE_ERROR
    world.runtime.on_elected(0, 1)
    world.log.load_error = ErrorCode.NONE
    world.runtime.on_elected(0, 2)
    assert world.shard().context.leader_epoch == 2


def test_markers_reach_their_shard() -> None:
    world = led()
    offset = world.log.append_marker(0, 7, committed=False)
    world.runtime.on_marker(0, TransactionMarker(offset, 7, False))
    world.runtime.on_marker(3, TransactionMarker(0, 7, False))
    assert world.shard().seen == ["loaded", TransactionMarker(0, 7, False)]
    assert world.shard().context.last_offset == 0


def test_records_of_a_transaction_are_replayed_with_their_producer() -> None:
    world = led()
    context = world.shard().context
    transaction = TransactionalAppend(TransactionalProducer("x", 7, 0))
    assert context.append([(b"a", b"1")], transaction) is ErrorCode.NONE
    assert context.append([(b"b", b"2")]) is ErrorCode.NONE
    assert world.shard().producers == [7, -1]
    assert world.log.records[0] == [LogRecord(0, b"a", b"1", 7), LogRecord(1, b"b", b"2")]
    assert context.high_watermark == 2


def test_a_transaction_is_verified_before_an_append() -> None:
    world = World()
    producer = TransactionalProducer("x", 7, 0)
    outcomes: list[TransactionalAppend | ErrorCode] = []
    operation = TransactionSupportedOperation.DEFAULT_ERROR
    for error in (ErrorCode.NONE, ErrorCode.NETWORK_EXCEPTION, ErrorCode.INVALID_TXN_STATE):
        world.log.verify_error = error
        world.runtime.verify_transaction(4, producer, operation, outcomes.append)
    assert outcomes == [
        TransactionalAppend(producer),
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.INVALID_TXN_STATE,
    ]
    assert world.log.verifications == [(4, producer, operation)] * 3


def test_shutdown_resigns_from_everything() -> None:
    world = led()
    world.runtime.on_elected(1, 1)
    world.runtime.shutdown()
    assert world.runtime.shard(0) is world.runtime.shard(1) is ErrorCode.NOT_COORDINATOR
    assert world.scheduler.pending() == 0
