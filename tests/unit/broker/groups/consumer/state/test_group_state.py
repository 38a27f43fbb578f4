"""The state of a group follows from what it holds."""

from __future__ import annotations

import pytest

from broker.groups.consumer.state.group_state import Situation, state_of


@pytest.mark.parametrize(
    ("members", "assigned", "reconciled", "state"),
    [
        (False, True, True, "Empty"),
        (False, False, True, "Empty"),
        (True, False, False, "Assigning"),
        (True, False, True, "Assigning"),
        (True, True, False, "Reconciling"),
        (True, True, True, "Stable"),
    ],
)
def test_the_first_that_applies(
    members: bool, assigned: bool, reconciled: bool, state: str
) -> None:
    assert state_of(Situation(members, assigned, reconciled)).value == state
