"""A life of a process: what it asked for dies with it, and stands still while it is paused."""

from __future__ import annotations

import random

from ground.sim_scheduler import SimScheduler
from simulation.sim_process import ProcessBlocking, ProcessScheduler


def test_nothing_of_a_dead_process_runs() -> None:
    world, seen = SimScheduler(), []
    process = ProcessScheduler(world, name="broker-1", on_ran=lambda: seen.append(world.running))
    process.call_later(1.0, lambda: seen.append("before"))
    process.call_later(3.0, lambda: seen.append("after"))
    world.run_for(2.0)
    process.end()
    process.call_soon(lambda: seen.append("after"))
    world.run_for(5.0)
    assert seen == ["before", "broker-1"]


def test_what_came_due_in_a_pause_runs_at_its_end() -> None:
    for first, order in ((True, ["arrival", "timer"]), (False, ["timer", "arrival"])):
        world, seen = SimScheduler(), []
        process = ProcessScheduler(world)
        process.call_later(1.0, lambda seen=seen: seen.append("timer"))
        process.call_later(1.0, lambda seen=seen: seen.append("cancelled")).cancel()
        process.pause()
        world.run_for(2.0)
        process.arrive(lambda seen=seen: seen.append("arrival"))
        assert seen == []
        process.resume(arrivals_first=first)
        world.run_for(1.0)
        assert seen == order


def test_its_clock_of_the_day_is_its_own() -> None:
    world = SimScheduler()
    process = ProcessScheduler(world, 500)
    assert process.wall_ms() - world.wall_ms() == 500
    process.set_clock(-70)
    assert process.wall_ms() - world.wall_ms() == -70 and process.monotonic_ms() == world.now_ms


def test_jobs_begin_in_order_so_many_at_a_time() -> None:
    world, begun, ended = SimScheduler(), [], []
    pool = ProcessBlocking(ProcessScheduler(world), random.Random(1), 1, 10.0)
    for number in range(5):
        pool.submit(
            lambda number=number: begun.append(number), lambda *_, n=number: ended.append(n)
        )
    pool.submit(lambda: 1 / 0, lambda _, error: ended.append(type(error)))
    assert pool.outstanding == 6
    world.run_for(100.0)
    assert begun == ended[:5] == [0, 1, 2, 3, 4] and ended[5] is ZeroDivisionError
    assert pool.outstanding == 0
