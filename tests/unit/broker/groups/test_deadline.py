"""A deadline that is put off many times costs one timer."""

from __future__ import annotations

from broker.groups.deadline import Deadline
from ground.sim_scheduler import SimScheduler


class _Clocked:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.expired: list[float] = []
        self.deadline = Deadline(self.scheduler, lambda: self.expired.append(self.scheduler.now_ms))


def test_it_expires_once_when_its_time_is_over() -> None:
    clocked = _Clocked()
    clocked.deadline.extend(100)
    assert clocked.scheduler.pending() == 1
    clocked.scheduler.run_for(99)
    assert clocked.expired == []
    clocked.scheduler.run_for(1_000)
    assert clocked.expired == [100]
    assert clocked.scheduler.pending() == 0


def test_it_is_put_off_without_a_new_timer() -> None:
    clocked = _Clocked()
    clocked.deadline.extend(100)
    made = clocked.scheduler._made
    for _ in range(50):
        clocked.scheduler.run_for(1)
        clocked.deadline.extend(100)
    assert clocked.scheduler._made == made
    clocked.scheduler.run_for(99)
    assert clocked.expired == []
    clocked.scheduler.run_for(1)
    assert clocked.expired == [150]


def test_it_can_come_earlier() -> None:
    clocked = _Clocked()
    clocked.deadline.extend(1_000)
    clocked.deadline.extend(10)
    clocked.scheduler.run_for(2_000)
    assert clocked.expired == [10]


def test_it_can_be_cancelled_and_set_again() -> None:
    clocked = _Clocked()
    clocked.deadline.extend(10)
    clocked.deadline.cancel()
    clocked.deadline.cancel()
    assert clocked.scheduler.pending() == 0
    clocked.scheduler.run_for(100)
    assert clocked.expired == []
    clocked.deadline.extend(10)
    clocked.scheduler.run_for(100)
    assert clocked.expired == [110]


def test_it_may_be_set_again_when_it_expires() -> None:
    scheduler = SimScheduler()
    times: list[float] = []

    def expired() -> None:
        times.append(scheduler.now_ms)
        if len(times) < 3:
            deadline.extend(10)

    deadline = Deadline(scheduler, expired)
    deadline.extend(10)
    scheduler.run_for(100)
    assert times == [10, 20, 30]
