from __future__ import annotations

from dataclasses import replace

import pytest

from broker.coordinator.coordinator_log import LogRecord
from broker.transactions.held_requests import Addition
from broker.transactions.transaction_decisions import MissingInput
from broker.transactions.transaction_log import read_transaction_record, transaction_record
from broker.transactions.transaction_metadata import EPOCH_MAX
from broker.transactions.transaction_shard import TransactionShard
from broker.transactions.transaction_state import TransactionState
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from tests.unit.broker.transactions.desk import A0, A1, B0, TIMEOUT_MS, Answer, Desk

BUSY, FENCED = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.PRODUCER_FENCED
WRONG, UNKNOWN = ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING
NOBODY = (-1, -1)
S = TransactionState


def states(desk: Desk) -> list[str]:
    """What the log says of `t`, one state a record."""
    found = []
    for record in desk.log.records.get(desk.partition, []):
        assert isinstance(record, LogRecord) and record.key is not None
        read = read_transaction_record(record.key, record.value)
        assert read is not None
        found.append("-" if read[1] is None else read[1].state.shown)
    return found


def set_epoch(desk: Desk, epoch: int) -> None:
    """As if the producer had initialized itself that often."""
    metadata = replace(desk.metadata(), producer_epoch=epoch)
    desk.log.append(desk.partition, desk.epoch, [transaction_record("t", metadata, 2)])
    desk.start()


def test_a_transaction_of_protocol_version_1() -> None:
    desk = Desk()
    assert desk.init() == (0, (1000, 0))
    assert desk.add((1000, 0), A0, B0, version=0) == 0
    assert desk.end((1000, 0), True, version=0) == (0, NOBODY)
    desk.settle()
    assert states(desk) == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert desk.end((1000, 0), True, version=0) == (0, NOBODY), "sent again"
    assert desk.end((1000, 0), False, version=0) == (WRONG, NOBODY)
    assert desk.init() == (0, (1000, 1))


def test_a_transaction_of_protocol_version_2_raises_the_epoch_with_its_end() -> None:
    desk = Desk(auto=False)
    assert desk.init() == (0, (1000, 0))
    assert desk.add((1000, 0)) == 0
    assert desk.end((1000, 0), True) == (0, (1000, 1))
    assert desk.end((1000, 0), True) == (BUSY, NOBODY), "sent again, too early"
    desk.settle()
    (marker,) = desk.answer_markers()
    assert (marker.producer_id, marker.producer_epoch, marker.transaction_result) == (1000, 1, True)
    assert (marker.coordinator_epoch, marker.transaction_version) == (1, 2)
    assert desk.end((1000, 0), True) == (0, (1000, 1)), "sent again"
    assert desk.end((1000, 0), False) == (WRONG, NOBODY)
    assert desk.end((1000, 1), True) == (WRONG, NOBODY), "nothing is open"
    assert desk.add((1000, 0)) == FENCED
    assert desk.add((1000, 1)) == 0


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_where_nothing_was_added(committed: bool) -> None:
    desk = Desk()
    desk.init()
    assert desk.end((1000, 0), committed, version=0) == (WRONG, NOBODY)
    expected: Answer = (WRONG, NOBODY) if committed else (ErrorCode.NONE, (1000, 1))
    assert desk.end((1000, 0), committed) == expected
    desk.settle()
    if not committed:
        assert states(desk) == ["Empty", "PrepareAbort", "CompleteAbort"]


def test_no_marker_and_no_answer_before_the_decision_is_replicated() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.log.commit_at_once = False
    assert desk.end((1000, 0), True) is None
    desk.settle()
    assert desk.asked == []
    assert desk.add((1000, 1)) == BUSY and desk.init() == (BUSY, NOBODY)
    desk.log.commit(desk.partition)
    desk.settle()
    assert len(desk.asked) == 1


def test_a_late_commit_still_sends_the_markers() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.log.commit_at_once = False
    answers: list[Answer] = []
    desk.coordinator.end("t", (1000, 0), True, 2, lambda *answer: answers.append(answer))
    desk.scheduler.run_for(31_000)
    assert answers == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, NOBODY)]
    desk.log.commit(desk.partition)
    desk.settle()
    assert len(desk.asked) == 1


def test_the_completion_waits_for_every_marker() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0), A0, A1, B0)
    desk.end((1000, 0), False)
    desk.settle()
    desk.marker_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    desk.answer_markers()
    assert desk.metadata().state is S.PREPARE_ABORT
    desk.marker_error = ErrorCode.NONE
    desk.settle()
    desk.answer_markers()
    assert desk.metadata().state is S.COMPLETE_ABORT


def test_the_completion_is_tried_again_until_the_log_takes_it() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.end((1000, 0), True)
    desk.settle()
    desk.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.answer_markers()
    desk.settle()
    assert desk.metadata().state is S.PREPARE_COMMIT
    desk.log.append_error = ErrorCode.NONE
    desk.settle()
    assert desk.metadata().state is S.COMPLETE_COMMIT


