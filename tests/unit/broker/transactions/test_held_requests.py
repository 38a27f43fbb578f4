from __future__ import annotations

from broker.coordinator.coordinator_log import LogRecord
from broker.transactions.held_requests import Addition, HeldRequests
from broker.transactions.transaction_log import read_transaction_record
from broker.transactions.transaction_state import TransactionState
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from tests.unit.broker.transactions.desk import A0, HOLD_MS, Desk

BUSY = ErrorCode.CONCURRENT_TRANSACTIONS


def test_one_is_held_for_an_id_until_it_is_released_or_its_time_is_up() -> None:
    scheduler = SimScheduler()
    tried: list[tuple[str, Addition]] = []
    held = HeldRequests(scheduler, lambda name, addition: tried.append((name, addition)))
    one, other = (Addition((7, epoch), [A0], 2, lambda _: None) for epoch in range(2))
    assert held.hold("t", one, HOLD_MS)
    assert held.hold("u", one, HOLD_MS)
    assert not held.hold("t", other, HOLD_MS)
    held.release("t")
    held.release("t")
    held.release("unknown")
    assert tried == [("t", one)]
    scheduler.run_for(HOLD_MS)
    assert tried == [("t", one), ("u", one)] and scheduler.pending() == 0
    assert held.hold("t", other, HOLD_MS)
    held.release_all()
    assert tried[2:] == [("t", other)]


def test_what_is_taken_is_not_tried() -> None:
    scheduler = SimScheduler()
    held = HeldRequests(scheduler, lambda name, addition: None)
    addition = Addition((7, 0), [A0], 2, lambda _: None)
    assert held.peek("t") is None
    assert held.hold("t", addition, HOLD_MS)
    assert held.peek("t") is addition
    held.drop("t")
    assert held.peek("t") is None and scheduler.pending() == 0


def test_the_next_transaction_begins_when_the_last_one_is_completed() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.end((1000, 0), True)
    answers: list[ErrorCode] = []
    assert desk.add((1000, 1), answers=answers) is None
    assert desk.add((1000, 1), answers=[]) == BUSY, "one of them is held already"
    desk.scheduler.run_for(HOLD_MS / 2)
    desk.answer_markers()
    assert answers == [ErrorCode.NONE]
    assert list(desk.metadata().partitions) == [A0]


def prepared(desk: Desk) -> list[ErrorCode]:
    """A decision without its markers, and the next transaction's first request, which is held."""
    desk.init()
    desk.add((1000, 0))
    desk.end((1000, 0), True)
    answers: list[ErrorCode] = []
    desk.add((1000, 1), answers=answers)
    desk.scheduler.run_for(1)
    return answers


def test_the_end_and_the_next_beginning_are_one_batch() -> None:
    desk = Desk(auto=False)
    answers = prepared(desk)
    desk.log.commit_at_once = False
    before = desk.log.appends
    desk.answer_markers()
    assert desk.log.appends == before + 1
    written = desk.log.records[desk.partition][-2:]
    states = []
    for record in written:
        assert isinstance(record, LogRecord) and record.key is not None
        read = read_transaction_record(record.key, record.value)
        assert read is not None and read[1] is not None
        states.append(read[1].state)
    assert states == [TransactionState.COMPLETE_COMMIT, TransactionState.ONGOING]
    assert answers == [], "neither is committed yet"
    assert desk.coordinator.describe("t").transaction_state == "PrepareCommit"
    desk.log.commit(desk.partition)
    assert answers == [ErrorCode.NONE]
    assert desk.coordinator.describe("t").transaction_state == "Ongoing"


def test_a_beginning_that_is_refused_does_not_hold_up_the_end() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.end((1000, 0), True)
    answers: list[ErrorCode] = []
    desk.add((1000, 0), answers=answers)  # under the epoch before
    desk.scheduler.run_for(1)
    desk.answer_markers()
    assert answers == [ErrorCode.PRODUCER_FENCED]
    assert desk.metadata().state is TransactionState.COMPLETE_COMMIT


def test_a_log_that_refuses_both_is_asked_for_the_end_again() -> None:
    desk = Desk(auto=False)
    answers = prepared(desk)
    desk.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.answer_markers()
    assert answers == [BUSY]
    desk.log.append_error = ErrorCode.NONE
    desk.settle()
    assert desk.metadata().state is TransactionState.COMPLETE_COMMIT


def test_markers_that_take_long_are_not_waited_for() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.end((1000, 0), True)
    answers: list[ErrorCode] = []
    desk.add((1000, 1), answers=answers)
    desk.scheduler.run_for(HOLD_MS)
    assert answers == [BUSY]


def test_a_leadership_that_ends_answers() -> None:
    desk = Desk(auto=False)
    desk.init()
    desk.add((1000, 0))
    desk.end((1000, 0), True)
    answers: list[ErrorCode] = []
    desk.add((1000, 1), answers=answers)
    desk.coordinator.on_resigned(desk.partition)
    assert answers == [ErrorCode.NOT_COORDINATOR]
