"""Questions in threads: so many at once, and each answered in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from broker.loop.scheduler import BlockingPool
from broker.plugins.bounded_calls import BoundedCalls
from ground.ports import AnswerTimeout
from ground.sim_scheduler import SimBlocking, SimScheduler

Job = tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]


class Held:
    """A Blocking whose jobs end when a test says so."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        self.jobs.append((job, done))

    def end(self, at: int = 0) -> None:
        job, done = self.jobs.pop(at)
        done(job(), None)


def test_answers_and_errors_come_later_and_once() -> None:
    scheduler = SimScheduler()
    calls = BoundedCalls(SimBlocking(scheduler), scheduler, 2, 10, 100)
    told: list[Any] = []
    calls.submit(lambda: 7, lambda *outcome: told.append(outcome))
    calls.submit(lambda: [][1], lambda *outcome: told.append(outcome))
    assert told == []
    scheduler.run_for(1_000)
    assert told[0] == (7, None)
    assert isinstance(told[1][1], IndexError) and len(told) == 2
    assert scheduler.pending() == 0


def test_no_more_run_at_once_than_may() -> None:
    held, scheduler = Held(), SimScheduler()
    calls = BoundedCalls(held, scheduler, 2, 10, 100)
    told: list[Any] = []
    for number in range(4):
        calls.submit(lambda number=number: number, lambda result, _: told.append(result))
    assert len(held.jobs) == 2
    held.end()
    assert len(held.jobs) == 2 and told == [0]
    held.end(1)
    assert told == [0, 2]


def test_who_waits_too_long_is_told_so_and_its_place_stays_taken() -> None:
    held, scheduler = Held(), SimScheduler()
    calls = BoundedCalls(held, scheduler, 1, 10, 100)
    told: list[Any] = []
    for _ in range(2):  # the second one never begins
        calls.submit(lambda: 1, lambda *outcome: told.append(outcome))
    scheduler.run_for(100)
    assert [str(error) for _, error in told] == ["no answer within 100 ms"] * 2
    assert all(isinstance(error, AnswerTimeout) for _, error in told)
    calls.submit(lambda: 3, lambda *outcome: told.append(outcome))
    assert len(held.jobs) == 1, "the first one still runs"
    held.end()
    assert len(told) == 2, "an answer that is late is not heard"
    held.end()
    assert told[2] == (3, None)


def test_more_than_may_wait_are_told_at_once() -> None:
    held, scheduler = Held(), SimScheduler()
    calls = BoundedCalls(held, scheduler, 1, 2, 100)
    told: list[Any] = []
    for _ in range(4):
        calls.submit(lambda: 1, lambda *outcome: told.append(outcome))
    assert told == []
    scheduler.run_for(0)
    assert [str(error) for _, error in told] == ["2 questions to plug-ins wait already"]
    scheduler.run_for(100)
    assert len(told) == 4
    calls.submit(lambda: 1, lambda *outcome: told.append(outcome))
    scheduler.run_for(0)
    assert len(told) == 4, "who has given up takes no room"


async def test_what_would_end_a_thread_ends_the_call_alone() -> None:
    loop, scheduler = asyncio.get_running_loop(), SimScheduler()
    pool = BlockingPool(loop, 1, "test")
    calls = BoundedCalls(pool, scheduler, 1, 10, 100)
    told: asyncio.Queue[Any] = asyncio.Queue()

    def leave() -> None:
        raise SystemExit(1)

    calls.submit(leave, lambda *outcome: told.put_nowait(outcome))
    calls.submit(lambda: "next", lambda *outcome: told.put_nowait(outcome))
    _, error = await told.get()
    assert isinstance(error, RuntimeError)
    assert await told.get() == ("next", None)
    assert await pool.close(5)
