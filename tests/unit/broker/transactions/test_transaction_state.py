from __future__ import annotations

import pytest

from broker.transactions.transaction_state import (
    TransactionEvent,
    TransactionOutcome,
    TransactionState,
    outcome,
    state_named,
    state_of_status,
)
from protocol.errors import ErrorCode

NONE, BUSY = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
WRONG, FENCED = ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED
S = TransactionState

# Written down apart from the table: the states in the order of their numbers, Dead and
# PrepareEpochFence last.
ORDER = (
    S.EMPTY,
    S.ONGOING,
    S.PREPARE_COMMIT,
    S.PREPARE_ABORT,
    S.COMPLETE_COMMIT,
    S.COMPLETE_ABORT,
    S.DEAD,
    S.PREPARE_EPOCH_FENCE,
)
COMMIT, ABORT, FENCE = S.PREPARE_COMMIT, S.PREPARE_ABORT, S.PREPARE_EPOCH_FENCE
KAFKA: dict[TransactionEvent, list[TransactionOutcome]] = {
    TransactionEvent.INITIALIZE: [S.EMPTY, FENCE, BUSY, BUSY, S.EMPTY, S.EMPTY, None, None],
    TransactionEvent.ADD_PARTITIONS: [
        S.ONGOING,
        S.ONGOING,
        BUSY,
        BUSY,
        S.ONGOING,
        S.ONGOING,
        None,
        None,
    ],
    TransactionEvent.COMMIT: [WRONG, COMMIT, BUSY, BUSY, NONE, WRONG, None, None],
    TransactionEvent.ABORT: [WRONG, ABORT, BUSY, BUSY, WRONG, NONE, None, None],
    TransactionEvent.COMMIT_AND_BUMP: [WRONG, COMMIT, FENCED, FENCED, WRONG, WRONG, None, None],
    TransactionEvent.ABORT_AND_BUMP: [ABORT, ABORT, FENCED, FENCED, ABORT, ABORT, None, None],
    TransactionEvent.COMMIT_AGAIN: [FENCED, FENCED, BUSY, BUSY, NONE, WRONG, None, None],
    TransactionEvent.ABORT_AGAIN: [FENCED, FENCED, BUSY, BUSY, WRONG, NONE, None, None],
    TransactionEvent.FENCE: [None, FENCE, None, None, None, None, None, ABORT],
    TransactionEvent.MARKERS_WRITTEN: [
        None,
        None,
        S.COMPLETE_COMMIT,
        S.COMPLETE_ABORT,
        None,
        None,
        None,
        None,
    ],
    TransactionEvent.EXPIRE: [S.DEAD, None, None, None, S.DEAD, S.DEAD, None, None],
}


@pytest.mark.parametrize("event", TransactionEvent)
@pytest.mark.parametrize("state", ORDER)
def test_every_event_in_every_state(event: TransactionEvent, state: TransactionState) -> None:
    assert outcome(state, event) is KAFKA[event][ORDER.index(state)]


def test_the_states_that_may_follow_are_kafkas() -> None:
    before: dict[TransactionState, list[TransactionState]] = {}
    for event in TransactionEvent:
        for state in TransactionState:
            after = outcome(state, event)
            if isinstance(after, TransactionState) and state not in before.setdefault(after, []):
                before[after].append(state)
    at_rest = [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT]
    # Kafka's validPreviousStates.
    assert {state: sorted(one.status for one in found) for state, found in before.items()} == {
        state: sorted(one.status for one in found)
        for state, found in {
            S.EMPTY: at_rest,
            S.ONGOING: [S.ONGOING, *at_rest],
            S.PREPARE_COMMIT: [S.ONGOING],
            S.PREPARE_ABORT: [S.ONGOING, S.PREPARE_EPOCH_FENCE, *at_rest],
            S.COMPLETE_COMMIT: [S.PREPARE_COMMIT],
            S.COMPLETE_ABORT: [S.PREPARE_ABORT],
            S.DEAD: at_rest,
            S.PREPARE_EPOCH_FENCE: [S.ONGOING],
        }.items()
    }


def test_numbers_and_names_are_kafkas() -> None:
    names = "Empty Ongoing PrepareCommit PrepareAbort CompleteCommit CompleteAbort Dead"
    shown = [*names.split(), "PrepareEpochFence"]
    assert [state.status for state in ORDER] == list(range(8))
    assert [state.shown for state in ORDER] == shown
    for state in TransactionState:
        assert state_of_status(state.status) is state
        assert state_named(state.shown) is state
    assert state_of_status(8) is state_of_status(-1) is None
    assert state_named("ongoing") is None
