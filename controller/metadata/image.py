"""The cluster's metadata at an offset of `__cluster_metadata`.

Owns: immutable views of topics, brokers, configs, SCRAM users, ACLs, delegation tokens, client
quotas, features and producer ids. An image never changes; `controller.metadata.delta` makes the
next one, which shares everything that stayed the same. So a caller may keep an image for any time.

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
    """The kinds of resources that have configs, by their numbers in requests and records."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class PartitionRegistration(NamedTuple):
    """A partition as the controller records it: replicas, leader, ISR and ELR."""

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
        """The first replica, which should lead while it can; -1 without replicas."""
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory_of(self, broker_id: int) -> bytes:
        """Return the id of the log directory of the replica on `broker_id`; UNASSIGNED_DIRECTORY
        if there is none."""
        for replica, directory in zip(self.replicas, self.directories, strict=False):
            if replica == broker_id:
                return directory
        return UNASSIGNED_DIRECTORY


class TopicImage(NamedTuple):
    """A topic; `partitions` is ordered by partition index."""

    name: str
    id: bytes
    partitions: Mapping[int, PartitionRegistration]


class TopicsImage(NamedTuple):
    """All topics, by name and by id."""

    by_name: Mapping[str, TopicImage] = _NOTHING
    by_id: Mapping[bytes, TopicImage] = _NOTHING

    def get(self, name: str) -> TopicImage | None:
        """Return the topic called `name`; None if it does not exist."""
        return self.by_name.get(name)

    def get_by_id(self, topic_id: bytes) -> TopicImage | None:
        """Return the topic with `topic_id`; None if it does not exist."""
        return self.by_id.get(topic_id)

    def partition(self, name: str, index: int) -> PartitionRegistration | None:
        """Return partition `index` of the topic called `name`; None if it does not exist."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.partitions.get(index)


class Endpoint(NamedTuple):
    """The address of a listener of a broker or controller."""

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerRegistration(NamedTuple):
    """A registered broker: fenced until it has caught up, and again while it sends no heartbeats.

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
        """Whether the broker may lead partitions and get new replicas."""
        return not self.fenced and not self.in_controlled_shutdown


class ControllerRegistration(NamedTuple):
    """A registered controller of the quorum (KIP-919)."""

    id: int
    incarnation_id: bytes
    endpoints: Mapping[str, Endpoint]
    features: Mapping[str, tuple[int, int]]
    zk_migration_ready: bool = False


class ScramImage(NamedTuple):
    """The users of SCRAM, each with a credential for at least one mechanism."""

    users: Mapping[str, Mapping[ScramMechanism, ScramCredential]] = _NOTHING

    def credential(self, mechanism: ScramMechanism, name: str) -> ScramCredential | None:
        """Return the credential of the user called `name`; None if there is none."""
        return self.users.get(name, _NOTHING).get(mechanism)


ConfigResource = tuple[int, str]
"""A `ResourceType` number and a name; the name "" is the cluster's default for brokers."""


class MetadataImage(NamedTuple):
    """All metadata at a committed offset."""

    offset: int = -1
    """The offset of the last record in the image; -1 for the empty image."""
    epoch: int = -1
    timestamp_ms: int = 0
    """The append time of that record's batch."""
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
        """The finalized level of `metadata.version`; MINIMUM_LEVEL if no record has set it."""
        return self.features.get(METADATA_VERSION, MINIMUM_LEVEL)

    @property
    def elr_enabled(self) -> bool:
        """Whether eligible leader replicas (KIP-966) are kept: their feature is finalized at level
        1 or higher."""
        return self.features.get(ELR_VERSION, 0) >= 1

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return the dynamic configs of a resource; empty if it has none."""
        return self.configs.get((resource_type, name), {})

    def topic_config(self, topic: str, key: str) -> str | None:
        """Return the value that `topic` itself sets for `key`; None if it sets none."""
        return self.config(ResourceType.TOPIC, topic).get(key)
