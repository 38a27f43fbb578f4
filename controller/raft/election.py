"""The votes, or pre-votes, that a node has got in an attempt to be elected, and that it may give.

Owns: the answer of each voter. Never: asks, and never becomes anything (`controller.raft.raft`).

Follows KIP-996 and Kafka's `EpochElection` and `EpochState.canGrantVote`.
"""

from __future__ import annotations

from collections.abc import Callable

from controller.raft import raft_messages as m
from controller.raft.quorum_state import ElectionState, Role
from controller.voter_set import VoterSet

BACKOFF_MIN_MS = 50
BACKOFF_BASE_MS = 100
"""The wait after the n-th lost election in a row is up to this times 2^n."""


class Election:
    """The answers of one attempt. Those of nodes that are no voters do not count."""

    def __init__(self) -> None:
        self._answers: dict[int, bool] = {}

    def answered(self, node_id: int, is_granted: bool) -> None:
        """Note the answer of a node."""
        self._answers[node_id] = is_granted

    def has_answer_of(self, node_id: int) -> bool:
        """Return whether a node has answered."""
        return node_id in self._answers

    def granting(self, voters: VoterSet) -> tuple[int, ...]:
        """Return the voters that have granted their vote, in ascending order."""
        return tuple(voter for voter in voters.ids if self._answers.get(voter))

    def is_won(self, voters: VoterSet) -> bool:
        """Return whether a majority of the voters has granted its vote."""
        return len(self.granting(voters)) > len(voters) // 2

    def is_lost(self, voters: VoterSet) -> bool:
        """Return whether so many voters have refused that no majority is left."""
        refusing = [voter for voter in voters.ids if self._answers.get(voter) is False]
        return len(voters) - len(refusing) <= len(voters) // 2


def may_vote(role: Role, election: ElectionState, vote: m.Vote, heard_from_leader: bool) -> bool:
    """Return whether a node of this role may vote for a candidate whose log is recent enough, in
    the epoch of `election`. `heard_from_leader`: the leader of that epoch has answered lately."""
    if role is Role.FOLLOWER:
        # KIP-996: a follower grants a pre-vote only if this epoch's leader has not responded.
        return vote.pre_vote and not heard_from_leader
    if vote.pre_vote:
        return role in (Role.UNATTACHED, Role.PROSPECTIVE, Role.CANDIDATE, Role.RESIGNED)
    if role not in (Role.UNATTACHED, Role.PROSPECTIVE) or election.leader_id is not None:
        return False
    return election.voted_id is None or election.has_voted_for(vote.candidate)


def lost_wait_ms(tries: int, longest_ms: int, draw: Callable[[int], int]) -> int:
    """Return the wait in milliseconds after a lost election, the `tries`-th in a row: a random part
    of a time that doubles up to `longest_ms`, after `BACKOFF_MIN_MS`."""
    backoff_ms = min(BACKOFF_BASE_MS << min(tries, 8), longest_ms)
    return BACKOFF_MIN_MS + draw(max(backoff_ms, 1))
