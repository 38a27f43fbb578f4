"""Clusters whose transactions are broken on purpose: each is caught."""

from __future__ import annotations

import pytest

from tests.simulation.transaction_mutants import TRANSACTION_MUTANTS, transaction_failure


@pytest.mark.long(sample=3)
@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSACTION_MUTANTS)
def test_a_broken_transaction_is_caught(name: str) -> None:
    failure = transaction_failure(name)
    assert failure is not None, "nobody noticed"
    assert failure.invariant in TRANSACTION_MUTANTS[name][1], failure
    assert "--seed" in str(failure)
