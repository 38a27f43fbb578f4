"""`simulate`: seeds, invariants, and what a failed seed says; on one broker, which is quick."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.testing import simulate
from ottla.testing.errors import Misuse
from ottla.testing.simulation.cluster import SimulatedCluster
from ottla.testing.simulation.errors import OperationFailed, SimulationFailed
from ottla.testing.simulation.finished import FinishedRun


async def writes(cluster: SimulatedCluster) -> float:
    """Three records."""
    client = cluster.client("app")
    await client.create_topic("t")
    for number in range(3):
        await client.produce("t", f"{number}")
        await client.commit("g", "t", number + 1)
    return cluster.random.random()


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    traces = [tmp_path / name for name in ("one", "two")]
    runs = [
        simulate(writes, seeds, brokers=1, trace=trace)
        for seeds, trace in zip(([3, 4], [4]), traces, strict=True)
    ]
    first, again = runs[0][1], runs[1][0]
    assert traces[0].read_bytes() == traces[1].read_bytes() and traces[0].stat().st_size > 1_000
    assert (first.checksum, first.result) == (again.checksum, again.result)
    assert runs[0][0].checksum != first.checksum and runs[0][0].result != first.result


def test_a_finished_run_is_told_to_invariants() -> None:
    told: list[FinishedRun] = []
    (run,) = simulate(writes, 1, brokers=1, faults="none", invariants=[told.append])
    assert told == [run] and run.seed == 0 and run.texts("t") == ["0", "1", "2"]
    assert run.committed("g", "t") == 3 and run.requests > 8 and run.seconds > 0
    names = [one.name for one in run.history if one.client == "app"]
    assert names == ["create_topic", *["produce", "commit"] * 3]
    assert all(one.ended is not None and one.ended >= one.began for one in run.history)


def test_an_invariant_that_fails_is_told_with_its_seed() -> None:
    def few(run: FinishedRun) -> bool:
        return len(run.records("t")) < 3

    def odd(run: FinishedRun) -> None:
        assert run.seed % 2, f"{run.seed} is even"

    with pytest.raises(SimulationFailed, match="seed 5: the invariant few does not hold"):
        simulate(writes, [5], brokers=1, faults="none", invariants=[few])
    with pytest.raises(SimulationFailed, match=r"seed 6: 6 is even \(test_run.py:\d+\)") as caught:
        simulate(writes, [5, 6, 8], brokers=1, faults="none", invariants=[odd])
    text = str(caught.value)
    assert caught.value.seed == 6 and "replay: seeds=[6], or OTTLA_SEED=6" in text
    assert "app: produce t b'2' → 0@2" in text and "broker-1 serves" in text


def test_a_client_does_what_its_calls_say() -> None:
    async def scenario(cluster: SimulatedCluster) -> None:
        client = cluster.client("app", idempotent=False)
        await client.create_topic("t", 3, configs={"retention.ms": "-1"})
        assert await client.partitions("t") == 3
        placed = await client.produce("t", {"a": 1}, key="k", headers={"h": "x"}, acks=1)
        (record,) = await client.read("t", placed.partition)
        assert (record.offset, record.key, record.json()) == (placed.offset, b"k", {"a": 1})
        assert record.header("h") == b"x" and (placed.topic, record.topic) == ("t", "t")
        began = cluster.now
        assert await client.poll("t", placed.partition, "latest", wait=0.25) == []
        assert 0.25 <= cluster.now - began < 0.5
        assert (await client.produce("t", "2", partition=2, acks=0)).partition == 2
        assert await client.committed("g", "t", 2) is None
        await client.commit("g", "t", 5, 2)
        assert await client.committed("g", "t", 2) == 5 and await client.committed("g", "t") is None
        answer = await client.request("Metadata", {"topics": [{"name": "t"}]}, broker=1)
        assert [one["name"] for one in answer["topics"]] == ["t"]

    (run,) = simulate(scenario, 1, brokers=1, faults="none")
    assert [one.name for one in run.history][:3] == ["create_topic", "partitions", "produce"]


def test_faults_by_hand_hit_whom_they_name() -> None:
    async def scenario(cluster: SimulatedCluster) -> None:
        client = cluster.client("app")
        await client.create_topic("t")
        leader = await cluster.leader("t")
        await cluster.cut(leader, client, both=False)
        with pytest.raises(OperationFailed, match="TIMED_OUT|no success") as unsure:
            await client.produce("t", "1", timeout=2.0)
        assert unsure.value.unsure, "it arrives there, and no answer comes back"
        await cluster.mend(leader, client)
        await cluster.slow(leader, client, 0.5)
        await cluster.set_clock(leader, -60)
        fault = await cluster.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="t*")
        await client.produce("t", "2")
        assert await fault.lift() == 2
        await cluster.pause(leader)
        await cluster.resume(leader)
        for end in (cluster.kill, cluster.stop):
            await end(leader)
            leader, before = await cluster.leader("t"), leader
            assert leader != before and await cluster.controller() != before
            await cluster.start(before)
        await cluster.kill(leader)
        await cluster.heal()
        await cluster.client("other").produce("t", "3")

    (run,) = simulate(scenario, 1, faults="none")
    assert run.texts("t")[-1] == "3"


def test_a_scenario_that_raises_is_a_failed_seed() -> None:
    async def refuses(cluster: SimulatedCluster) -> None:
        client = cluster.client("app")
        try:
            await client.create_topic("t", replication_factor=5)
        except OperationFailed as error:
            assert error.error == "INVALID_REPLICATION_FACTOR" and not error.unsure
        await client.poll("nowhere", offset=0, timeout=1.0)

    with pytest.raises(SimulationFailed, match="seed 0: OperationFailed: fetch of nowhere-0"):
        simulate(refuses, 1, brokers=1, faults="none")


def test_a_scenario_that_takes_too_long_is_a_failed_seed() -> None:
    async def sleeps(cluster: SimulatedCluster) -> None:
        await cluster.sleep(100.0)

    with pytest.raises(SimulationFailed, match="has not ended within 9 s of virtual time"):
        simulate(sleeps, 1, brokers=1, faults="none", limit=9.0)


def test_the_environment_chooses_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTTLA_SEED", "11")
    assert [one.seed for one in simulate(writes, 50, brokers=1, faults="none")] == [11]
    monkeypatch.setenv("OTTLA_SEED", "eleven")
    with pytest.raises(Misuse, match="OTTLA_SEED is the number of a seed, not 'eleven'"):
        simulate(writes, 50, brokers=1)


def test_what_is_wrong_is_said_at_once() -> None:
    async def asks_wrongly(cluster: SimulatedCluster) -> None:
        await cluster.client().request("Metdata")

    with pytest.raises(Misuse, match="no API Metdata; did you mean Metadata"):
        simulate(asks_wrongly, 1, brokers=1, faults="none")
    with pytest.raises(Misuse, match="faults are one of none, some, many, not 'few'"):
        simulate(writes, 1, faults="few")
    with pytest.raises(Misuse, match="has 1 to 7 brokers, not 8"):
        simulate(writes, 1, brokers=8)
    with pytest.raises(Misuse, match="limit is seconds of virtual time"):
        simulate(writes, 1, limit=0)


def test_one_simulation_at_a_time() -> None:
    async def nested(cluster: SimulatedCluster) -> None:
        simulate(writes, 1, brokers=1)

    with pytest.raises(Misuse, match="another simulation is under way"):
        simulate(nested, 1, brokers=1, faults="none")
    simulate(writes, 1, brokers=1, faults="none")
