from __future__ import annotations

import pytest

from broker.purgatory.deadlines import EMPTY_QUEUES_MAX, Deadlines
from ground.sim_scheduler import SimScheduler


class Waiting:
    """Things that wait, and when they were expired."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.deadlines: Deadlines[str] = Deadlines(self.scheduler, self.expire)
        self.expired: list[tuple[str, float]] = []
        self.began_ms = self.scheduler.monotonic_ms()

    def expire(self, thing: str) -> None:
        self.expired.append((thing, self.scheduler.monotonic_ms() - self.began_ms))


def test_each_expires_at_its_own_time() -> None:
    waiting = Waiting()
    waiting.deadlines.add("slow", 100)
    waiting.deadlines.add("quick", 30)
    waiting.scheduler.run_for(20)
    waiting.deadlines.add("slow, later", 100)
    waiting.scheduler.run_for(1_000)
    assert waiting.expired == [("quick", 30), ("slow", 100), ("slow, later", 120)]
    assert waiting.scheduler.pending() == 0


def test_one_timer_is_enough_for_all_that_wait_as_long() -> None:
    waiting = Waiting()
    for number in range(1_000):
        waiting.deadlines.add(f"{number}", 100)
    assert waiting.scheduler.pending() == 1


def test_what_was_removed_does_not_expire_and_delays_nobody() -> None:
    waiting = Waiting()
    first = waiting.deadlines.add("first", 100)
    waiting.scheduler.run_for(10)
    waiting.deadlines.add("second", 100)
    waiting.deadlines.remove("first", first)
    waiting.deadlines.remove("first", first)
    waiting.scheduler.run_for(1_000)
    assert waiting.expired == [("second", 110)]


def test_nothing_is_left_behind_by_what_came_and_went() -> None:
    waiting = Waiting()
    for _ in range(3):
        queue = waiting.deadlines.add("one", 100)
        waiting.deadlines.remove("one", queue)
    assert waiting.scheduler.pending() == 1
    waiting.scheduler.run_for(100)
    assert waiting.scheduler.pending() == 0
    waiting.deadlines.add("one", 100)
    waiting.scheduler.run_for(100)
    assert waiting.expired == [("one", 200)]


def test_what_expires_may_make_others_wait_and_stop_waiting() -> None:
    waiting = Waiting()
    queues = {}

    def expire(thing: str) -> None:
        waiting.expire(thing)
        if thing == "a":
            waiting.deadlines.remove("b", queues["b"])
            waiting.deadlines.add("d", 100)

    waiting.deadlines = Deadlines(waiting.scheduler, expire)
    for thing in "ab":
        queues[thing] = waiting.deadlines.add(thing, 100)
    waiting.scheduler.run_for(50)
    waiting.deadlines.add("c", 100)
    waiting.scheduler.run_for(1_000)
    assert waiting.expired == [("a", 100), ("c", 150), ("d", 200)]


def test_no_time_at_all_is_over_at_once_and_only_once_in_a_turn() -> None:
    waiting = Waiting()
    rounds = []

    def again(thing: str) -> None:
        rounds.append(thing)
        if len(rounds) < 3:
            waiting.deadlines.add(thing, 0)

    waiting.deadlines = Deadlines(waiting.scheduler, again)
    waiting.deadlines.add("one", 0)
    assert rounds == []
    waiting.scheduler.run_for(1)
    assert rounds == ["one"] * 3


def test_one_that_fails_to_expire_keeps_no_other_from_it() -> None:
    waiting = Waiting()

    def expire(thing: str) -> None:
        if thing == "bad":
            raise ValueError(thing)
        waiting.expire(thing)

    waiting.deadlines = Deadlines(waiting.scheduler, expire)
    waiting.deadlines.add("bad", 100)
    waiting.deadlines.add("good", 100)
    with pytest.raises(ValueError):
        waiting.scheduler.run_for(1_000)
    waiting.scheduler.run_for(1_000)
    assert waiting.expired == [("good", 100)]


def test_timers_of_times_that_nobody_waits_for_are_few() -> None:
    waiting = Waiting()
    kept = waiting.deadlines.add("kept", 5)
    for timeout_ms in range(1_000, 3_000):
        queue = waiting.deadlines.add("one", timeout_ms)
        waiting.deadlines.remove("one", queue)
        assert waiting.scheduler.pending() <= EMPTY_QUEUES_MAX + 1
    waiting.deadlines.remove("kept", kept)
    waiting.deadlines.remove("kept", kept)
    waiting.scheduler.run_for(10_000)
    assert (waiting.expired, waiting.scheduler.pending()) == ([], 0)
