from __future__ import annotations

from broker.transactions.held_requests import HeldRequests
from protocol.errors import ErrorCode
from tests.simulation.sim_scheduler import SimScheduler
from tests.unit.broker.transactions.desk import A0, HOLD_MS, Desk

BUSY = ErrorCode.CONCURRENT_TRANSACTIONS


def test_one_is_held_for_an_id_until_it_is_released_or_its_time_is_up() -> None:
    scheduler = SimScheduler()
    held = HeldRequests(scheduler)
    tried: list[str] = []
    assert held.hold("t", lambda: tried.append("t"), HOLD_MS)
    assert held.hold("u", lambda: tried.append("u"), HOLD_MS)
    assert not held.hold("t", lambda: tried.append("never"), HOLD_MS)
    held.release("t")
    held.release("t")
    held.release("unknown")
    assert tried == ["t"]
    scheduler.run_for(HOLD_MS)
    assert tried == ["t", "u"] and scheduler.pending() == 0
    assert held.hold("t", lambda: tried.append("again"), HOLD_MS)
    held.release_all()
    assert tried == ["t", "u", "again"]


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
