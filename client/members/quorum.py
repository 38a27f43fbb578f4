"""The voters of the metadata quorum: described, added and removed (KIP-853).

Any broker forwards these requests to the leader of the quorum. A change may be committed although
its request timed out, so a caller describes the quorum again before it repeats a change.

Owns no connection. Never waits or retries. Follows Kafka's `MetadataQuorumCommand`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from client.cluster import ClusterClient
from client.cluster_status import METADATA_TOPIC, VoterState, replica_state
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    ReplicaState,
)
from protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse

CHANGE_WITHIN_MS = 10_000
_NEEDS = "Alter on the cluster"


class NoQuorumLeader(Refused):
    """No controller leads the quorum: an election is under way, or no majority runs."""


class QuorumMember(NamedTuple):
    """A replica of the metadata log: a voter, or an observer."""

    directory_id: bytes
    """The id of its metadata directory; zero in a static quorum."""
    state: VoterState


class Quorum(NamedTuple):
    """The quorum as its leader reports it. The members are by node id."""

    leader_id: int
    voters: Mapping[int, QuorumMember]
    observers: Mapping[int, QuorumMember]


class VoterEndpoint(NamedTuple):
    """The address of a controller listener."""

    listener: str
    host: str
    port: int


class VoterChange(NamedTuple):
    """The leader's answer to a change of the voters; code NONE: the change is committed."""

    code: ErrorCode
    message: str | None


def quorum_of(cluster: ClusterClient) -> Quorum:
    """Return the quorum. Raises NoQuorumLeader if no leader answers, Refused if the login may not
    describe it, and StartError."""
    log = DescribeQuorumRequestTopicData(METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)])
    answer = cluster.call(DescribeQuorumRequest([log]), DescribeQuorumResponse)
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise Refused(f"quorum: {why(answer.error_code, None, 'Describe on the cluster')}")
    partition = next((partition for topic in answer.topics for partition in topic.partitions), None)
    states = [] if partition is None else partition.current_voters
    leaders = {state.replica_id: state for state in states}
    if partition is None or partition.error_code or partition.leader_id not in leaders:
        raise NoQuorumLeader("no controller leads the quorum just now: try again")
    leader = leaders[partition.leader_id]
    return Quorum(
        partition.leader_id, _members(leader, states), _members(leader, partition.observers)
    )


def _members(leader: ReplicaState, states: Sequence[ReplicaState]) -> dict[int, QuorumMember]:
    """Return the members in a response, by id."""
    return {
        state.replica_id: QuorumMember(state.replica_directory_id, replica_state(leader, state))
        for state in states
    }


def add_voter(
    cluster: ClusterClient,
    cluster_id: str,
    node_id: int,
    directory_id: bytes,
    endpoints: Sequence[VoterEndpoint],
) -> VoterChange:
    """Add a voter, which must have caught up, and return the answer, which follows the commit.
    Raises Refused if the login lacks the right, and StartError."""
    listeners = [Listener(*endpoint) for endpoint in endpoints]
    request = AddRaftVoterRequest(
        cluster_id, CHANGE_WITHIN_MS, node_id, directory_id, listeners, ack_when_committed=True
    )
    return _change(cluster.call(request, AddRaftVoterResponse))


def remove_voter(
    cluster: ClusterClient, cluster_id: str, node_id: int, directory_id: bytes
) -> VoterChange:
    """Remove a voter, and return the answer, which follows the commit. Raises Refused if the login
    lacks the right, and StartError."""
    request = RemoveRaftVoterRequest(cluster_id, node_id, directory_id)
    return _change(cluster.call(request, RemoveRaftVoterResponse))


def _change(answer: AddRaftVoterResponse | RemoveRaftVoterResponse) -> VoterChange:
    """Return what the leader answered. Raises Refused if the login lacks the right."""
    code = ErrorCode(answer.error_code)
    if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise Refused(f"quorum: {why(code, None, _NEEDS)}")
    return VoterChange(code, answer.error_message)
