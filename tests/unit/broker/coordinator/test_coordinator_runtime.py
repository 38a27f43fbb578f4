"""Shards that only remember: decide, append, replay, commit, reply; load, unload."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from broker.coordinator.coordinator_log import (
    LogRecord,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
)
from broker.coordinator.coordinator_runtime import (
    REPLAYED_BYTES,
    REPLAYS_A_SLICE,
    CoordinatorRuntime,
    ShardContext,
)
from broker.coordinator.outcome import AT_ONCE, RECORDS_PER_BATCH, Decided, Outcome
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork, Steps
from protocol.errors import ErrorCode, ProtocolError
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog

TIMEOUT_MS = 5_000


class Memory:
    """A shard that lists what it was given."""

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.seen: list[object] = []
        self.answers: list[ErrorCode] = []
        self.told: list[tuple[ErrorCode, object]] = []
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

    def write(self, key: bytes) -> None:
        self.submit(Outcome(None, [(key, b"v")]))

    def submit(self, outcome: Outcome[object]) -> None:
        def done(error: ErrorCode, reply: object) -> None:
            self.answers.append(error)
            self.told.append((error, reply))

        self.context.submit(lambda: outcome, done)


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
    shard.write(b"a")
    assert shard.seen == ["loaded", (0, b"a")]
    assert shard.answers == []
    world.log.commit(0)
    assert shard.answers == [ErrorCode.NONE]
    assert world.scheduler.pending() == 0


def test_replies_leave_in_order_and_only_for_what_is_committed() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    for name in ("a", "b", "c"):
        shard.submit(Outcome(name, [(name.encode(), b"v")]))
    shard.submit(Outcome("a again", after=0))
    world.log.commit(0, 0)
    assert shard.told == [(ErrorCode.NONE, "a"), (ErrorCode.NONE, "a again")]
    world.log.commit(0)
    assert shard.told[2:] == [(ErrorCode.NONE, "b"), (ErrorCode.NONE, "c")]


def test_a_refused_append_is_not_replayed() -> None:
    world = led()
    world.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    shard = world.shard()
    shard.submit(Outcome("reply", [(b"a", b"v")], committed=lambda: shard.seen.append("wrong")))
    assert shard.told == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, "reply")]
    assert shard.seen == ["loaded"]


def test_an_outcome_without_records_is_told_at_once() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    shard.write(b"a")
    shard.submit(Outcome("refused", error=ErrorCode.ILLEGAL_GENERATION))
    shard.submit(Outcome("written, too", [(b"b", b"v")], after=AT_ONCE))
    assert shard.told == [
        (ErrorCode.ILLEGAL_GENERATION, "refused"),
        (ErrorCode.NONE, "written, too"),
    ]


def test_an_error_may_be_the_reply_to_what_is_committed() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    shard.submit(Outcome("later", [(b"a", b"v")], error=ErrorCode.CONCURRENT_TRANSACTIONS))
    assert shard.told == []
    world.log.commit(0)
    assert shard.told == [(ErrorCode.CONCURRENT_TRANSACTIONS, "later")]


@pytest.mark.parametrize("refused", [False, True])
def test_what_follows_from_an_append_takes_its_place(refused: bool) -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    errors: list[ErrorCode] = []

    def then(error: ErrorCode) -> Outcome[object]:
        errors.append(error)
        assert ((0, b"a") in shard.seen) is not refused, "the records are replayed before"
        return Outcome("second") if refused else Outcome("second", [(b"b", b"v")])

    if refused:
        world.log.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    shard.submit(Outcome("first", [(b"a", b"v")], then=then))
    world.log.commit(0, 0)
    assert errors == [ErrorCode.NOT_COORDINATOR if refused else ErrorCode.NONE]
    assert shard.told == ([(ErrorCode.NONE, "second")] if refused else [])
    world.log.commit(0)
    assert shard.told == [(ErrorCode.NONE, "second")]


def test_an_outcome_that_nothing_follows_stands() -> None:
    world = led()
    world.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    shard = world.shard()
    shard.submit(Outcome("stands", [(b"a", b"v")], after=AT_ONCE, then=lambda error: None))
    assert shard.told == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, "stands")]


def test_many_records_are_several_batches_until_one_is_refused() -> None:
    world = led()
    shard = world.shard()
    records = [(b"k", b"v")] * (2 * RECORDS_PER_BATCH + 1)
    shard.submit(Outcome("in slices", records, atomic=False))
    assert (world.log.appends, len(world.log.records[0])) == (3, len(records))
    shard.submit(Outcome("in one", records))
    assert world.log.appends == 4
    world.log.append_error = ErrorCode.KAFKA_STORAGE_ERROR
    shard.submit(Outcome("refused", records, atomic=False))
    assert shard.told[2:] == [(ErrorCode.NOT_COORDINATOR, "refused")]
    assert len(world.log.records[0]) == 2 * len(records)


def test_what_follows_a_commit_waits_for_longer_than_the_reply() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    shard.submit(Outcome(None, [(b"a", b"v")], committed=lambda: shard.seen.append("committed")))
    world.scheduler.run_for(TIMEOUT_MS)
    assert shard.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.log.commit(0)
    assert shard.seen[-1] == "committed"
    world.log.commit_at_once = True
    shard.submit(Outcome(None, committed=lambda: shard.seen.append("all is")))
    assert shard.seen[-1] == "all is"


def test_a_commit_reaches_no_shard_that_was_unloaded() -> None:
    world = led()
    world.log.commit_at_once = False
    shard = world.shard()
    shard.submit(Outcome(None, [(b"a", b"v")], committed=lambda: shard.seen.append("wrong")))
    world.runtime.on_resigned(0)
    world.log.commit(0)
    assert shard.seen[-1] == "unloaded"


def test_a_partition_that_is_not_served_here_decides_nothing() -> None:
    world = led()
    refusals: list[ErrorCode] = []
    told: list[object] = []

    def submit(partition: int) -> None:
        world.runtime.submit(
            partition,
            lambda shard: Outcome(shard),
            lambda error, reply: told.append((error, reply)),
            refusals.append,
        )

    submit(0)
    submit(1)
    world.log.hold_loads = True
    world.runtime.on_elected(1, 1)
    submit(1)
    assert refusals == [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert told == [(ErrorCode.NONE, world.shard())]
    world.runtime.submit_to_all(Outcome, lambda error, reply: told.append(reply))
    assert told[1:] == [world.shard()], "one that loads has nothing to decide"


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
    shard.write(b"b")
    shard.submit(Outcome(None, after=0))
    world.log.commit(0)
    world.scheduler.run_for(60_000)
    assert shard.answers == [ErrorCode.NOT_COORDINATOR] * 3


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
    shard.submit(Outcome(None, after=shard.context.last_offset))
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
    shard = world.shard()
    transaction = TransactionalAppend(TransactionalProducer("x", 7, 0))
    shard.submit(Outcome(None, [(b"a", b"1")], transaction=transaction))
    shard.submit(Outcome(None, [(b"b", b"2")]))
    assert shard.producers == [7, -1]
    assert world.log.records[0] == [LogRecord(0, b"a", b"1", 7), LogRecord(1, b"b", b"2")]
    assert shard.context.high_watermark == 2


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


def sliced() -> World:
    """One whose long work is done in turns of the scheduler."""
    world = World()
    work = SlicedWork(world.scheduler, SimBlocking(world.scheduler), 0)
    world.runtime = CoordinatorRuntime("test", world.log, world.scheduler, Memory, TIMEOUT_MS, work)
    world.runtime.on_elected(0, 1)
    return world


def many(records: int) -> Outcome[object]:
    return Outcome("many", [(b"%d" % number, b"v") for number in range(records)])


def written_to(world: World) -> int:
    """How many records are in the log."""
    return len(world.log.records.get(0, ()))


def submit(world: World, decide: Callable[[Memory], Decided[object]], told: list[object]) -> None:
    world.runtime.submit(0, decide, lambda error, reply: told.append((error, reply)), told.append)


def test_a_slice_replays_so_many_and_what_comes_meanwhile_waits() -> None:
    world = sliced()
    told: list[object] = []
    shard = world.shard()
    shard.submit(many(2 * REPLAYS_A_SLICE + 1))
    shard.submit(Outcome("few", [(b"few", b"v")]))
    submit(world, lambda shard: Outcome(len(shard.seen)), told)
    written, replayed = [written_to(world)], [len(shard.seen)]
    while world.scheduler.step():
        written.append(written_to(world))
        replayed.append(len(shard.seen))
    whole = 1 + 2 * REPLAYS_A_SLICE + 1
    assert replayed[:5] == [1, 1, 1 + REPLAYS_A_SLICE, 1 + 2 * REPLAYS_A_SLICE, whole]
    assert written[:3] == [0, whole - 1, whole - 1], "to write so many is a slice of its own"
    assert [reply for _, reply in shard.told] == ["many", "few"]
    assert told == [(ErrorCode.NONE, whole + 1)], "it sees all that was decided before it"


def test_what_is_committed_ends_before_an_append_that_is_replayed_in_part() -> None:
    world = sliced()
    shard = world.shard()
    shard.write(b"before")
    records = 2 * REPLAYS_A_SLICE + 1
    shard.submit(many(records))
    seen = [shard.context.high_watermark]
    while world.scheduler.step():
        seen.append(shard.context.high_watermark)
    assert seen[:5] == [1, 1, 1, 1, 1 + records]


def test_who_reads_a_shard_waits_while_an_append_is_replayed_in_part() -> None:
    world = sliced()
    shard = world.shard()
    for end in (lambda: world.scheduler.run_for(0), lambda: world.runtime.on_resigned(0)):
        assert next(world.runtime.wait_until_replayed(0), "whole") == "whole"
        shard.submit(many(2 * REPLAYS_A_SLICE + 1))
        assert next(world.runtime.wait_until_replayed(0), "whole") == "whole", (
            "it is not written yet"
        )
        world.scheduler.step()
        waiting = world.runtime.wait_until_replayed(0)
        assert next(waiting, "whole") is None
        world.scheduler.step()
        assert next(waiting, "whole") is None
        end()
        assert next(waiting, "whole") == "whole"
    assert world.runtime.partitions() == []


def test_the_replay_of_a_long_record_counts_for_several() -> None:
    world = sliced()
    shard = world.shard()
    value = bytes(9 * REPLAYED_BYTES)
    a_slice = REPLAYS_A_SLICE // 10
    shard.submit(Outcome("long", [(b"%d" % number, value) for number in range(a_slice + 1)]))
    assert len(shard.seen) == 1 + a_slice
    world.scheduler.run_for(0)
    assert len(shard.seen) == 1 + a_slice + 1
    shard.submit(Outcome("alone", [(b"alone", bytes(2 * REPLAYS_A_SLICE * REPLAYED_BYTES))]))
    assert len(shard.seen) == 1 + a_slice + 2, "one record is short work, however long it is"


def test_a_long_decision_sees_one_state() -> None:
    world = sliced()
    told: list[object] = []

    def long(shard: Memory) -> Steps[Outcome[object]]:
        before = len(shard.seen)
        yield None
        return Outcome(len(shard.seen) - before)

    submit(world, long, told)
    world.shard().write(b"later")
    world.runtime.on_marker(0, TransactionMarker(1, 7, True))
    assert world.shard().seen == ["loaded"] and told == []
    world.scheduler.run_for(0)
    assert told == [(ErrorCode.NONE, 0)]
    assert world.shard().seen == ["loaded", (0, b"later"), TransactionMarker(1, 7, True)]


@pytest.mark.parametrize(
    ("slices", "written", "replayed"),
    [(0, 0, 0), (1, 2 * REPLAYS_A_SLICE, 0), (2, 2 * REPLAYS_A_SLICE, REPLAYS_A_SLICE)],
)
def test_who_waits_behind_long_work_hears_that_the_shard_went(
    slices: int, written: int, replayed: int
) -> None:
    world = sliced()
    told: list[object] = []
    shard = world.shard()
    shard.submit(many(2 * REPLAYS_A_SLICE))
    submit(world, lambda _: Outcome("never"), told)
    for _ in range(slices):
        world.scheduler.step()
    world.runtime.on_resigned(0)
    world.scheduler.run_for(0)
    assert shard.answers == [ErrorCode.NOT_COORDINATOR] == told
    assert written_to(world) == written
    assert len(shard.seen) == 1 + replayed + 1, "nothing is replayed after the end"


def test_a_decision_that_fails_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    world = sliced()
    told: list[object] = []

    def fails(_: Memory) -> Steps[Outcome[object]]:
        yield None
        raise ValueError("a bug")

    submit(world, fails, told)
    submit(world, lambda _: Outcome("served"), told)
    world.scheduler.run_for(0)
    assert told == [ErrorCode.UNKNOWN_SERVER_ERROR, (ErrorCode.NONE, "served")]
    assert "a decision failed" in caplog.text


def test_what_follows_an_append_may_take_slices() -> None:
    world = sliced()
    told: list[object] = []

    def following(error: ErrorCode) -> Steps[Outcome[object]]:
        yield None
        return Outcome((error, len(world.shard().seen)))

    submit(world, lambda _: Outcome(None, [(b"a", b"v")], then=following), told)
    assert told == []
    world.scheduler.run_for(0)
    assert told == [(ErrorCode.NONE, (ErrorCode.NONE, 2))]


def test_loading_replays_in_slices_and_reads_on_after_each_part() -> None:
    world = sliced()
    world.log.records[1] = [
        LogRecord(offset, b"k", b"v") for offset in range(2 * REPLAYS_A_SLICE + 1)
    ]
    world.runtime.on_elected(1, 1)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.runtime.shard(1) is loading
    world.scheduler.step()
    assert world.runtime.shard(1) is loading
    world.scheduler.run_for(0)
    assert len(world.shard(1).seen) == 2 * REPLAYS_A_SLICE + 2


def test_all_shards_decide_in_turns_of_their_own_or_now() -> None:
    world = sliced()
    told: list[object] = []

    def submit_to_all(name: str, *, later: bool) -> None:
        world.runtime.submit_to_all(
            lambda _: Outcome(name), lambda _, reply: told.append(reply), later=later
        )

    submit_to_all("now", later=False)
    assert told == ["now"]
    submit_to_all("later", later=True)
    submit_to_all("behind it", later=False)
    assert told == ["now"]
    world.scheduler.run_for(0)
    assert told == ["now", "later", "behind it"]
