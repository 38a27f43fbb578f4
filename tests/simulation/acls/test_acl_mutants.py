"""Clusters whose rights are broken on purpose: each is caught."""

from __future__ import annotations

import pytest

from tests.simulation.acls.acl_mutants import ACL_MUTANTS, acl_failure
from tests.simulation.plans import is_secured
from tests.simulation.simulation import Simulation

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ACL_MUTANTS)
def test_a_broken_right_is_caught(name: str) -> None:
    failure = acl_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant == "I21", failure
    assert "--seed" in str(failure)


@pytest.mark.parametrize("seed", [10, 11])
def test_rights_come_and_go_while_they_are_asked_for(seed: int) -> None:
    assert is_secured(seed)
    judged = Simulation(seed, brokers=3).run().judged
    assert judged.allowed > 300
    assert judged.denied > 10
    assert judged.changing > 5, "no request was under way while ACLs changed"
