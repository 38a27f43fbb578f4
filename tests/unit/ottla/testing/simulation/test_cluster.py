"""What a scenario can do with its cluster, in a world that is made up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ottla.testing.errors import Misuse
from ottla.testing.simulation.cluster import SimulatedCluster
from ottla.testing.simulation.driver import Driver
from tests.unit.ottla.testing.simulation.made_up import MadeUpWorld

Scenario = Callable[[SimulatedCluster], Awaitable[object]]


def played(
    scenario: Scenario, *, faulty: bool = True, seed: int = 1, **results: object
) -> tuple[object, MadeUpWorld]:
    world = MadeUpWorld()
    world.results = results
    driver = Driver(world)
    cluster = SimulatedCluster(seed, 3, driver=driver, clock=world, timeline=world, faulty=faulty)

    async def main() -> object:
        return await scenario(cluster)

    return driver.run(main()), world


def test_time_chance_and_names() -> None:
    async def scenario(cluster: SimulatedCluster) -> object:
        await cluster.sleep(1.5)
        names = [cluster.client().name, cluster.client("b").name, cluster.client().name]
        return cluster.now, names, cluster.random.random(), cluster.brokers

    one, _ = played(scenario)
    other, _ = played(scenario)
    assert one == other and one[:2] == (1.5, ["client-1", "b", "client-3"])  # type: ignore[index]
    assert played(scenario, seed=2)[0] != one


def test_a_name_is_free_again_after_the_end_of_the_task_that_used_it() -> None:
    async def scenario(cluster: SimulatedCluster) -> list[str]:
        async def made() -> str:
            return cluster.client("app").name

        names = [await cluster.spawn(made()), await cluster.spawn(made())]
        cluster.client("client-3")
        with pytest.raises(Misuse, match="there is a client client-3 already"):
            cluster.client("client-3")
        return [*names, cluster.client().name]

    assert played(scenario)[0] == ["app", "app", "client-4"]


def test_until() -> None:
    async def scenario(cluster: SimulatedCluster) -> float:
        await cluster.until(lambda: cluster.now >= 1.0)
        return cluster.now

    assert played(scenario)[0] == pytest.approx(1.0, abs=0.06)

    async def never(cluster: SimulatedCluster) -> None:
        await cluster.until(lambda: False, 2.0, "the order")

    with pytest.raises(AssertionError, match="the order is not so within 2 s"):
        played(never)


@pytest.mark.parametrize("wrong", [{"deed": "explode"}, {"deed": "error"}])
def test_a_fault_that_there_is_not_is_said(wrong: dict[str, str]) -> None:
    async def scenario(cluster: SimulatedCluster) -> None:
        await cluster.fail("Fetch", **wrong)  # type: ignore[arg-type]

    with pytest.raises(Misuse, match="no deed explode|which error"):
        played(scenario)


def test_a_service_is_killed_and_started_again_while_there_are_faults() -> None:
    async def scenario(cluster: SimulatedCluster) -> int:
        starts: list[float] = []

        async def app() -> None:
            cluster.client(f"app-{len(starts)}")
            starts.append(cluster.now)
            while True:
                await cluster.sleep(0.1)

        cluster.service(app, "billing")
        await cluster.sleep(20.0)
        before = len(starts)
        await cluster.heal()
        await cluster.sleep(20.0)
        assert len(starts) <= before + 1
        return before

    count, world = played(scenario)
    assert isinstance(count, int) and count > 5
    assert world.lines[:2] == ["billing is killed", "billing starts again"]
    assert "app-0" in world.hung_up
    assert played(scenario, faulty=False)[0] == 1
    again, twin = played(scenario)
    assert (again, twin.lines) == (count, world.lines)


def test_a_service_that_fails_fails_the_scenario() -> None:
    async def scenario(cluster: SimulatedCluster) -> None:
        async def app() -> None:
            raise AssertionError("a wrong order")

        cluster.service(app)
        await cluster.sleep(5.0)

    with pytest.raises(AssertionError, match="a wrong order"):
        played(scenario)
