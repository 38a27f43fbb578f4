"""Who has which partition, and for how long nobody had it."""

from __future__ import annotations

import pytest

from bench.consumer_groups.ledger import Ledger

T = bytes(16)


def test_a_pause_is_from_the_one_that_stops_to_the_one_that_begins() -> None:
    ledger = Ledger()
    ledger.took("m", [(T, 0), (T, 1)], 1.0)
    ledger.gave("m", [(T, 1)], 2.0)
    ledger.took("n", [(T, 1)], 5.0)
    assert ledger.pauses() == [3.0]
    assert ledger.pauses() == []


def test_a_partition_that_another_has_is_not_given() -> None:
    ledger = Ledger()
    ledger.took("m", [(T, 0)], 1.0)
    ledger.gave("n", [(T, 0)], 2.0)
    with pytest.raises(RuntimeError, match="partition 0 that m has"):
        ledger.took("n", [(T, 0)], 3.0)


def test_all_have_to_be_held_evenly_by_who_is_there() -> None:
    ledger = Ledger()
    ledger.took("m", [(T, 0), (T, 1)], 1.0)
    assert ledger.is_even(["m"], 2)
    assert not ledger.is_even(["m"], 3)
    assert not ledger.is_even(["m", "n"], 2)
    assert not ledger.is_even(["n"], 2)
    ledger.took("n", [(T, 2)], 1.0)
    assert ledger.is_even(["m", "n"], 3)
