"""The current leader of a partition, for a client that asked another broker (KIP-951).

Pure functions of the local replica or, without one, of the metadata image. A response names the
leader and its epoch per partition, and each such broker's address on the client's listener once.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.replication.partition import Partition
from controller.metadata.image import MetadataImage

NO_LEADER = -1


class LeaderNode(NamedTuple):
    """A broker's address on the client's listener."""

    node_id: int
    host: str
    port: int
    rack: str | None


def current_leader(
    partition: Partition | None, image: MetadataImage, topic: bytes | str, index: int
) -> tuple[int, int]:
    """Return the leader and leader epoch of a partition, from its local replica or, without it,
    from `image`; (-1, -1) if they are unknown."""
    if partition is not None:
        return partition.leader_id, partition.leader_epoch
    topics = image.topics
    topic_image = topics.get_by_id(topic) if isinstance(topic, bytes) else topics.get(topic)
    registration = topic_image.partitions.get(index) if topic_image is not None else None
    if registration is None:
        return NO_LEADER, NO_LEADER
    return registration.leader, registration.leader_epoch


def leader_node(image: MetadataImage, leader_id: int, listener_name: str) -> LeaderNode | None:
    """Return a live broker's address on a listener.

    None if the broker is unknown or fenced, or is not on that listener.
    """
    broker = image.brokers.get(leader_id)
    endpoint = broker.endpoints.get(listener_name) if broker is not None else None
    if broker is None or endpoint is None or broker.fenced:
        return None
    return LeaderNode(leader_id, endpoint.host, endpoint.port, broker.rack)
