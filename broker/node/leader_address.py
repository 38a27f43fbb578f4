"""The address of a partition's leader, for requests of this broker to it."""

from __future__ import annotations

from broker.replication.replica_fetcher_manager import EndpointOf
from controller.metadata.image import MetadataImage


def leader_address(
    image: MetadataImage, endpoint_of: EndpointOf, topic: str, partition: int
) -> tuple[int, str, int] | None:
    """Return the node id, the host and the port of a partition's leader, or None if the leader is
    not known or not reachable."""
    described = image.topics.get(topic)
    registration = described and described.partitions.get(partition)
    address = registration and endpoint_of(registration.leader)
    return (registration.leader, *address) if registration and address else None
