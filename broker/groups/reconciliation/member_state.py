"""The states of a member on the way to its target assignment, and every legal transition.

Owns the table; `position` computes what the member revokes and gets. Does not depend on what is
assigned: members of a streams group could follow the same table. Never stores a state. Follows
Kafka's `MemberState` (KIP-848).
"""

from __future__ import annotations

from enum import Enum


class MemberState(Enum):
    """The states, by their number in the log, with a heartbeat's effect and the next states.

    STABLE  The member has all of the target of its epoch.
      action: nothing, while the target has the member's epoch
      transition: the target has another epoch, or the member no longer subscribes to a topic that
              it has → any state, depending on what it must revoke and what is free

    UNREVOKED_PARTITIONS  The member must revoke partitions. It keeps its epoch meanwhile, and has
              the rebalance time-out to do it.
      action: nothing, while the member does not report what it owns, or still owns them
      transition: the member reports that it no longer owns them → any state, towards the new target

    UNRELEASED_PARTITIONS  The member has the target's epoch; others still have some of its target.
      action: the member gets the partitions that became free
      transition: with every heartbeat, towards the newest target → any state

    UNKNOWN  A later version wrote the state: the member has what its record says.
      action: nothing until the member reports that it owns nothing; until then it is fenced
      transition: the member owns nothing → any state
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @staticmethod
    def of(number: int) -> MemberState:
        """Return the state with a record's number, or UNKNOWN."""
        return _BY_NUMBER.get(number, MemberState.UNKNOWN)


class MemberStep(Enum):
    """The step that a member takes towards its target."""

    REVOKES = "it has to give something up first"
    WAITS = "it has what is free of its target, and not all"
    ARRIVES = "it has all of its target"


_BY_NUMBER = {state.value: state for state in MemberState}

STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS, UNKNOWN = MemberState

_STEPS = {
    MemberStep.REVOKES: UNREVOKED_PARTITIONS,
    MemberStep.WAITS: UNRELEASED_PARTITIONS,
    MemberStep.ARRIVES: STABLE,
}

TRANSITIONS: dict[MemberState, dict[MemberStep, MemberState]] = {
    STABLE: _STEPS,
    UNREVOKED_PARTITIONS: _STEPS,
    UNRELEASED_PARTITIONS: _STEPS,
    UNKNOWN: _STEPS,
}
"""The state after each step. States differ only in when a member may take one: `MemberState`."""
