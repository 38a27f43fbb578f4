"""Clusters whose quotas are broken on purpose: each is caught. And quotas do hold clients back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simulation.sim_trace import Muted
from tests.simulation.plans import Plan, is_limited
from tests.simulation.quotas.quota_mutants import QUOTA_MUTANTS, quota_failure
from tests.simulation.simulation import Simulation

pytestmark = pytest.mark.slow


@pytest.mark.long(sample=3)
@pytest.mark.parametrize("name", QUOTA_MUTANTS)
def test_a_broken_quota_is_caught(name: str) -> None:
    failure = quota_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant in QUOTA_MUTANTS[name][1], failure
    assert "--quotas" in str(failure)


def test_quotas_come_and_go_while_they_are_used() -> None:
    muted = sum((Simulation(seed, brokers=3).run().muted for seed in (3, 10)), Muted())
    assert is_limited(3) and is_limited(10)
    assert muted.produces > 3 and muted.fetches > 3 and muted.others > 2
    assert muted.longest_ms >= 1_000


def test_one_broker_may_have_them_too() -> None:
    plan: Any = replace(Plan.of(0), limited=True)
    outcome = Simulation(0, plan).run()
    assert outcome.muted.produces and outcome.muted.fetches
    assert not Simulation(0).run().muted.others
