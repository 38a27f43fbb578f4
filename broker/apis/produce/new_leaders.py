"""The leader of each partition that another broker leads, named next to its error (KIP-951)."""

from __future__ import annotations

from broker.apis.current_leader import current_leader, leader_node
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from protocol.messages.produce import LeaderIdAndEpoch, NodeEndpoint, ProduceResponse

CURRENT_LEADER_FROM = 10


def name_leaders(
    replicas: ReplicaManager, version: int, listener_name: str, response: ProduceResponse
) -> None:
    """Add the leader to each answer with NOT_LEADER_OR_FOLLOWER, and each such broker's address
    once.

    Does nothing before v10, which has no fields for it.
    """
    if version < CURRENT_LEADER_FROM:
        return
    image = replicas.image
    named: dict[int, None] = {}
    for topic in response.responses:
        name: bytes | str = topic.name or topic.topic_id
        for answer in topic.partition_responses:
            if answer.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                continue
            index = answer.index
            if isinstance(name, bytes):
                partition = replicas.partition_by_id(name, index)
            else:
                partition = replicas.partition(name, index)
            leader, epoch = current_leader(partition, image, name, index)
            answer.current_leader = LeaderIdAndEpoch(leader, epoch)
            node = leader_node(image, leader, listener_name)
            if node is not None and leader not in named:
                named[leader] = None
                response.node_endpoints.append(NodeEndpoint(*node))
