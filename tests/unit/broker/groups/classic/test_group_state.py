"""The state machine's table: Kafka's transitions, documented, and nothing else."""

from __future__ import annotations

import pytest

from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    TRANSITIONS,
    ClassicGroupState,
    GroupEvent,
)

# Kafka's ClassicGroupState.validPreviousStates, read the other way round.
KAFKA_PREVIOUS = {
    EMPTY: [PREPARING_REBALANCE],
    PREPARING_REBALANCE: [STABLE, COMPLETING_REBALANCE, EMPTY],
    COMPLETING_REBALANCE: [PREPARING_REBALANCE],
    STABLE: [COMPLETING_REBALANCE],
    DEAD: [STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, EMPTY],
}


def test_the_table_is_kafkas() -> None:
    for state in ClassicGroupState:
        to = {target for target in TRANSITIONS[state].values() if target is not state}
        assert to == {target for target, before in KAFKA_PREVIOUS.items() if state in before}


def test_every_state_is_documented_with_action_and_transition() -> None:
    text = ClassicGroupState.__doc__ or ""
    lines = [line.strip() for line in text.splitlines()]  # Python 3.13 takes the indentation away
    for state in ClassicGroupState:
        assert any(line.startswith(state.name) for line in lines), state
    assert text.count("action:") == text.count("transition:") == len(ClassicGroupState)


@pytest.mark.parametrize("state", list(ClassicGroupState))
@pytest.mark.parametrize("event", list(GroupEvent))
def test_only_what_the_table_allows_can_happen(state: ClassicGroupState, event: GroupEvent) -> None:
    group = ClassicGroup("g")
    group.state = state
    if group.can(event):
        group.fire(event, 77)
        assert group.state is TRANSITIONS[state][event]
        assert (group.previous_state, group.state_timestamp_ms) == (state, 77)
    else:
        with pytest.raises(AssertionError, match=event.value):
            group.fire(event, 77)
        assert group.state is state
