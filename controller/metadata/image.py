"""The cluster's metadata at one offset of `__cluster_metadata`: what every broker reads.

Owns: immutable views of topics, brokers, configs, SCRAM users, ACLs, delegation tokens, client
quotas, features and producer ids. An image never changes; `controller.metadata.delta` makes the
next one and shares all that stayed the same, so that whoever holds an image may keep it as long as
it likes.

Never: decides anything, and never does I/O.

Follows KIP-631 and Kafka's `MetadataImage`, `TopicsImage`, `ClusterImage`, `ScramImage`,
`AclsImage`, `DelegationTokenImage`, `PartitionRegistration` and `BrokerRegistration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from controller.metadata.acl import AclsImage
from controller.metadata.client_quotas import ClientQuotas
from controller.metadata.delegation_token import Tokens
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from controller.metadata.version import ELR_VERSION, METADATA_VERSION, MINIMUM_LEVEL

NO_LEADER = -1
NO_LEADER_CHANGE = -2
RECOVERED = 0
RECOVERING = 1

UNASSIGNED_DIRECTORY = bytes(16)
LOST_DIRECTORY = bytes(15) + b"\x01"
MIGRATING_DIRECTORY = bytes(15) + b"\x02"


_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class ResourceType:
    """Kinds of resources that have configs, by their number in requests and records."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class PartitionRegistration(NamedTuple):
    """One partition as the controller has it: replicas, leader, and who is in sync."""

    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = RECOVERED
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @property
    def preferred_replica(self) -> int:
        """The replica that leads when all are well: the first one."""
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory_of(self, broker_id: int) -> bytes:
        """Id of the log directory that holds the replica of `broker_id`."""
        for replica, directory in zip(self.replicas, self.directories, strict=False):
            if replica == broker_id:
                return directory
        return UNASSIGNED_DIRECTORY


class TopicImage(NamedTuple):
    """One topic; `partitions` is ordered by partition index."""

    name: str
    id: bytes
    partitions: Mapping[int, PartitionRegistration]


class TopicsImage(NamedTuple):
    """All topics, by name and by id."""

    by_name: Mapping[str, TopicImage] = _NOTHING
    by_id: Mapping[bytes, TopicImage] = _NOTHING

    def get(self, name: str) -> TopicImage | None:
        """The topic called `name`."""
        return self.by_name.get(name)

    def get_by_id(self, topic_id: bytes) -> TopicImage | None:
        """The topic with `topic_id`."""
        return self.by_id.get(topic_id)

    def partition(self, name: str, index: int) -> PartitionRegistration | None:
        """Partition `index` of the topic called `name`."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.partitions.get(index)


class Endpoint(NamedTuple):
    """Where a listener of a broker or controller is reached."""

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerRegistration(NamedTuple):
    """One broker: fenced until it has caught up, and fenced again when it stops answering.

    `epoch` is the offset of its registration record: a later registration has a higher one.
    """

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: Mapping[str, Endpoint]
    features: Mapping[str, tuple[int, int]]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None = None

    @property
    def active(self) -> bool:
        """Whether it may hold leaders and be placed new replicas on."""
        return not self.fenced and not self.in_controlled_shutdown


class ControllerRegistration(NamedTuple):
    """One controller of the quorum (KIP-919)."""

    id: int
    incarnation_id: bytes
    endpoints: Mapping[str, Endpoint]
    features: Mapping[str, tuple[int, int]]
    zk_migration_ready: bool = False


class ScramImage(NamedTuple):
    """Who can log in by SCRAM: users, each with a credential for one mechanism at least."""

    users: Mapping[str, Mapping[ScramMechanism, ScramCredential]] = _NOTHING

    def credential(self, mechanism: ScramMechanism, name: str) -> ScramCredential | None:
        """Of the user called `name`."""
        return self.users.get(name, _NOTHING).get(mechanism)


ConfigResource = tuple[int, str]
"""A `ResourceType` and a name; the name "" is the cluster's default for brokers."""


class MetadataImage(NamedTuple):
    """All metadata at one committed offset."""

    offset: int = -1
    """Offset of the last record in it; -1 before the first."""
    epoch: int = -1
    timestamp_ms: int = 0
    """Append time of that record's batch."""
    topics: TopicsImage = TopicsImage()
    brokers: Mapping[int, BrokerRegistration] = _NOTHING
    controllers: Mapping[int, ControllerRegistration] = _NOTHING
    configs: Mapping[ConfigResource, Mapping[str, str]] = _NOTHING
    features: Mapping[str, int] = _NOTHING
    next_producer_id: int = 0
    scram: ScramImage = ScramImage()
    acls: AclsImage = AclsImage()
    tokens: Tokens = _NOTHING
    client_quotas: ClientQuotas = _NOTHING

    @property
    def metadata_level(self) -> int:
        """The finalized level of `metadata.version`."""
        return self.features.get(METADATA_VERSION, MINIMUM_LEVEL)

    @property
    def elr_enabled(self) -> bool:
        """Whether eligible leader replicas (KIP-966) are kept."""
        return self.features.get(ELR_VERSION, 0) >= 1

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The dynamic configs of a resource; empty where it has none."""
        return self.configs.get((resource_type, name), {})

    def topic_config(self, topic: str, key: str) -> str | None:
        """What `topic` itself sets for `key`."""
        return self.config(ResourceType.TOPIC, topic).get(key)
