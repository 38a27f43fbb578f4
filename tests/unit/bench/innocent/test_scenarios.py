"""What was noticed, as figures."""

from __future__ import annotations

import math

from bench.innocent.client import Trips
from bench.innocent.load import LOADS
from bench.innocent.loop_turns import TurnDurations
from bench.innocent.memory_peak import ProcessMemory
from bench.innocent.processes import Loaded
from bench.innocent.scenarios import SCENARIOS, Noticed, figures

TURNS = (
    TurnDurations({0.01: 5.0, 0.1: 5.0, math.inf: 5.0}),
    TurnDurations({0.01: 8.0, 0.1: 9.0, math.inf: 9.0}),
)


def noticed(turns: tuple[TurnDurations, TurnDurations]) -> Noticed:
    trips = [number * 1e-3 for number in range(1, 101)]
    memory = ProcessMemory(300.0, 200.0), ProcessMemory(100.0, 50.0)
    return Noticed(Trips(trips, trips[:1], 2), *memory, Loaded(30.0, 2.0), turns)


def test_waits_are_told_for_produce_and_fetch() -> None:
    told = {one.name: round(one.value, 6) for one in figures(noticed(TURNS), "req/s")}
    assert (told["produce p50"], told["produce p99"], told["produce max"]) == (51.0, 100.0, 100.0)
    assert (told["fetch p50"], told["fetch p99"], told["fetch max"]) == (1.0, 1.0, 1.0)
    assert (told["peak memory"], told["peak anonymous"]) == (300.0, 200.0)
    assert (told["memory after"], told["anonymous after"]) == (100.0, 50.0)
    assert (told["longest turn"], told["turns over 10 ms"]) == (100.0, 1.0)
    assert (told["unanswered"], told["load"]) == (2.0, 15.0)


def test_what_has_a_goal_is_told_and_a_peer_without_a_loop_has_no_turns() -> None:
    names = [one.name for one in figures(noticed(TURNS), "req/s")]
    assert len(set(names)) == len(names)
    for one in SCENARIOS:
        assert set(one.goals) | set(one.limits) | set(one.enough) <= set(names)
    without = {one.name for one in figures(noticed((TurnDurations(), TurnDurations())), "req/s")}
    assert set(names) - without == {"longest turn", "turns over 10 ms"}


def test_every_load_has_a_scenario_with_a_peer_of_its_own() -> None:
    assert [one.name for one in SCENARIOS] == [f"innocent-{name}" for name in LOADS]
    assert all(one.fresh and one.metrics for one in SCENARIOS)
