"""A tiny run of the bench's scenarios on Ottla: they load it, end, and tell what they promise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from bench import acls, burst, fan_out, groups, idle, logins, memory, tls, transactions
from bench.consumer_groups import scenarios as consumer_groups
from bench.innocent import scenarios as innocent
from bench.peers import BenchPeer, start_peer
from bench.scenario import Scenario
from bench.wire import delete_topics

WINDOW_S = 0.2
MODULES = (burst, fan_out, groups, idle, memory)
CHOSEN = [scenario for module in MODULES for scenario in module.SCENARIOS]
SECURED = [*tls.SCENARIOS, *logins.SCENARIOS, *acls.SCENARIOS]
CHOSEN += [one for one in consumer_groups.SCENARIOS if one.name == "consumer-groups-join"]
CHOSEN += [one for one in transactions.SCENARIOS if one.name == "transactions-confluent-1"]


@pytest.fixture(scope="module")
def peer() -> Iterator[BenchPeer]:
    started = start_peer("ottla")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def secured_peer() -> Iterator[BenchPeer]:
    started = start_peer("ottla", secured=True)
    yield started
    started.stop()


@pytest.mark.long(sample=3)
@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda scenario: scenario.name)
def test_a_scenario_gives_its_figures(
    scenario: Scenario, peer: BenchPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "IDLE_CONNECTIONS", 50)
    monkeypatch.setattr(idle, "IDLE_PARTITIONS", 20)
    monkeypatch.setattr(idle, "ACTIVE_CONNECTIONS", 10)
    monkeypatch.setattr(groups, "GROUPS_MIN", 3)
    monkeypatch.setattr(memory, "WINDOWS", 5)
    monkeypatch.setattr(consumer_groups, "MEMBERS", 3)
    # A transaction may take long where the machine is busy, and one has to end in each window.
    check(scenario, peer, WINDOW_S if scenario.group != "transactions" else 5 * WINDOW_S)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("scenario", SECURED, ids=lambda scenario: scenario.name)
def test_a_scenario_of_secured_listeners_gives_its_figures(
    scenario: Scenario, secured_peer: BenchPeer
) -> None:
    check(scenario, secured_peer, WINDOW_S)


@pytest.mark.parametrize("name", ["throttled-flood", "slow-senders", "stalled-readers"])
def test_an_innocent_client_beside_a_load(
    name: str, peer: BenchPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(innocent, "SETTLE_S", 0.0)
    (scenario,) = [one for one in innocent.SCENARIOS if one.name == f"innocent-{name}"]
    told = {one.name: one.value for one in scenario.run(peer, 2 * WINDOW_S)}
    delete_topics(peer.port)
    assert set(scenario.goals) <= set(told)
    assert told["unanswered"] == 0
    assert told["load"] > 0
    assert 0 < told["peak anonymous"] < told["peak memory"] < 1000
    assert peer.death() is None


def check(scenario: Scenario, peer: BenchPeer, window_s: float) -> None:
    figures = scenario.run(peer, window_s)
    delete_topics(peer.port)
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    assert set(scenario.goals) | set(scenario.limits) <= set(names)
    assert all(math.isfinite(figure.value) for figure in figures)
    assert peer.death() is None
