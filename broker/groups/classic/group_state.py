"""The state machine of a classic group: its states, their answers, and every legal transition.

Owns the table that all groups follow, and never the state of a group. Follows Kafka's
`ClassicGroupState`.
"""

from __future__ import annotations

from enum import Enum


class ClassicGroupState(Enum):
    """The five states, each with its answers to requests (action) and its events (transition).

    EMPTY  No members; committed offsets may remain. Also a group that only commits offsets.
      action: JoinGroup of a new member is accepted, with a member id UNKNOWN_MEMBER_ID;
              SyncGroup, Heartbeat and LeaveGroup UNKNOWN_MEMBER_ID; OffsetCommit is accepted with
              generation −1; OffsetFetch answers
      transition: a member joins → PREPARING_REBALANCE; the last offset expires, or the group is
              deleted → DEAD

    PREPARING_REBALANCE  Members are asked to (re)join.
      action: JoinGroup is parked; SyncGroup and Heartbeat REBALANCE_IN_PROGRESS (Heartbeat also
              extends the session); LeaveGroup removes the member; OffsetCommit of the current
              generation is accepted
      transition: all have joined, or the rebalance time-out is over → COMPLETING_REBALANCE with
              the members that joined; no member is left → EMPTY

    COMPLETING_REBALANCE  The leader computes the assignment.
      action: SyncGroup is parked; JoinGroup with the same metadata repeats the last answer;
              Heartbeat NONE; OffsetCommit REBALANCE_IN_PROGRESS
      transition: the leader's SyncGroup is in the log → STABLE; a member joins with other metadata,
              leaves, expires, or does not sync within the rebalance time-out (KAFKA-12890)
              → PREPARING_REBALANCE

    STABLE  Every member has an assignment, or can fetch it.
      action: SyncGroup answers the assignment; Heartbeat NONE; JoinGroup of a follower with the
              same metadata answers the current generation; OffsetCommit is accepted
      transition: the leader rejoins, a member joins with other metadata, leaves, expires or never
              synced → PREPARING_REBALANCE; a static member came back under a new member id with
              the same vote → STABLE

    DEAD  Deleted, or another broker leads the partition now.
      action: COORDINATOR_NOT_AVAILABLE; OffsetFetch answers as if nothing was committed
      transition: none
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(Enum):
    """An event that moves a group from state to state."""

    REBALANCE = "membership or metadata changed"
    JOINED = "the join phase ended with members"
    NOBODY_JOINED = "the join phase ended without members"
    ASSIGNED = "a generation with assignments is in the log"
    REMOVED = "deleted or unloaded"


EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD = ClassicGroupState

TRANSITIONS: dict[ClassicGroupState, dict[GroupEvent, ClassicGroupState]] = {
    EMPTY: {
        GroupEvent.REBALANCE: PREPARING_REBALANCE,
        GroupEvent.REMOVED: DEAD,
    },
    PREPARING_REBALANCE: {
        GroupEvent.JOINED: COMPLETING_REBALANCE,
        GroupEvent.NOBODY_JOINED: EMPTY,
        GroupEvent.REMOVED: DEAD,
    },
    COMPLETING_REBALANCE: {
        GroupEvent.REBALANCE: PREPARING_REBALANCE,
        GroupEvent.ASSIGNED: STABLE,
        GroupEvent.REMOVED: DEAD,
    },
    STABLE: {
        GroupEvent.REBALANCE: PREPARING_REBALANCE,
        GroupEvent.ASSIGNED: STABLE,
        GroupEvent.REMOVED: DEAD,
    },
    DEAD: {},
}
"""Every legal transition. Anything else is a bug."""
