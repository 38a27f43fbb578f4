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


def test_until() -> None:
    async def scenario(cluster: SimulatedCluster) -> float:
        await cluster.until(lambda: cluster.now >= 1.0)
        return cluster.now

    assert played(scenario)[0] == pytest.approx(1.0, abs=0.06)

    async def never(cluster: SimulatedCluster) -> None:
        await cluster.until(lambda: False, 2.0, "the order")

    with pytest.raises(AssertionError, match="the order is not so within 2 s"):
        played(never)


def test_faults_by_hand_are_operations_of_the_cluster() -> None:
    async def scenario(cluster: SimulatedCluster) -> object:
        client = cluster.client("app")
        await cluster.kill(1)
        await cluster.stop(2)
        await cluster.start(1)
        await cluster.pause(1)
        await cluster.resume(1)
        await cluster.cut(1, client, both=False)
        await cluster.mend(1, client)
        await cluster.slow(1, 2, 0.5)
        await cluster.set_clock(1, -60)
        await cluster.heal()
        return await cluster.leader("t"), await cluster.controller()

    told, world = played(scenario, leader=2, controller=3)
    assert told == (2, 3) and all(one.client is None for one in world.begun)
    assert [one.name for one in world.begun][:5] == ["kill", "stop", "start", "pause", "resume"]
    by_name = {one.name: one.args for one in world.begun}
    assert by_name["cut"] == {"source": 1, "target": "app", "both": False}
    assert by_name["slow"]["ms"] == 500.0 and by_name["clock"] == {"broker": 1, "ms": -60_000}


def test_faults_of_requests() -> None:
    async def scenario(cluster: SimulatedCluster) -> object:
        fault = await cluster.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="a*")
        await cluster.fail("Fetch", deed="unanswered")
        await cluster.fail(delay=0.2)
        return await fault.lift()

    met, world = played(scenario, lift=2)
    rules = [one.args["rule"] for one in world.begun if one.name == "fail"]
    assert met == 2 and [rule["deed"] for rule in rules] == ["error", "unanswered", "delay"]
    assert rules[0]["topic"] == "a*" and rules[2]["delay_ms"] == 200.0
    for wrong in ({"deed": "explode"}, {"deed": "error"}):

        async def refused(cluster: SimulatedCluster, wrong: dict[str, str] = wrong) -> None:
            await cluster.fail("Fetch", **wrong)  # type: ignore[arg-type]

        with pytest.raises(Misuse, match="no deed explode|which error"):
            played(refused)


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
