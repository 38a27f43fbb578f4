"""The states of members."""

from __future__ import annotations

from broker.groups.reconciliation.member_state import TRANSITIONS, MemberState, MemberStep


def test_a_state_has_its_number_of_the_log() -> None:
    assert [MemberState.of(number) for number in (0, 1, 2)] == [
        MemberState.STABLE,
        MemberState.UNREVOKED_PARTITIONS,
        MemberState.UNRELEASED_PARTITIONS,
    ]
    assert MemberState.of(9) is MemberState.UNKNOWN


def test_every_step_leads_somewhere_from_every_state() -> None:
    assert set(TRANSITIONS) == set(MemberState)
    for state in MemberState:
        assert set(TRANSITIONS[state]) == set(MemberStep)
    assert TRANSITIONS[MemberState.STABLE][MemberStep.REVOKES] is MemberState.UNREVOKED_PARTITIONS
