"""A whole cluster in virtual time: seeds in, verdicts out.

`OTTLA_CLUSTER_SEEDS` says how many seeds (20; thousands run by command, see this folder's README).
Of the first five `make check` runs some; the rest are marked slow. A failure prints the seed, how
to run it again, and the last lines of its trace.
"""

from __future__ import annotations

import os

import pytest

from tests.simulation.cluster_mutants import CLUSTER_MUTANTS, cluster_failure
from tests.simulation.plans import Plan, brokers_of
from tests.simulation.simulation import Simulation

SEEDS = int(os.environ.get("OTTLA_CLUSTER_SEEDS", "20"))
QUICK = 5


def _seeds() -> list[object]:
    slow = pytest.mark.slow
    return [seed if seed < QUICK else pytest.param(seed, marks=slow) for seed in range(SEEDS)]


@pytest.mark.long(sample=6)
@pytest.mark.parametrize("seed", _seeds())
def test_every_invariant_holds(seed: int) -> None:
    outcome = Simulation(seed, brokers=brokers_of(seed)).run()
    assert outcome.acknowledged > 5, "too little happened to prove anything"


def test_every_kind_of_cluster_is_among_the_seeds() -> None:
    plans = [Plan.cluster(seed, brokers_of(seed)) for seed in range(20)]
    assert {len(plan.layout.nodes) for plan in plans} == {3, 5, 6}
    assert any(plan.faults.power_loss and plan.faults.wipe for plan in plans)
    assert any(plan.faults.disk_error and plan.faults.disk_full for plan in plans)
    assert any(plan.properties for plan in plans)
    assert any(plan.transactional for plan in plans[:QUICK])


@pytest.mark.long(sample=4)
@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTER_MUTANTS)
def test_a_broken_cluster_is_caught(name: str) -> None:
    failure = cluster_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant in CLUSTER_MUTANTS[name][1], failure
    assert f"--seed {failure.seed}" in str(failure)
