"""`SimScheduler`: events in the order of their time, those of one time in that of their making."""

from __future__ import annotations

import pytest

from ground.sim_scheduler import SimBlocking, SimScheduler


def test_events_run_in_their_order_and_time_goes_with_them() -> None:
    world, seen = SimScheduler(), []
    for name, delay_ms in (("c", 5.0), ("a", 1.0), ("b", 1.0)):
        world.call_later(delay_ms, lambda name=name: seen.append((name, world.monotonic_ms())))
    world.call_later(2.0, lambda: seen.append(("never", 0.0))).cancel()
    assert world.pending() == 3
    while world.step():
        pass
    assert seen == [("a", 1.0), ("b", 1.0), ("c", 5.0)]
    assert world.wall_ms() - 5 == world.wall_offset_ms and world.events_run == 3


def test_time_passes_also_where_nothing_happens() -> None:
    world, seen = SimScheduler(), []
    world.call_later(10.0, lambda: seen.append("late"))
    world.run_for(9.0)
    assert (seen, world.now_ms) == ([], 9.0)
    world.run_until(lambda: bool(seen))
    assert world.now_ms == 10.0
    with pytest.raises(AssertionError, match="not so within 60000 ms"):
        world.run_until(lambda: False)


def test_a_blocking_job_ends_later_with_its_result_or_its_error() -> None:
    world, seen = SimScheduler(), []
    pool = SimBlocking(world, 5.0)
    pool.submit(lambda: 1 / 0, lambda result, error: seen.append(type(error)))
    pool.submit(lambda: 7, lambda result, error: seen.append(result))
    assert seen == []
    world.run_for(5.0)
    assert sorted(map(str, seen)) == ["7", "<class 'ZeroDivisionError'>"]
    pool.alive = False
    pool.submit(lambda: 8, lambda result, error: seen.append(result))
    world.run_for(5.0)
    assert len(seen) == 2
