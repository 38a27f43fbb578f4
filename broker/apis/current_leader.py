"""Where the leader is now, told to a client that asked another broker (KIP-951).

Pure: what the local replica knows, or else the metadata image. The answer names the leader and its
epoch per partition, and each such broker's address on the client's own listener once.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.replication.partition import Partition
from controller.metadata.image import MetadataImage

NO_LEADER = -1


class LeaderNode(NamedTuple):
    """A broker as the client reaches it."""

    node_id: int
    host: str
    port: int
    rack: str | None


def current_leader(
    partition: Partition | None, image: MetadataImage, topic: bytes | str, index: int
) -> tuple[int, int]:
    """Leader and leader epoch of a partition; (-1, -1) where it is not known."""
    if partition is not None:
        return partition.leader_id, partition.leader_epoch
    topics = image.topics
    known = topics.get_by_id(topic) if isinstance(topic, bytes) else topics.get(topic)
    registration = known.partitions.get(index) if known is not None else None
    if registration is None:
        return NO_LEADER, NO_LEADER
    return registration.leader, registration.leader_epoch


def leader_node(image: MetadataImage, leader_id: int, listener_name: str) -> LeaderNode | None:
    """Where a live broker is on a listener."""
    broker = image.brokers.get(leader_id)
    endpoint = broker.endpoints.get(listener_name) if broker is not None else None
    if broker is None or endpoint is None or broker.fenced:
        return None
    return LeaderNode(leader_id, endpoint.host, endpoint.port, broker.rack)
