"""The states of a member on the way to its target assignment, and every legal transition.

Owns the table; `reconciliation` computes what is given up and what is given. Knows nothing of what
is assigned: members of a streams group follow the same table. Follows Kafka's `MemberState`
(KIP-848).
"""

from __future__ import annotations

from enum import Enum


class MemberState(Enum):
    """The states, by their number in the log. Each: what a heartbeat does, what leads where.

    STABLE  The member has all of the target of its epoch.
      action: nothing, while the target has the member's epoch
      transition: the target has another epoch, or the member is not subscribed any more to what it
              has → any state, by what is to be given up and what is free

    UNREVOKED_PARTITIONS  The member was told to give something up. It keeps its epoch meanwhile,
              and has the rebalance time-out to do it.
      action: nothing, while the member does not report what it owns, or still owns it
      transition: it reports that it does not own it any more → any state, towards the new target

    UNRELEASED_PARTITIONS  The member is at the target's epoch; others still have some of it.
      action: whatever became free is given to it
      transition: with every heartbeat, towards the newest target → any state

    UNKNOWN  Written by a later version: it has what the record says.
      action: nothing, until the member reports that it owns nothing; till then it is fenced
      transition: it owns nothing → any state
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @staticmethod
    def of(number: int) -> MemberState:
        """The state that a record names."""
        return _BY_NUMBER.get(number, MemberState.UNKNOWN)


class Step(Enum):
    """How far a member comes towards its target."""

    REVOKES = "it has to give something up first"
    WAITS = "it has what is free of its target, and not all"
    ARRIVES = "it has all of its target"


_BY_NUMBER = {state.value: state for state in MemberState}

STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS, UNKNOWN = MemberState

_STEPS = {
    Step.REVOKES: UNREVOKED_PARTITIONS,
    Step.WAITS: UNRELEASED_PARTITIONS,
    Step.ARRIVES: STABLE,
}

TRANSITIONS: dict[MemberState, dict[Step, MemberState]] = {
    STABLE: _STEPS,
    UNREVOKED_PARTITIONS: _STEPS,
    UNRELEASED_PARTITIONS: _STEPS,
    UNKNOWN: _STEPS,
}
"""Where a step leads. What differs is when a state lets a member go on: see `MemberState`."""
