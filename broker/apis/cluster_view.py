"""The metadata image as a client of one listener sees it: brokers, leaders, replicas out of reach.

Pure: asks an image, changes nothing, and never does I/O. Metadata, DescribeTopicPartitions,
DescribeCluster and FindCoordinator answer from it, so that they always agree.

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

# Of KIP-430.
OPERATIONS_NOT_ASKED = -(2**31)


class ImageSource(Protocol):
    """Whoever follows the metadata log."""

    @property
    def image(self) -> MetadataImage:
        """The image as of now. It never changes: ask again for a newer one."""


class BrokerAddress(NamedTuple):
    """A broker as clients of a listener reach it."""

    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool
    leaving: bool = False
    """In a controlled shutdown."""


class ClusterView:
    """One image, through one listener. Made for one answer."""

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
        """Brokers on this listener, those that are fenced only when asked for."""
        return [one for one in self._addresses.values() if fenced or not one.fenced]

    @property
    def someone_leaves(self) -> bool:
        """Whether a broker on this listener is in a controlled shutdown."""
        return any(one.leaving for one in self._addresses.values())

    def lasting_brokers(self, leaders: Iterable[int]) -> list[BrokerAddress]:
        """Brokers for a client to turn to from now on.

        One in a controlled shutdown is named only where it is among `leaders`, who lead what the
        client asked about, or where there is no other.
        """
        live = self.brokers()
        staying = [one for one in live if not one.leaving]
        if not staying or len(staying) == len(live):
            return live
        kept = set(leaders)
        return [one for one in live if not one.leaving or one.id in kept]

    def address(self, broker_id: int) -> BrokerAddress | None:
        """Where `broker_id` is reached; None if it is unknown or not on this listener."""
        return self._addresses.get(broker_id)

    def is_registered(self, broker_id: int) -> bool:
        """Whether the cluster has this broker, on whatever listener."""
        return broker_id in self._image.brokers

    def controller_id(self, preferred: int) -> int:
        """The broker to send admin requests to, which passes them on to the controller (KIP-590).

        Any live one will do; Kafka draws lots. `preferred`, the one that answers, saves a hop.
        """
        live = self.lasting_brokers([])
        if any(one.id == preferred for one in live):
            return preferred
        return live[0].id if live else NO_BROKER

    def live(self, replicas: Iterable[int]) -> list[int]:
        """Those of `replicas` that clients of this listener can reach now."""
        addresses = self._addresses
        return [one for one in replicas if one in addresses and not addresses[one].fenced]

    def offline_replicas(self, partition: PartitionRegistration) -> list[int]:
        """Replicas whose broker is fenced, gone or elsewhere, or whose directory is lost."""
        return [one for one in partition.replicas if not self._is_online(partition, one)]

    def _is_online(self, partition: PartitionRegistration, broker_id: int) -> bool:
        address = self._addresses.get(broker_id)
        if address is None or address.fenced:
            return False
        return _has_online(self._image.brokers[broker_id], partition.directory_of(broker_id))


def _has_online(broker: BrokerRegistration, directory: bytes) -> bool:
    """Whether a replica in `directory` is served; a broker before KIP-858 names no directories."""
    if directory == UNASSIGNED_DIRECTORY:
        return True
    if directory in (LOST_DIRECTORY, MIGRATING_DIRECTORY):
        return False
    return not broker.log_dirs or directory in broker.log_dirs
