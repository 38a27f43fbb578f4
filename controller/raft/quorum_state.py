"""The election state and the role of a node of the quorum.

The durable part is `ElectionState`: the epoch, the vote of this node in it, and its leader. The
file `quorum-state` has it, fsynced before anything that follows from it is sent. The other part
is the role:

    UNATTACHED   knows an epoch but no leader; may have voted in it
                 action: grants votes, waits   → FOLLOWER (learns of a leader), PROSPECTIVE
                 (time-out of a voter), UNATTACHED (a later epoch, a vote)
    PROSPECTIVE  asks, without raising the epoch, whether it would be elected (pre-vote, KIP-996)
                 → CANDIDATE (a majority would), UNATTACHED (a majority would not, a later epoch),
                 FOLLOWER (a leader's message; a majority would not, or time-out, and it knows a
                 leader), PROSPECTIVE (time-out, and it knows none)
    CANDIDATE    raised the epoch, voted for itself, asks for votes
                 → LEADER (a majority), PROSPECTIVE (time-out, or rejected by a majority),
                 UNATTACHED (a later epoch), FOLLOWER (learns of a leader)
    LEADER       the only one of its epoch: appends, answers fetches, commits
                 → RESIGNED (resigns, or lost a majority), UNATTACHED and FOLLOWER (later epoch)
    FOLLOWER     fetches from a leader
                 → PROSPECTIVE (no response within the fetch time-out), UNATTACHED and FOLLOWER
                 (later epoch; an observer also when the leader is gone)
    RESIGNED     led its epoch, before or after its latest start, and does not lead it any more
                 → PROSPECTIVE (time-out), UNATTACHED and FOLLOWER (later epoch)

A node that is no voter is an observer: UNATTACHED or FOLLOWER. A leader that was removed from the
voters leads on until that is committed, and may be elected until then; then it is RESIGNED until it
learns of another leader.

Owns: the table of legal transitions, and the form of the file. Never: decides on a transition.

Follows KIP-595, KIP-853, KIP-996 and Kafka's `QuorumState`, `ElectionState` and
`FileQuorumStateStore`.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import NamedTuple

from controller.voter_set import ReplicaKey
from protocol.primitives import ZERO_UUID, uuid_from_string, uuid_to_string

NO_ID = -1


class Role(Enum):
    """The roles of a node, with Kafka's names of their states."""

    UNATTACHED = "Unattached"
    PROSPECTIVE = "Prospective"
    CANDIDATE = "Candidate"
    LEADER = "Leader"
    FOLLOWER = "Follower"
    RESIGNED = "Resigned"


LEGAL: dict[Role, tuple[Role, ...]] = {
    Role.UNATTACHED: (Role.UNATTACHED, Role.FOLLOWER, Role.PROSPECTIVE),
    Role.PROSPECTIVE: (Role.PROSPECTIVE, Role.CANDIDATE, Role.UNATTACHED, Role.FOLLOWER),
    Role.CANDIDATE: (Role.LEADER, Role.PROSPECTIVE, Role.UNATTACHED, Role.FOLLOWER),
    Role.LEADER: (Role.RESIGNED, Role.UNATTACHED, Role.FOLLOWER),
    Role.FOLLOWER: (Role.PROSPECTIVE, Role.UNATTACHED, Role.FOLLOWER),
    Role.RESIGNED: (Role.PROSPECTIVE, Role.UNATTACHED, Role.FOLLOWER),
}
VOTER_ROLES = (Role.PROSPECTIVE, Role.CANDIDATE, Role.LEADER)
"""The roles that only a voter enters."""


class QuorumStateError(Exception):
    """A `quorum-state` that cannot be read. A node that forgot its vote must not take part."""


class ElectionState(NamedTuple):
    """The durable state: in an epoch a node votes once, and the leader never changes."""

    epoch: int = 0
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory_id: bytes = ZERO_UUID

    def has_voted_for(self, candidate: ReplicaKey) -> bool:
        """Return whether the vote is for `candidate`. The file of a static quorum has no directory
        id, so there the node id counts."""
        own = self.voted_directory_id
        return self.voted_id == candidate.id and own in (ZERO_UUID, candidate.directory_id)


def check_transition(before: Role, after: Role, is_voter: bool) -> None:
    """Raise AssertionError if a node may not change from role `before` to `after`."""
    if after not in LEGAL[before] or (not is_voter and after in VOTER_ROLES):
        kind = "voter" if is_voter else "observer"
        raise AssertionError(f"a {kind} cannot go from {before.value} to {after.value}")


def encode_quorum_state(
    state: ElectionState, voters: tuple[int, ...], kraft_version: int = 0
) -> bytes:
    """Return the content of `quorum-state`, as Kafka writes it: version 0 with static voters,
    version 1, without voters, if the log has them."""
    leader = NO_ID if state.leader_id is None else state.leader_id
    voted = NO_ID if state.voted_id is None else state.voted_id
    content: dict[str, object]
    if kraft_version == 0:
        content = {
            "clusterId": "",
            "leaderId": leader,
            "leaderEpoch": state.epoch,
            "votedId": voted,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in sorted(voters)],
            "data_version": 0,
        }
    else:
        content = {
            "leaderId": leader,
            "leaderEpoch": state.epoch,
            "votedId": voted,
            "votedDirectoryId": uuid_to_string(state.voted_directory_id),
            "data_version": 1,
        }
    return json.dumps(content, separators=(",", ":")).encode()


def decode_quorum_state(data: bytes) -> ElectionState:
    """Return the state in the content of `quorum-state`. Raises QuorumStateError if it is damaged
    or has an unknown version (KAFKA-15412)."""
    try:
        content = json.loads(data)
        version = content["data_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise QuorumStateError("quorum-state is damaged") from error
    if version not in (0, 1):
        raise QuorumStateError(f"quorum-state has version {version}, versions 0 and 1 are known")
    try:
        directory = content.get("votedDirectoryId")
        return ElectionState(
            epoch=int(content["leaderEpoch"]),
            leader_id=_optional(content["leaderId"]),
            voted_id=_optional(content["votedId"]),
            voted_directory_id=uuid_from_string(directory) if directory else ZERO_UUID,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise QuorumStateError("quorum-state is damaged") from error


def decode_static_voters(data: bytes) -> list[int]:
    """Return the node ids of the voters in `quorum-state` of a static quorum; an empty list for a
    dynamic quorum. Raises QuorumStateError."""
    try:
        return [int(voter["voterId"]) for voter in json.loads(data).get("currentVoters") or ()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuorumStateError("quorum-state is damaged") from error


def _optional(node_id: object) -> int | None:
    """Return a node id, or None if it is negative. Raises TypeError if it is not a number."""
    if not isinstance(node_id, int):
        raise TypeError("a node id is a number")
    return None if node_id < 0 else node_id