def test_the_next_coordinator_goes_on_with_the_markers() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0), A0, B0)
    desk.end((1000, 0), True)
    desk.coordinator.shutdown()
    desk.settle()
    assert desk.asked == []
    desk.start()
    desk.settle()
    (marker,) = desk.answer_markers()
    assert marker.transaction_result and marker.coordinator_epoch == 2
    assert [topic.name for topic in marker.topics] == ["a", "b"]
    desk.settle()
    assert states(desk)[-1] == "CompleteCommit"


def test_the_next_coordinator_waits_until_what_it_loaded_is_committed() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.log.commit_at_once = False
    desk.end((1000, 0), True)
    desk.coordinator.shutdown()
    desk.start()
    desk.settle()
    assert desk.asked == [] and desk.init() == (BUSY, NOBODY)
    desk.log.commit(desk.partition)
    desk.settle()
    assert len(desk.asked) == 1


def test_a_decision_changes_nothing_before_its_record_is_replayed() -> None:
    desk = Desk(auto=False)
    desk.init()
    shard = desk.coordinator._shard_for("t")
    assert isinstance(shard, TransactionShard)
    before = desk.metadata()
    addition = Addition((1000, 0), [A0], 2, lambda error: None)
    added = shard.add_partitions("t", addition)
    fenced = shard.initialize("t", TIMEOUT_MS, (1000, 7), None)
    began = shard.initialize("t", TIMEOUT_MS, None, None)
    unknown = shard.initialize("other", TIMEOUT_MS, None, None)
    assert [len(one.records) for one in (added, fenced, began, unknown)] == [1, 0, 1, 0]
    assert (fenced.error, began.reply, unknown.reply) == (
        FENCED,
        (1000, 1),
        MissingInput.PRODUCER_ID,
    )
    assert desk.metadata() is before and states(desk) == ["Empty"] and desk.asked == []


def test_a_refused_append_changes_nothing() -> None:
    desk = Desk()
    desk.init()
    desk.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert desk.add((1000, 0)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.init() == (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOBODY)
    assert desk.init("other")[0] == ErrorCode.COORDINATOR_NOT_AVAILABLE  # type: ignore[index]
    desk.log.append_error = ErrorCode.NONE
    assert desk.metadata().producer_epoch == 0 and desk.metadata().state is S.EMPTY
    assert desk.init() == (0, (1000, 1))


def test_a_new_producer_fences_the_old_one_and_aborts_what_it_left() -> None:
    for version, epoch in ((2, 2), (0, 2)):
        desk = Desk(version=version, auto=False)
        desk.init()
        desk.add((1000, 0), version=version)
        assert desk.init() == (BUSY, NOBODY)
        assert desk.end((1000, 0), True, version=0) == (FENCED, NOBODY)
        desk.settle()
        (marker,) = desk.answer_markers()
        assert (marker.producer_epoch, marker.transaction_result) == (1, False)
        assert desk.init() == (0, (1000, epoch))
        assert desk.add((1000, 0)) == FENCED


def test_a_producer_that_recovers_keeps_its_id() -> None:
    desk = Desk()
    assert desk.init("t", (5, 5)) == (0, (1000, 0)), "the coordinator knows nothing of it"
    assert desk.init("t", (1000, 0)) == (0, (1000, 1))
    assert desk.init("t", (1000, 0)) == (0, (1000, 1)), "sent again"
    assert desk.init("t", (999, 1)) == (FENCED, NOBODY)
    assert desk.init() == (0, (1000, 2))
    assert desk.init("t", (1000, 1)) == (FENCED, NOBODY)


def test_exhausted_epochs_give_a_new_producer_id() -> None:
    desk = Desk()
    desk.init()
    set_epoch(desk, EPOCH_MAX - 1)
    assert desk.init("t", (1000, EPOCH_MAX - 1)) == (0, (1001, 0))
    assert desk.init("t", (1000, EPOCH_MAX - 1)) == (0, (1001, 0)), "sent again"
    set_epoch(desk, EPOCH_MAX - 1)
    desk.give_ids = False
    assert desk.init() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, NOBODY)
    desk.give_ids = True
    assert desk.init() == (0, (1002, 0))


def test_epochs_that_run_out_at_an_end() -> None:
    desk = Desk(auto=False)
    desk.init()
    set_epoch(desk, EPOCH_MAX - 1)
    assert desk.add((1000, EPOCH_MAX - 1)) == 0
    assert desk.end((1000, EPOCH_MAX - 1), True) == (0, (1001, 0))
    assert desk.add((1001, 0)) == BUSY
    assert desk.end((1001, 0), False) == (BUSY, NOBODY)
    desk.settle()
    (marker,) = desk.answer_markers()
    assert (marker.producer_id, marker.producer_epoch) == (1000, EPOCH_MAX)
    assert desk.end((1000, EPOCH_MAX - 1), True) == (0, (1001, 0)), "sent again"
    assert desk.add((1001, 0)) == 0
    assert desk.end((1000, EPOCH_MAX - 1), True)[0] in (UNKNOWN, FENCED)  # type: ignore[index]


