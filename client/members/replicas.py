"""The replicas of all partitions: where they are, moved to other brokers; a node's end.

    partitions = assigned_partitions(cluster)      # where replicas are, and which ones move
    reassign(cluster, {("orders", 0): (1, 2)})     # begins; the brokers copy afterwards
    unregister(cluster, 4)                         # a broker that has stopped and has no replicas
    unregister_controller(cluster, 4)              # a controller that is no voter and has stopped

Owns no connection. Never waits for the end of a move, and never decides on one. Follows KIP-455
(reassignments), KIP-631 (UnregisterBroker) and KIP-1312 (UnregisterController).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.members.quorum import NoQuorumLeader
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from protocol.messages.unregister_controller import (
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)

CHANGE_WITHIN_MS = 30_000
_NEEDS = "Alter on the cluster"
_MOVING = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)
"""The errors of a request that no active controller has decided."""
_NO_REGISTRATION = (ErrorCode.CONTROLLER_ID_NOT_REGISTERED, ErrorCode.UNSUPPORTED_VERSION)


class AssignedPartition(NamedTuple):
    """A partition with its replicas, the preferred leader first."""

    partition: Partition
    replicas: tuple[int, ...]
    """All replicas, also those that a reassignment adds or removes."""
    leaving: tuple[int, ...] = ()
    """The replicas that a reassignment under way removes."""

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment under way, if there is one."""
        return tuple(replica for replica in self.replicas if replica not in self.leaving)


def assigned_partitions(cluster: ClusterClient) -> list[AssignedPartition]:
    """Return all partitions, sorted by topic and number. Raises Refused, StartError."""
    leaving = _leaving(cluster)
    partitions = [
        AssignedPartition(
            (topic.name or "", partition.partition_index),
            tuple(partition.replica_nodes),
            leaving.get((topic.name or "", partition.partition_index), ()),
        )
        for topic in cluster.metadata(None).topics
        for partition in topic.partitions
    ]
    return sorted(partitions)


def _leaving(cluster: ClusterClient) -> dict[Partition, tuple[int, ...]]:
    """Return the replicas that reassignments remove. Raises Refused, StartError."""
    request = ListPartitionReassignmentsRequest(CHANGE_WITHIN_MS, None)
    answer = cluster.call(request, ListPartitionReassignmentsResponse)
    _raise_for("reassignments", answer.error_code, answer.error_message)
    return {
        (topic.name, partition.partition_index): tuple(partition.removing_replicas)
        for topic in answer.topics
        for partition in topic.partitions
    }


def registered_brokers(cluster: ClusterClient) -> dict[int, bool]:
    """Return for each registered broker, by id, whether it is alive: registered and not fenced.
    Raises Refused, StartError."""
    request = DescribeClusterRequest(include_fenced_brokers=True)
    answer = cluster.call(request, DescribeClusterResponse)
    _raise_for("brokers", answer.error_code, answer.error_message)
    return {broker.broker_id: not broker.is_fenced for broker in answer.brokers}


def reassign(cluster: ClusterClient, targets: Mapping[Partition, Sequence[int]]) -> None:
    """Begin to move partitions to these replicas. Raises Refused for the first partition that is
    rejected, and StartError."""
    topics: dict[str, ReassignableTopic] = {}
    for (name, index), replicas in targets.items():
        topic = topics.setdefault(name, ReassignableTopic(name, []))
        topic.partitions.append(ReassignablePartition(index, list(replicas)))
    request = AlterPartitionReassignmentsRequest(CHANGE_WITHIN_MS, topics=list(topics.values()))
    answer = cluster.call(request, AlterPartitionReassignmentsResponse)
    _raise_for("reassignment", answer.error_code, answer.error_message)
    for response in answer.responses:
        for partition in response.partitions:
            what = f"{response.name}-{partition.partition_index}"
            _raise_for(what, partition.error_code, partition.error_message)


def unregister(cluster: ClusterClient, node_id: int) -> None:
    """Remove the registration of a broker that has stopped; do nothing if it has none. Raises
    Refused, StartError."""
    answer = cluster.call(UnregisterBrokerRequest(node_id), UnregisterBrokerResponse)
    if answer.error_code != ErrorCode.BROKER_ID_NOT_REGISTERED:
        _raise_for(f"broker {node_id}", answer.error_code, answer.error_message)


def unregister_controller(cluster: ClusterClient, node_id: int) -> None:
    """Remove the registration of a controller that has stopped. Do nothing if it has none, or if
    metadata.version is older than 4.4-IV2. Raises Refused, StartError."""
    request = UnregisterControllerRequest(node_id)
    answer = cluster.call(request, UnregisterControllerResponse)
    if answer.error_code not in _NO_REGISTRATION:
        _raise_for(f"controller {node_id}", answer.error_code, answer.error_message)


def _raise_for(what: str, error_code: int, message: str | None) -> None:
    """Raise Refused, which begins with `what`, if the code is an error; NoQuorumLeader if another
    controller may answer soon."""
    if error_code in _MOVING:
        raise NoQuorumLeader(f"{what}: {why(error_code, message, _NEEDS)}")
    if error_code != ErrorCode.NONE:
        raise Refused(f"{what}: {why(error_code, message, _NEEDS)}")
