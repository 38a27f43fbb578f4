"""The model of a share-partition: each rule, and what is no fault."""

from __future__ import annotations

import pytest

from tests.simulation.share_groups.share_model import AHEAD_MS, Lock, SharedRecords

LEADER, NEXT_LEADER, ANN, BEN = object(), object(), object(), object()
LIMIT, LOCK_MS = 3, 1_000.0


class Records(SharedRecords):
    """The model of one record, offset 0."""

    def give(
        self, holder: object, count: int, since_ms: float, leader: object = LEADER
    ) -> str | None:
        """Deliver the record for the `count`-th time."""
        return self.delivered(0, Lock(holder, leader, count, since_ms, since_ms + LOCK_MS))


def test_a_record_goes_from_member_to_member() -> None:
    records = Records(LIMIT)
    assert records.give(ANN, 1, 0.0) is None
    assert records.unlock(0, BEN) == 0
    assert records.unlock(0, ANN) == 1
    assert records.give(BEN, 2, 10.0) is None
    assert records.give(ANN, 3, 10.0 + LOCK_MS) is None
    assert records.ended(0, 2_000.0) is None


def test_another_leader_knows_of_no_lock_and_of_what_was_persisted() -> None:
    records = Records(LIMIT)
    records.give(ANN, 1, 0.0)
    records.give(ANN, 2, LOCK_MS)
    assert records.give(BEN, 1, LOCK_MS + 1, NEXT_LEADER) is None
    records.released[0] = 1
    assert records.give(BEN, 2, 3 * LOCK_MS, NEXT_LEADER) is None


@pytest.mark.parametrize("holder", [ANN, BEN])
def test_nobody_gets_a_locked_record(holder: object) -> None:
    records = Records(LIMIT)
    records.give(ANN, 1, 0.0)
    assert records.give(holder, 2, LOCK_MS - AHEAD_MS - 1) == "it is locked until 1000"


def test_a_finished_record_never_comes_back() -> None:
    records = Records(LIMIT)
    records.give(ANN, 1, 0.0)
    records.ended(0, 5.0)
    assert records.give(BEN, 2, 9_000.0, NEXT_LEADER) == "its end was answered at 5"
    late = Records(LIMIT)
    late.give(ANN, 1, 9.0)
    assert late.ended(0, 5.0) == "its end was answered at 5"


def test_deliveries_are_counted() -> None:
    records = Records(LIMIT)
    assert records.give(ANN, 2, 0.0) == "this is delivery 2 after 0"
    records.give(ANN, 3, LOCK_MS)
    assert records.give(ANN, 4, 2 * LOCK_MS) == "this is delivery 4 of at most 3"
    records.released[0] = 3
    assert records.give(ANN, 3, 3 * LOCK_MS) == "this is delivery 3, and it was released after 3"


def test_after_a_loss_of_power_answers_say_nothing() -> None:
    records = Records(LIMIT)
    records.give(ANN, 1, 0.0)
    records.ended(0, 5.0)
    records.forget_answers()
    assert records.give(BEN, 1, 6.0) is None
