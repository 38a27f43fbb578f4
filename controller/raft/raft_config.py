"""The configuration of Raft: this node, the first nodes to ask for the leader, and time-outs."""

from __future__ import annotations

from typing import NamedTuple

from controller.voter_set import ReplicaKey, Voter


class RaftConfig(NamedTuple):
    """The values that never change while a node runs. Time-outs are in milliseconds."""

    key: ReplicaKey
    own: Voter | None = None
    """This node as a voter; None: it cannot be a voter, or its endpoints are not known."""
    bootstrap: tuple[int, ...] = ()
    """Ids, below -1, of the addresses in `controller.quorum.bootstrap.servers`."""
    joins: bool = False
    """Whether this node adds itself to the voters (`controller.quorum.auto.join.enable`)."""
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 2_000

    @property
    def node_id(self) -> int:
        """The id of this node."""
        return self.key.id
