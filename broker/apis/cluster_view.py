"""The metadata image as clients of one listener see it: brokers, leaders and offline replicas.

Pure: reads an image, changes nothing, and never does I/O. Metadata, DescribeTopicPartitions,
DescribeCluster and FindCoordinator answer from it, so that their answers always agree.

Follows Kafka's `KRaftMetadataCache`; KIP-103 (a listener's own addresses), KIP-858 (a replica in a
lost directory is offline).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from controller.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerRegistration,
    MetadataImage,
    PartitionRegistration,
)

NO_BROKER = -1

# The authorized operations if the request does not ask for them (KIP-430).
OPERATIONS_NOT_ASKED = -(2**31)


class ImageSource(Protocol):
    """A follower of the metadata log, which has the newest image."""

    @property
    def image(self) -> MetadataImage:
        """The newest image. An image never changes: read this again for a newer one."""


class BrokerAddress(NamedTuple):
    """A broker's address on a listener, and its state."""

    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool
    leaving: bool = False
    """Whether the broker is in a controlled shutdown."""


class ClusterView:
    """The brokers of a metadata image, with their addresses on a listener; made for a response."""

    __slots__ = ("_addresses", "_image")

    def __init__(self, image: MetadataImage, listener_name: str) -> None:
        self._image = image
        self._addresses: dict[int, BrokerAddress] = {}
        for broker in image.brokers.values():
            endpoint = broker.endpoints.get(listener_name)
            if endpoint is not None:
                self._addresses[broker.id] = BrokerAddress(
                    *(broker.id, endpoint.host, endpoint.port, broker.rack),
                    *(broker.fenced, broker.in_controlled_shutdown),
                )

    def brokers(self, *, fenced: bool = False) -> list[BrokerAddress]:
        """Return the brokers on this listener, fenced ones only if `fenced`."""
        return [broker for broker in self._addresses.values() if fenced or not broker.fenced]

    @property
    def has_leaving_broker(self) -> bool:
        """Whether a broker on this listener is in a controlled shutdown."""
        return any(broker.leaving for broker in self._addresses.values())

    def lasting_brokers(self, leaders: Iterable[int]) -> list[BrokerAddress]:
        """Return the brokers that a client should use from now on.

        A broker in a controlled shutdown is left out, unless it is one of `leaders` (the leaders of
        the partitions in the response) or no other broker is left.
        """
        live = self.brokers()
        staying = [broker for broker in live if not broker.leaving]
        if not staying or len(staying) == len(live):
            return live
        kept = set(leaders)
        return [broker for broker in live if not broker.leaving or broker.id in kept]

    def address(self, broker_id: int) -> BrokerAddress | None:
        """Return a broker's address; None if it is unknown or not on this listener."""
        return self._addresses.get(broker_id)

    def is_registered(self, broker_id: int) -> bool:
        """Return whether the cluster has this broker, on whatever listener."""
        return broker_id in self._image.brokers

    def controller_id(self, preferred: int) -> int:
        """Return the broker that clients should send admin requests to; it forwards them (KIP-590).
        NO_BROKER if no broker is live.

        Any live broker will do, and Kafka picks one at random. `preferred`, this broker, saves a
        hop.
        """
        live = self.lasting_brokers([])
        if any(broker.id == preferred for broker in live):
            return preferred
        return live[0].id if live else NO_BROKER

    def live(self, replicas: Iterable[int]) -> list[int]:
        """Return those of `replicas` that clients of this listener can reach now."""
        addresses = self._addresses
        return [
            broker_id
            for broker_id in replicas
            if broker_id in addresses and not addresses[broker_id].fenced
        ]

    def offline_replicas(self, partition: PartitionRegistration) -> list[int]:
        """Return the replicas whose broker is fenced, gone or not on this listener, or whose log
        directory is lost.
        """
        return [
            broker_id
            for broker_id in partition.replicas
            if not self._is_online(partition, broker_id)
        ]

    def _is_online(self, partition: PartitionRegistration, broker_id: int) -> bool:
        """Return whether the broker is live on this listener, and has not lost the replica's log
        directory."""
        address = self._addresses.get(broker_id)
        if address is None or address.fenced:
            return False
        return _has_online(self._image.brokers[broker_id], partition.directory_of(broker_id))


def _has_online(broker: BrokerRegistration, directory: bytes) -> bool:
    """Return whether a replica in `directory` is online: the directory is registered, or not
    assigned yet.

    A broker from before KIP-858 registers no directories; then any is online that is not marked as
    lost or migrating.
    """
    if directory == UNASSIGNED_DIRECTORY:
        return True
    if directory in (LOST_DIRECTORY, MIGRATING_DIRECTORY):
        return False
    return not broker.log_dirs or directory in broker.log_dirs
