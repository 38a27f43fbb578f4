"""One whole broker in virtual time: seeds in, verdicts out.

`OTTLA_SEEDS` says how many seeds (20; more by `make sim`). Of the first five `make check` runs
some; the rest are marked slow. A failure prints the seed, how to run it again, and the last lines
of its trace.
"""

from __future__ import annotations

import os

import pytest

from tests.simulation.mutants import MUTANTS, first_failure
from tests.simulation.simulation import Plan, Simulation

SEEDS = int(os.environ.get("OTTLA_SEEDS", "20"))
QUICK = 5


def _seeds() -> list[object]:
    slow = pytest.mark.slow
    return [seed if seed < QUICK else pytest.param(seed, marks=slow) for seed in range(SEEDS)]


@pytest.mark.long(sample=6)
@pytest.mark.parametrize("seed", _seeds())
def test_every_invariant_holds(seed: int) -> None:
    outcome = Simulation(seed).run()
    assert outcome.acknowledged > 50, "too little happened to prove anything"


def test_every_kind_of_fault_is_among_the_quick_seeds() -> None:
    plans = [Plan.of(seed) for seed in range(QUICK)]
    assert any(plan.faults.power_loss for plan in plans)
    assert any(plan.faults.disk_error for plan in plans)
    assert any(plan.weather.cut_chance for plan in plans)


@pytest.mark.long(sample=4)
@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_broker_is_caught(name: str) -> None:
    failure = first_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant in MUTANTS[name][1], failure
    assert f"--seed {failure.seed}" in str(failure)
