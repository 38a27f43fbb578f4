"""Time-outs of open transactions, and ids that nobody uses any more."""

from __future__ import annotations

import pytest

from broker.transactions.transaction_expiry import OpenTransactions, is_expired
from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_state import TransactionState
from ground.sim_scheduler import SimScheduler

S = TransactionState


def version(state: TransactionState, now_ms: int = 0) -> TransactionMetadata:
    return TransactionMetadata(7, 0, 1_000, state, start_ms=now_ms, updated_ms=now_ms)


def test_a_transaction_is_open_from_its_first_version_on() -> None:
    scheduler = SimScheduler()
    open_ones = OpenTransactions(scheduler)
    ongoing = version(S.ONGOING, scheduler.wall_ms() + 1_000_000)  # by a clock that was set back
    open_ones.update("t", version(S.EMPTY))
    assert open_ones.ids() == [] and not open_ones.is_timed_out("t", ongoing)
    open_ones.update("t", ongoing)
    scheduler.run_for(600)
    open_ones.update("t", ongoing)  # with one more partition
    scheduler.run_for(400)
    assert open_ones.ids() == ["t"] and not open_ones.is_timed_out("t", ongoing)
    scheduler.run_for(1)
    assert open_ones.is_timed_out("t", ongoing)
    open_ones.update("t", version(S.PREPARE_ABORT))
    assert open_ones.ids() == []
    open_ones.update("t", ongoing)
    assert not open_ones.is_timed_out("t", ongoing), "the next one has a time of its own"
    open_ones.update("t", None)
    assert open_ones.ids() == []


def test_the_time_out_counts_from_the_start_where_that_is_known_to_be_longer_ago() -> None:
    scheduler = SimScheduler()
    began = version(S.ONGOING, scheduler.wall_ms() - 1_000)
    open_ones = OpenTransactions(scheduler)
    open_ones.update("t", began)
    assert not open_ones.is_timed_out("t", began)
    scheduler.run_for(1)
    assert open_ones.is_timed_out("t", began)


@pytest.mark.parametrize("state", [one for one in S if one.status < 6])
def test_only_ids_without_a_transaction_expire(state: TransactionState) -> None:
    expires = state in (S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT)
    assert is_expired(version(state, 5), 5) is expires
    assert not is_expired(version(state, 5), 4)
