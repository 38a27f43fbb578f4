"""Coordinators that break a rule of reconciliation: each is caught. And what members come to do."""

from __future__ import annotations

import pytest

from tests.simulation.consumer_groups.consumer_member import ConsumerMember
from tests.simulation.consumer_groups.consumer_mutants import (
    CONSUMER_MUTANTS,
    QUICK,
    consumer_failure,
    plan_of,
)
from tests.simulation.plans import is_assigned
from tests.simulation.simulation import Simulation

pytestmark = pytest.mark.slow


@pytest.mark.long(sample=3)
@pytest.mark.parametrize("name", QUICK)
def test_a_broken_rule_is_caught(name: str) -> None:
    failure = consumer_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant in CONSUMER_MUTANTS[name][1], failure


def test_members_come_to_have_partitions_again_and_again() -> None:
    assert is_assigned(9)
    simulation = Simulation(9, plan_of(9))
    simulation.run()
    members = [one for one in simulation.clients if isinstance(one, ConsumerMember)]
    assert len(members) == 8
    assert sum(one.joined for one in members) > 3
    assert any(one.lives for one in members)
