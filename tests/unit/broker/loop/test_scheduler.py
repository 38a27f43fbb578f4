"""LoopScheduler and BlockingPool on a real loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from broker.loop import scheduler as scheduler_module
from broker.loop.scheduler import BlockingPool, LoopScheduler, WatchedScheduler
from ground.sim_scheduler import SimScheduler, SimTimer
from tests.tools.waiting import LIMIT_S, wait_until_async


async def test_timers_run_in_order():
    scheduler = LoopScheduler(asyncio.get_running_loop())
    fired: list[str] = []
    done = asyncio.Event()
    scheduler.call_later(20.5, lambda: (fired.append("later"), done.set()))
    scheduler.call_later(5.2, lambda: fired.append("sooner"))
    scheduler.call_later(-1, lambda: fired.append("overdue"))
    scheduler.call_soon(lambda: fired.append("soon"))
    cancelled = scheduler.call_later(1, lambda: fired.append("never"))
    cancelled.cancel()
    await done.wait()
    assert fired == ["soon", "overdue", "sooner", "later"]


def test_a_timer_that_the_loop_brings_early_waits_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
):
    """Clocks that differ, and a loop that wakes 10 ms too soon."""
    clock = SimScheduler()
    fired: list[float] = []
    delays_s: list[float] = []

    def call_later(delay_s: float, callback: Callable[[], None]) -> SimTimer:
        delays_s.append(delay_s)
        return clock.call_later(delay_s * 1000 - (10 if len(delays_s) == 1 else 0), callback)

    monkeypatch.setattr(
        scheduler_module, "time", SimpleNamespace(monotonic=lambda: clock.now_ms / 1000)
    )
    loop = SimpleNamespace(call_later=call_later)
    timer = LoopScheduler(loop).call_later(30, lambda: fired.append(clock.now_ms))
    clock.run_for(29)
    assert not fired and delays_s == pytest.approx([0.03, 0.01])
    clock.run_for(1)
    assert fired == pytest.approx([30])
    timer.cancel()


async def test_clocks():
    scheduler = LoopScheduler(asyncio.get_running_loop())
    before_ms = time.time_ns() // 1_000_000
    assert before_ms <= scheduler.wall_ms() <= time.time_ns() // 1_000_000
    assert isinstance(scheduler.wall_ms(), int)
    assert scheduler.monotonic_ms() <= scheduler.monotonic_ms()


async def test_jobs_run_in_threads_and_done_on_the_loop():
    loop_thread = threading.get_ident()
    pool = BlockingPool(asyncio.get_running_loop(), 1, "pool")
    results: list[tuple[object, Exception | None, int]] = []
    pool.submit(threading.get_ident, lambda r, e: results.append((r, e, threading.get_ident())))
    pool.submit(lambda: 1 // 0, lambda r, e: results.append((r, e, threading.get_ident())))
    assert pool.outstanding == 2
    assert await pool.close(LIMIT_S)
    (first, no_error, thread), (nothing, error, _) = results
    assert thread == loop_thread != first
    assert no_error is None and nothing is None
    assert isinstance(error, ZeroDivisionError)
    assert pool.outstanding == 0 and pool.completed == 2


async def test_as_many_jobs_at_once_as_there_are_threads():
    pool = BlockingPool(asyncio.get_running_loop(), 2, "pool")
    both = threading.Barrier(2)
    done = []
    # Neither ends unless both run at once; the third has to wait for a thread.
    for _ in range(2):
        pool.submit(lambda: both.wait(LIMIT_S), lambda r, e: done.append(e))
    pool.submit(lambda: None, lambda r, e: done.append(e))
    assert await pool.close(LIMIT_S)
    assert done == [None, None, None]
    assert len(pool._threads) == 2


async def test_threads_start_as_jobs_need_them():
    pool = BlockingPool(asyncio.get_running_loop(), 8, "pool")
    assert pool._threads == []
    pool.submit(lambda: None, lambda r, e: None)
    assert len(pool._threads) == 1
    assert await pool.close(LIMIT_S)


async def test_a_slot_is_free_when_on_job_done_is_called_though_done_fails():
    loop = asyncio.get_running_loop()
    pool = BlockingPool(loop, 1, "pool")
    seen: list[int] = []
    broken: list[object] = []
    loop.set_exception_handler(lambda _loop, context: broken.append(context["exception"]))
    pool.on_job_done = lambda: seen.append(pool.size - pool.outstanding)

    def bad(_result: object, _error: Exception | None) -> None:
        raise AssertionError("broken")

    pool.submit(lambda: None, bad)
    assert await pool.close(LIMIT_S)
    assert seen == [1]
    assert isinstance(broken[0], AssertionError)


async def test_close_is_bounded_and_final(caplog: pytest.LogCaptureFixture):
    pool = BlockingPool(asyncio.get_running_loop(), 1, "pool")
    go = threading.Event()
    late: list[str] = []
    pool.submit(lambda: go.wait(LIMIT_S), lambda r, e: None)
    assert not await pool.close(0.01)
    assert "a job still runs" in caplog.text
    pool.submit(lambda: late.append("job"), lambda r, e: late.append("done"))
    go.set()
    pool._threads[0].join(LIMIT_S)
    assert not pool._threads[0].is_alive()
    assert late == [], "a job after the stop is left out"


def test_a_job_that_outlives_the_loop_ends_quietly():
    loop = asyncio.new_event_loop()
    pool = BlockingPool(loop, 1, "pool")
    go = threading.Event()
    pool.submit(lambda: go.wait(LIMIT_S), lambda r, e: None)
    loop.close()
    go.set()
    pool._threads[0].join(LIMIT_S)
    assert not pool._threads[0].is_alive()


def test_a_pool_needs_a_thread():
    loop = asyncio.new_event_loop()
    with pytest.raises(ValueError, match="at least one"):
        BlockingPool(loop, 0, "pool")
    loop.close()


async def test_a_pool_grows_for_jobs_that_wait():
    pool = BlockingPool(asyncio.get_running_loop(), 1, "pool")
    free: list[int] = []
    pool.on_job_done = lambda: free.append(pool.size - pool.outstanding)
    both = threading.Barrier(2)
    for _ in range(2):
        pool.submit(lambda: both.wait(LIMIT_S), lambda r, e: None)
    assert len(pool._threads) == 1
    pool.resize(3)
    assert len(pool._threads) == 2
    assert free == [1], "a slot more is told of"
    assert await pool.close(LIMIT_S)
    assert free == [1, 2, 3]


async def test_a_pool_shrinks_and_does_what_waits():
    pool = BlockingPool(asyncio.get_running_loop(), 4, "pool")
    four, done = threading.Barrier(4), []
    for _ in range(4):
        pool.submit(lambda: four.wait(LIMIT_S), lambda r, e: done.append(e))
    for _ in range(20):
        pool.submit(lambda: None, lambda r, e: done.append(e))
    pool.resize(1)
    # The thread that stays may have the last job.
    await wait_until_async(
        lambda: len(pool._threads) == 1 and not pool.outstanding, "threads that end", pause_s=0.001
    )
    assert done == [None] * 24
    pool.submit(lambda: None, lambda r, e: done.append(e))
    assert (pool.size, len(pool._threads)) == (1, 1)
    pool.resize(2)
    two = threading.Barrier(2)
    for _ in range(2):
        pool.submit(lambda: two.wait(LIMIT_S), lambda r, e: done.append(e))
    assert await pool.close(LIMIT_S)
    assert done == [None] * 27


async def test_a_pool_that_is_closed_or_has_no_thread_left_is_not_resized():
    pool = BlockingPool(asyncio.get_running_loop(), 2, "pool")
    with pytest.raises(ValueError, match="at least one"):
        pool.resize(0)
    assert await pool.close(LIMIT_S)
    pool.resize(3)
    assert pool._threads == []


async def test_the_time_of_its_jobs_is_counted(monkeypatch: pytest.MonkeyPatch):
    now_s = [1_000.0]
    monkeypatch.setattr(scheduler_module, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    pool = BlockingPool(asyncio.get_running_loop(), 2, "pool")
    assert pool.busy_s == 0
    go = threading.Event()
    for _ in range(3):  # of which two run at a time
        pool.submit(lambda: go.wait(LIMIT_S), lambda r, e: None)
    now_s[0] += 20
    assert pool.busy_s == 2 * 20
    go.set()
    assert await pool.close(LIMIT_S)
    assert pool.outstanding == 0
    now_s[0] += 20
    assert pool.busy_s == 2 * 20


async def test_who_watches_calls_what_the_pool_and_the_clock_would_call():
    loop, called, done = asyncio.get_running_loop(), [], asyncio.Event()

    def call(callback, *values):
        called.append(callback)
        callback(*values)

    clock = LoopScheduler(loop)
    scheduler = WatchedScheduler(clock, call)
    for says, watched in (
        (clock.monotonic_ms, scheduler.monotonic_ms),
        (clock.wall_ms, scheduler.wall_ms),
    ):
        assert says() <= watched() <= says()
    answers = []
    scheduler.call_soon(lambda: answers.append("soon"))
    scheduler.call_later(1, lambda: answers.append("later"))
    scheduler.call_later(0, lambda: answers.append("never")).cancel()
    pool = BlockingPool(loop, 1, "watched", call)
    scheduler.call_later(2, lambda: pool.submit(lambda: 7, lambda result, _: finish(result)))

    def finish(result):
        answers.append(result)
        done.set()

    await done.wait()
    assert answers == ["soon", "later", 7]
    assert len(called) == 4
    await pool.close(LIMIT_S)
