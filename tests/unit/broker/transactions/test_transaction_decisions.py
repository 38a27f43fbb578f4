from __future__ import annotations

from dataclasses import replace

import pytest

from broker.transactions.transaction_decisions import (
    Decision,
    MissingInput,
    decide_add,
    decide_complete,
    decide_end,
    decide_fence,
    decide_initialize,
    verification_errors,
)
from broker.transactions.transaction_metadata import EPOCH_MAX, TransactionMetadata
from broker.transactions.transaction_state import TransactionEvent, TransactionState, outcome
from protocol.errors import ErrorCode
from tests.unit.broker.transactions.desk import A0, A1

S = TransactionState
STORED = [
    S.EMPTY,
    S.ONGOING,
    S.PREPARE_COMMIT,
    S.PREPARE_ABORT,
    S.COMPLETE_COMMIT,
    S.COMPLETE_ABORT,
]
NOW = 900


def at(state: TransactionState, epoch: int = 3) -> TransactionMetadata:
    inside = state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)
    return TransactionMetadata(
        7, epoch, 60_000, state, 7, partitions={A0: None} if inside else {}, start_ms=100
    )


def state_of(decision: Decision) -> TransactionState | ErrorCode | MissingInput:
    return decision.state if isinstance(decision, TransactionMetadata) else decision


@pytest.mark.parametrize("state", STORED)
@pytest.mark.parametrize("committed", [True, False])
def test_an_end_is_what_the_table_says(state: TransactionState, committed: bool) -> None:
    names = {
        (0, 3): TransactionEvent.COMMIT if committed else TransactionEvent.ABORT,
        (2, 3): TransactionEvent.COMMIT_AND_BUMP if committed else TransactionEvent.ABORT_AND_BUMP,
        (2, 2): TransactionEvent.COMMIT_AGAIN if committed else TransactionEvent.ABORT_AGAIN,
    }
    for (version, epoch), event in names.items():
        last_ended = replace(at(state), client_version=version)
        decision = decide_end(last_ended, (7, epoch), committed, version, None, NOW)
        assert state_of(decision) is outcome(state, event), event
    for version, epoch in ((0, 2), (0, 4), (2, 4), (2, 1)):
        decision = decide_end(at(state), (7, epoch), committed, version, None, NOW)
        assert decision is ErrorCode.PRODUCER_FENCED
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert decide_end(at(state), (8, 3), committed, 2, None, NOW) is unknown


@pytest.mark.parametrize("state", STORED)
@pytest.mark.parametrize("version", [0, 2])
def test_initializing_is_what_the_table_says(state: TransactionState, version: int) -> None:
    expected = outcome(state, TransactionEvent.INITIALIZE)
    if expected is S.PREPARE_EPOCH_FENCE:
        expected = S.PREPARE_ABORT
    for identity in (None, (7, 3)):
        decision = decide_initialize(at(state), 5, identity, None, version, NOW)
        assert state_of(decision) is expected
        if isinstance(decision, TransactionMetadata):
            assert decision.producer_epoch == 4
    fenced = decide_initialize(at(state), 5, (9, 3), None, version, NOW)
    assert fenced is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("state", STORED)
def test_adding_is_what_the_table_says(state: TransactionState) -> None:
    expected = outcome(state, TransactionEvent.ADD_PARTITIONS)
    assert state_of(decide_add(at(state), (7, 3), [A1], 2, NOW)) is expected
    if expected is ErrorCode.CONCURRENT_TRANSACTIONS:
        assert decide_add(at(state), (9, 9), [A1], 2, NOW) is expected
        return
    assert decide_add(at(state), (7, 2), [A1], 2, NOW) is ErrorCode.PRODUCER_FENCED
    assert decide_add(at(state), (8, 3), [A1], 2, NOW) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    known = decide_add(at(state), (7, 3), [A0], 2, NOW)
    assert state_of(known) is (ErrorCode.NONE if state is S.ONGOING else S.ONGOING)


@pytest.mark.parametrize("state", STORED)
def test_only_an_open_transaction_is_fenced_and_only_a_decision_completed(
    state: TransactionState,
) -> None:
    if state is S.ONGOING:
        assert state_of(decide_fence(at(state), 2, None, NOW)) is S.PREPARE_ABORT
    else:
        with pytest.raises(AssertionError):
            decide_fence(at(state), 2, None, NOW)
    if state.is_prepared:
        after = outcome(state, TransactionEvent.MARKERS_WRITTEN)
        assert decide_complete(at(state), NOW).state is after
    else:
        with pytest.raises(AssertionError):
            decide_complete(at(state), NOW)


def test_a_producer_id_is_asked_for_where_one_is_needed() -> None:
    last, open_one = at(S.EMPTY, EPOCH_MAX - 1), at(S.ONGOING, EPOCH_MAX - 1)
    me = (7, EPOCH_MAX - 1)
    assert decide_initialize(None, 5, None, None, 2, NOW) is MissingInput.PRODUCER_ID
    for identity in (None, me):
        assert decide_initialize(last, 5, identity, None, 2, NOW) is MissingInput.PRODUCER_ID
        given = decide_initialize(last, 5, identity, 9, 2, NOW)
        assert isinstance(given, TransactionMetadata)
        assert (given.producer_id, given.producer_epoch) == (9, 0)
    assert decide_end(open_one, me, True, 2, None, NOW) is MissingInput.PRODUCER_ID
    assert decide_end(open_one, me, True, 0, None, NOW) is not MissingInput.PRODUCER_ID
    assert decide_fence(open_one, 2, None, NOW) is MissingInput.PRODUCER_ID
    assert decide_fence(open_one, 0, None, NOW) is not MissingInput.PRODUCER_ID
    ended = decide_end(open_one, me, True, 2, 9, NOW)
    assert isinstance(ended, TransactionMetadata) and ended.identity_after == (9, 0)
    behind = replace(last, last_epoch=EPOCH_MAX - 2)
    again = decide_initialize(behind, 5, (7, EPOCH_MAX - 2), None, 2, NOW)
    assert isinstance(again, TransactionMetadata) and again.producer_epoch == EPOCH_MAX - 1


def test_verification() -> None:
    unknown, fenced = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.PRODUCER_FENCED
    busy, abortable = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.TRANSACTION_ABORTABLE
    assert verification_errors(None, (7, 3), [A0]) == {A0: unknown}
    assert verification_errors(at(S.ONGOING), (8, 3), [A0]) == {A0: unknown}
    assert verification_errors(at(S.ONGOING), (7, 2), [A0]) == {A0: fenced}
    assert verification_errors(at(S.PREPARE_ABORT), (7, 3), [A0]) == {A0: busy}
    found = verification_errors(at(S.ONGOING), (7, 3), [A0, A1])
    assert found == {A0: ErrorCode.NONE, A1: abortable}
