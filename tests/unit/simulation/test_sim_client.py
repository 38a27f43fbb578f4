"""What a simulated client does waits for time."""

from __future__ import annotations

from ground.sim_scheduler import SimScheduler
from simulation.sim_client import GeneratorRun, Waits


def test_a_task_waits_for_time_and_ends_where_it_is_cancelled() -> None:
    world, seen = SimScheduler(), []

    def life() -> Waits:
        for _ in range(3):
            yield 10.0
            seen.append(world.now_ms)

    task = GeneratorRun(world, life())
    world.run_for(25.0)
    assert seen == [10.0, 20.0] and not task.done
    task.cancel()
    world.run_for(25.0)
    assert seen == [10.0, 20.0] and task.done
