"""The requests of a follower to its leader about its own place among the voters (KIP-853).

    an observer that joins     AddRaftVoter; first RemoveRaftVoter if a voter has its node id with
                               another directory, because its disk was replaced
    a voter, dynamic quorum    UpdateRaftVoter if its endpoints or levels differ from the log's
    a voter, static quorum     UpdateRaftVoter once to each leader, which needs its directory id for
                               an upgrade to kraft.version 1

Owns: when the next request is due, and whether the leader knows this voter. Never: sends.

Follows KIP-853, KIP-1186 and Kafka's `FollowerState` and `KafkaRaftClient`.
"""

from __future__ import annotations

from controller.raft import raft_messages as m
from controller.raft.quorum_voters import QuorumVoters
from controller.voter_set import ReplicaKey, Voter
from protocol.errors import ErrorCode


class VoterUpdates:
    """The requests of a follower about itself."""

    def __init__(
        self, key: ReplicaKey, own: Voter | None, joins: bool, voters: QuorumVoters
    ) -> None:
        """`own` describes this node as a voter; None: it asks for nothing. `joins`: an observer
        adds itself."""
        self._key = key
        self._own = own
        self._joins = joins
        self._voters = voters
        self._is_known = False
        self._due_ms: float | None = None

    @property
    def deadline_ms(self) -> float | None:
        """When a request may be due, in monotonic milliseconds; None: never."""
        return None if self._own is None else self._due_ms

    def leader_changed(self, due_ms: float) -> None:
        """Begin with another leader, which does not know this node yet."""
        self._is_known = False
        self._due_ms = due_ms

    def needed(self, epoch: int) -> m.AddVoter | m.RemoveVoter | m.UpdateVoter | None:
        """Return the request that this node needs now, in `epoch`; None: it needs none."""
        own, latest = self._own, self._voters.latest
        if own is None:
            return None
        if self._key not in latest:
            if not (self._joins and self._voters.is_dynamic):
                return None
            other = latest.get(self._key.id)
            if other is not None:
                return m.RemoveVoter(other.key)
            return m.AddVoter(own, ack_when_committed=False)
        if self._voters.is_dynamic:
            return None if latest.get(self._key.id) == own else m.UpdateVoter(epoch, own)
        return None if self._is_known else m.UpdateVoter(epoch, own)

    def restart(self, due_ms: float) -> None:
        """Wait until `due_ms` for the next request."""
        self._due_ms = due_ms

    def answered(self, error: ErrorCode) -> None:
        """Note the leader's reply to a request. A leader that does not serve UpdateRaftVoter needs
        to know nothing."""
        if error in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
            self._is_known = True
