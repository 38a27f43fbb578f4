"""The driver: one coroutine at a time, in one order, and nothing that no world does."""

from __future__ import annotations

import asyncio

import pytest

from ottla.testing.errors import Misuse
from ottla.testing.simulation.driver import Driver, Operation, ScenarioStuck, Task
from tests.unit.ottla.testing.simulation.made_up import MadeUpWorld


class Story:
    """What is done, in its order."""

    def __init__(self) -> None:
        self.world = MadeUpWorld()
        self.driver = Driver(self.world)
        self.seen: list[object] = []

    async def sleep(self, ms: float) -> None:
        await Operation(None, "sleep", {"ms": ms}, "")

    async def count(self, name: str, ms: float, times: int = 3) -> str:
        for number in range(times):
            await self.sleep(ms)
            self.seen.append(f"{name}{number}")
        return name


def test_tasks_take_turns_as_time_goes() -> None:
    story = Story()

    async def main() -> object:
        slow = story.driver.spawn(story.count("a", 30), "a")
        story.driver.spawn(story.count("b", 20), "b")
        story.seen.append("main")
        return await slow

    assert story.driver.run(main()) == "a"
    assert story.seen == ["main", "b0", "a0", "b1", "a1", "b2", "a2"]
    assert story.driver.current is None


def test_an_error_goes_to_whoever_waits() -> None:
    story = Story()
    story.world.errors["produce"] = Misuse("no")

    async def fails() -> None:
        await Operation("c", "produce", {}, "")

    async def main() -> str:
        with pytest.raises(Misuse, match="no"):
            await fails()
        task = story.driver.spawn(fails(), "fails")
        try:
            await task
        except Misuse as error:
            return f"told: {error}"
        return "not told"

    assert story.driver.run(main()) == "told: no"


def test_a_task_that_fails_and_that_nobody_awaits_ends_the_scenario() -> None:
    story = Story()

    async def fails() -> None:
        await story.sleep(5)
        raise KeyError("lost")

    async def main() -> None:
        story.driver.spawn(fails(), "fails")
        await story.sleep(1_000)
        story.seen.append("too late")

    with pytest.raises(KeyError, match="lost"):
        story.driver.run(main())
    assert story.seen == []


def test_the_end_of_the_scenario_ends_all_tasks() -> None:
    story = Story()
    tasks: list[Task] = []

    async def waits(task: Task) -> None:
        try:
            await task
        finally:
            story.seen.append("closed")

    async def main() -> None:
        tasks.append(story.driver.spawn(story.count("a", 30), "a"))
        tasks.append(story.driver.spawn(waits(tasks[0]), "waits"))
        await story.sleep(40)

    story.driver.run(main())
    assert story.seen == ["a0", "closed"] and all(task.done for task in tasks)


def test_a_killed_task_goes_no_further_and_its_clients_hang_up() -> None:
    story = Story()

    async def main() -> None:
        victim = story.driver.spawn(story.count("a", 30), "victim")
        victim.clients.append("client-1")
        await story.sleep(40)
        victim.kill()
        victim.kill()
        await story.sleep(100)
        with pytest.raises(Misuse, match="victim was killed"):
            await victim

    story.driver.run(main())
    assert story.seen == ["a0"] and story.world.hung_up == ["client-1"]
    assert len(story.world.cancelled) == 1


def test_what_was_asked_for_and_not_begun_is_not_begun_by_a_dead_task() -> None:
    story = Story()

    async def main() -> None:
        victim = story.driver.spawn(story.count("a", 30), "victim")

        async def killer() -> None:
            victim.kill()

        await story.driver.spawn(killer(), "killer")
        await story.sleep(1)

    story.driver.run(main())
    assert len(story.world.begun) == 1 and story.world.cancelled == []


def test_what_belongs_to_an_event_loop_is_refused_with_a_reason() -> None:
    story = Story()

    async def main() -> None:
        await asyncio.sleep(0)

    with pytest.raises(Misuse, match="only await what its cluster and clients give it"):
        story.driver.run(main())
    with pytest.raises(Misuse, match="is no coroutine: call the async function"):
        story.driver.spawn(story.count, "count")


def test_two_that_wait_for_each_other_are_stuck() -> None:
    story = Story()
    tasks: list[Task] = []

    async def waits(number: int) -> None:
        await tasks[1 - number]

    async def main() -> None:
        tasks.extend(story.driver.spawn(waits(number), f"task-{number}") for number in (0, 1))
        await tasks[0]

    with pytest.raises(ScenarioStuck, match="nothing will ever happen"):
        story.driver.run(main())


def test_a_task_cannot_kill_itself() -> None:
    story = Story()
    tasks: list[Task] = []

    async def suicidal() -> None:
        tasks[0].kill()

    async def main() -> None:
        tasks.append(story.driver.spawn(suicidal(), "suicidal"))
        await story.sleep(1)

    with pytest.raises(Misuse, match="cannot kill itself"):
        story.driver.run(main())
