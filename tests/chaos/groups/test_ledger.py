"""The ledger of a group tells clean stories from those in which a promise is broken."""

from __future__ import annotations

import pytest

from tests.chaos.groups.ledger import Ledger


@pytest.fixture
def ledger() -> Ledger:
    """`a` has 0 and 1, and committed 5 of 0."""
    ledger = Ledger()
    ledger.given("a", [0, 1])
    ledger.tries(0, 5)
    ledger.committed(0, 5)
    return ledger


def test_a_hand_over(ledger: Ledger) -> None:
    ledger.gave_up("a", [0])
    ledger.given("b", [0])
    ledger.read(0, 5, "b")
    ledger.given("b", [0])
    assert ledger.wrong == []
    assert ledger.of("a") == [1]
    ledger.gone("a")
    assert ledger.holders == {0: "b"}


def test_what_was_tried_may_be_there(ledger: Ledger) -> None:
    ledger.tries(0, 6)
    ledger.read(0, 6, "b")
    ledger.read(1, -1, "b")
    assert ledger.wrong == []
    ledger.read(0, 5, "b")
    assert len(ledger.wrong) == 1, "who read it once may rely on it"


def test_two_have_one(ledger: Ledger) -> None:
    ledger.given("b", [1])
    assert ledger.wrong == ["1 is given to b while a has it"]


@pytest.mark.parametrize("offset", [-1, 4, 6])
def test_a_commit_is_lost_or_made_up(ledger: Ledger, offset: int) -> None:
    ledger.read(0, offset, "b")
    assert ledger.wrong == [f"b reads {offset} of 0: 5 was acknowledged, 5 tried"]
