from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.coordinator.coordinator_log import LogRecord, Record
from broker.coordinator.outcome import Outcome
from broker.share.record_state import RecordState
from broker.share.state.share_log import (
    SharePartitionKey,
    Snapshot,
    Update,
    read_share_record,
    snapshot_record,
    update_record,
)
from broker.share.state.share_metrics import ShareMetrics
from broker.share.state.share_state_shard import (
    NO_STATE,
    ShareStateShard,
    StateAnswer,
    WriteRequest,
)
from broker.share.state_batches import StateBatch
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode, ProtocolError

TOPIC, OTHER = b"t" * 16, b"o" * 16
KEY = SharePartitionKey("g", TOPIC, 0)
AVAILABLE, DONE = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED


class Log:
    """A shard, and the records that it wrote."""

    def __init__(self, updates_per_snapshot: int = 500) -> None:
        self.scheduler = SimScheduler()
        self.topics = {TOPIC: 3, OTHER: 1}
        self.records: list[Record] = []
        self.shard = self.new_shard(updates_per_snapshot)

    def new_shard(self, updates_per_snapshot: int = 500) -> ShareStateShard:
        return ShareStateShard(
            self.scheduler,
            lambda topic_id, index: index < self.topics.get(topic_id, 0),
            updates_per_snapshot,
            ShareMetrics(),
        )

    def do(self, outcome: Outcome[StateAnswer]) -> StateAnswer:
        """Write and replay the records of an outcome without error; return its reply."""
        assert outcome.error is ErrorCode.NONE, outcome
        self.write(outcome.records)
        return outcome.reply

    def write(self, records: object) -> None:
        for key, value in tuple(records):  # type: ignore[call-overload]
            self.shard.replay(LogRecord(len(self.records), key, value))
            self.records.append((key, value))

    def loaded(self, first: int = 0) -> ShareStateShard:
        """Return a shard that has read the log from `first` on."""
        shard = self.new_shard()
        for offset, (key, value) in enumerate(self.records[first:], first):
            shard.replay(LogRecord(offset, key, value))
        return shard

    def kinds(self) -> list[str]:
        """Return the kinds of the records."""
        parsed = [read_share_record(key or b"", value) for key, value in self.records]
        return [type(record[1]).__name__ if record else "?" for record in parsed]


def write(
    *batches: StateBatch, start: int = 0, final: int = 0, leader: int = 0, epoch: int = 1
) -> WriteRequest:
    return WriteRequest(epoch, leader, start, final, batches)


@pytest.fixture
def log() -> Log:
    log = Log()
    log.do(log.shard.initialize(KEY, 1, -1))
    return log


def test_a_new_state_is_empty(log: Log) -> None:
    assert log.do(log.shard.read(KEY, 0)) == StateAnswer(1, 0, -1, -1)
    assert log.kinds() == ["Snapshot"]


def test_writes_are_updates_and_now_and_then_a_snapshot() -> None:
    log = Log(updates_per_snapshot=2)
    log.do(log.shard.initialize(KEY, 1, 0))
    for first in range(0, 25, 5):
        log.do(log.shard.write(KEY, write(StateBatch(first, first + 4, DONE, 1), final=first + 5)))
    assert log.kinds() == ["Snapshot", "Update", "Update", "Snapshot", "Update", "Update"]
    assert log.do(log.shard.read(KEY, 0)) == StateAnswer(1, 0, 0, 25, (StateBatch(0, 24, DONE, 1),))
    assert log.shard.redundant_before() == 3


def test_the_start_offset_never_falls(log: Log) -> None:
    log.do(log.shard.write(KEY, write(StateBatch(10, 14, DONE, 1), start=10, final=5)))
    log.do(log.shard.write(KEY, write(StateBatch(5, 9, DONE, 1), start=5, final=9)))
    assert log.do(log.shard.read(KEY, 0)) == StateAnswer(
        1, 0, 10, 5, (StateBatch(10, 14, DONE, 1),)
    )


def test_a_load_gives_the_same_state(log: Log) -> None:
    for first in range(0, 50, 5):
        log.do(log.shard.write(KEY, write(StateBatch(first, first + 2, AVAILABLE, 2), start=first)))
    log.write(in_one_go(log.shard.snapshot_cold(0)).records)
    loaded = log.loaded()
    again = log.loaded(first=log.shard.redundant_before() or 0)
    for shard in (loaded, again):
        assert shard.read(KEY, 0) == log.shard.read(KEY, 0)
        assert shard.redundant_before() == log.shard.redundant_before() == len(log.records) - 1