def test_partitions_that_are_there_are_not_written_again() -> None:
    desk = Desk()
    desk.init()
    assert desk.add((1000, 0), A0, A1) == 0
    assert desk.add((1000, 0), A1) == 0
    assert states(desk) == ["Empty", "Ongoing"]
    assert desk.add((1000, 0), A1, B0) == 0
    assert list(desk.metadata().partitions) == [A0, A1, B0]


def test_who_is_not_known() -> None:
    desk = Desk()
    assert desk.add((1000, 0)) == UNKNOWN
    assert desk.end((1000, 0), True) == (UNKNOWN, NOBODY)
    desk.init()
    assert desk.add((999, 0)) == UNKNOWN
    assert desk.end((999, 0), True) == (UNKNOWN, NOBODY)
    assert desk.add((1000, 1)) == FENCED
    assert desk.end((1000, 1), True) == (FENCED, NOBODY)


def test_verification_sees_what_is_committed() -> None:
    desk = Desk(auto=False)
    verify = desk.coordinator.verify_partitions
    assert verify("t", (1000, 0), [A0]) == {A0: UNKNOWN}
    desk.init()
    aborts = ErrorCode.TRANSACTION_ABORTABLE
    assert verify("t", (1000, 0), [A0]) == {A0: aborts}
    desk.log.commit_at_once = False
    desk.add((1000, 0), A0)
    assert verify("t", (1000, 0), [A0]) == {A0: aborts}
    desk.log.commit_at_once = True
    desk.log.commit(desk.partition)
    assert verify("t", (1000, 0), [A0, B0]) == {A0: ErrorCode.NONE, B0: aborts}
    assert verify("t", (1000, 1), [A0]) == {A0: FENCED}
    assert verify("t", (999, 0), [A0]) == {A0: UNKNOWN}
    desk.end((1000, 0), True, version=0)
    assert verify("t", (1000, 0), [A0]) == {A0: BUSY}


def test_a_transaction_whose_time_is_up_is_aborted() -> None:
    for version in (0, 2):
        desk = Desk(version=version)
        desk.init()
        desk.add((1000, 0), version=version)
        desk.scheduler.run_for(TIMEOUT_MS - 1_000)
        assert desk.metadata().state is S.ONGOING
        desk.scheduler.run_for(12_000)
        assert desk.metadata().state is S.COMPLETE_ABORT
        assert desk.metadata().producer_epoch == 1
        assert desk.end((1000, 0), True, version=0) == (FENCED, NOBODY)


@pytest.mark.parametrize("restart", [False, True])
def test_a_clock_that_was_set_back_keeps_no_transaction_open(restart: bool) -> None:
    desk = Desk()
    desk.init()
    desk.add((1000, 0))
    desk.scheduler.wall_offset_ms -= 86_400_000
    if restart:
        desk.start()
    desk.scheduler.run_for(TIMEOUT_MS / 2)
    desk.add((1000, 0), B0)  # no new beginning
    desk.scheduler.run_for(TIMEOUT_MS / 2 - 1_000)
    assert desk.metadata().state is S.ONGOING
    desk.scheduler.run_for(13_000)
    assert desk.metadata().state is S.COMPLETE_ABORT


def test_the_next_transaction_has_a_time_of_its_own() -> None:
    desk = Desk()
    desk.init()
    for epoch in range(4):
        desk.add((1000, epoch))
        desk.scheduler.run_for(TIMEOUT_MS / 2)
        assert desk.end((1000, epoch), True) == (ErrorCode.NONE, (1000, epoch + 1))
        desk.settle()


def test_a_time_out_with_the_last_epoch_takes_a_new_producer_id() -> None:
    desk = Desk()
    desk.init()
    set_epoch(desk, EPOCH_MAX - 1)
    desk.add((1000, EPOCH_MAX - 1))
    desk.give_ids = False
    desk.scheduler.run_for(TIMEOUT_MS + 12_000)
    assert desk.metadata().state is S.ONGOING
    desk.give_ids = True
    desk.scheduler.run_for(12_000)
    assert (desk.metadata().producer_id, desk.metadata().producer_epoch) == (1001, 0)


def test_an_id_that_nobody_uses_expires_with_a_tombstone() -> None:
    desk = Desk()
    desk.init()
    desk.init("open")
    desk.add((1001, 0), name="open")
    open_partition = desk.coordinator.partition_for("open")
    week = 604_800_000
    desk.scheduler.now_ms += week
    desk.scheduler.run_for(1_000)
    assert states(desk)[-1] == "-"
    assert desk.add((1000, 0)) == UNKNOWN
    assert desk.init() == (0, (1002, 0)), "as if it had never been"
    kept = desk.log.records[open_partition]
    assert all(isinstance(one, LogRecord) and one.value is not None for one in kept)


def test_partitions_of_deleted_topics_need_no_marker() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0), TopicPartition("deleted", 0))
    desk.end((1000, 0), True)
    desk.settle()
    assert desk.asked == [] and desk.metadata().state is S.COMPLETE_COMMIT