def test_a_later_leader_fences_the_earlier(log: Log) -> None:
    log.do(log.shard.read(KEY, 7))
    assert log.kinds() == ["Snapshot", "Update"]
    assert log.shard.read(KEY, 7).records == ()
    for outcome in (
        log.shard.read(KEY, 6),
        log.shard.write(KEY, write(leader=6)),
        log.loaded().write(KEY, write(leader=6)),
    ):
        assert outcome.error is ErrorCode.FENCED_LEADER_EPOCH
        assert not outcome.records
    log.do(log.shard.write(KEY, write(leader=7)))


def test_a_later_initialization_fences_earlier_writes(log: Log) -> None:
    log.do(log.shard.write(KEY, write(StateBatch(0, 4, DONE, 1), final=5)))
    log.do(log.shard.initialize(KEY, 3, 20))
    assert log.shard.write(KEY, write(epoch=2)).error is ErrorCode.FENCED_STATE_EPOCH
    assert log.shard.initialize(KEY, 2, 0).error is ErrorCode.FENCED_STATE_EPOCH
    assert log.do(log.shard.read(KEY, 0)) == StateAnswer(3, 0, 20, 0)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda s: s.write(KEY._replace(partition=1), write()), ErrorCode.INVALID_REQUEST),
        (lambda s: s.read(KEY._replace(group_id="h"), 0), ErrorCode.INVALID_REQUEST),
        (lambda s: s.read(KEY, -1), ErrorCode.INVALID_REQUEST),
        (lambda s: s.write(KEY, write(epoch=-1)), ErrorCode.INVALID_REQUEST),
        (lambda s: s.initialize(KEY._replace(partition=-1), 0, 0), ErrorCode.INVALID_REQUEST),
        (
            lambda s: s.initialize(KEY._replace(partition=3), 0, 0),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        (
            lambda s: s.summary(KEY._replace(topic_id=b"x" * 16)),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
        (
            lambda s: s.delete(KEY._replace(topic_id=b"x" * 16)),
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ),
    ],
)
def test_requests_that_cannot_be_served(
    log: Log, ask: Callable[[ShareStateShard], Outcome[StateAnswer]], error: ErrorCode
) -> None:
    outcome = ask(log.shard)
    assert (outcome.error, outcome.records) == (error, ())
    assert outcome.reply.message


def test_a_summary_has_no_batches_and_needs_no_state(log: Log) -> None:
    log.do(log.shard.write(KEY, write(StateBatch(0, 4, DONE, 1), final=5)))
    assert log.do(log.shard.summary(KEY)) == StateAnswer(1, 0, 0, 5)
    assert log.do(log.shard.summary(KEY._replace(partition=1))) == NO_STATE


def test_a_deleted_state_is_gone_also_after_a_load(log: Log) -> None:
    log.do(log.shard.delete(KEY))
    assert log.shard.states == log.loaded().states == {}
    assert not log.shard.delete(KEY).records
    assert log.shard.redundant_before() == 1


def test_the_states_of_deleted_topics_go(log: Log) -> None:
    other = SharePartitionKey("g", OTHER, 0)
    log.do(log.shard.initialize(other, 1, 0))
    log.write(in_one_go(log.shard.delete_topics(frozenset({TOPIC}))).records)
    assert list(log.shard.states) == [other]


def test_cold_states_get_a_snapshot_once(log: Log) -> None:
    log.scheduler.run_for(300_000)
    assert in_one_go(log.shard.snapshot_cold(300_001)).records == []
    log.write(in_one_go(log.shard.snapshot_cold(300_000)).records)
    assert log.kinds() == ["Snapshot", "Snapshot"]
    log.scheduler.run_for(300_000)
    assert in_one_go(log.shard.snapshot_cold(300_000)).records == []


# --- records -------------------------------------------------------------------------------------


def test_records_are_read_as_they_were_written() -> None:
    batches = [StateBatch(3, 9, DONE, 2)]
    for record, value in (
        (snapshot_record, Snapshot(1, 2, 3, 4, 5, 6, 7, batches)),
        (update_record, Update(1, 3, 4, 5, batches)),
    ):
        key, data = record(KEY, value)  # type: ignore[operator]
        assert read_share_record(key, data) == (KEY, value)


def test_records_of_other_types_are_left_alone(log: Log) -> None:
    assert read_share_record(b"\0\x09rest", b"") is None
    log.shard.replay(LogRecord(9, b"\0\x09rest", b""))


@pytest.mark.parametrize("value", [b"", b"\0\x05", b"\0\0\0"])
def test_records_that_cannot_be_read(value: bytes) -> None:
    key, _ = update_record(KEY, Update(0, 0, 0, 0))
    with pytest.raises(ProtocolError):
        read_share_record(key or b"", value)
