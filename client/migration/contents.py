"""A cluster as the check of a migration reads it: plain values without a verdict.

`client.migration.reading` fills them in, `client.migration.check` judges them. Names and numbers
are kept as the cluster sent them, also those that no release of Ottla knows. Owns no connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.cluster_status import ClusterStatus
from client.transactions.listing import Transaction
from controller.metadata.acl import Acl
from controller.metadata.client_quotas import ClientQuotas

BROKER, CONTROLLER = "broker", "controller"


class SetConfig(NamedTuple):
    """A config that some level sets; `source` is Kafka's `ConfigSource`.

    `value` is None if the cluster hides it, because it may be a secret.
    """

    name: str
    value: str | None
    source: int


class NodeContents(NamedTuple):
    """A node: the versions of its APIs by their keys, and the configs that are set for it.

    `kind` is BROKER, also for a broker that is a controller, or CONTROLLER.
    """

    node_id: int
    kind: str
    apis: Mapping[int, tuple[int, int]]
    configs: Sequence[SetConfig] = ()

    @property
    def place(self) -> str:
        """The node as findings name it, such as `broker 1`."""
        return f"{self.kind} {self.node_id}"


class GroupContents(NamedTuple):
    """A group; its type is as ListGroups names it. `assignor` is None if it is not known."""

    name: str
    type: str
    assignor: str | None = None


class ResourceName(NamedTuple):
    """A resource that has configs, with the number of its type in ListConfigResources."""

    type: int
    name: str


class UnreadPart(NamedTuple):
    """A part of the cluster that could not be read, such as `quotas`, and the reason."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterContents:
    """All that was read from a cluster at the time `now_ms`, in milliseconds since 1970."""

    now_ms: int
    status: ClusterStatus | None = None
    """The brokers, the quorum and the partitions; None if they could not be read."""
    features: Mapping[str, int] | None = None
    """The finalized levels, without features of level 0; None if no node named them."""
    nodes: Sequence[NodeContents] = ()
    all_brokers: Sequence[SetConfig] = ()
    """The dynamic configs that apply to all brokers."""
    topics: Mapping[str, Sequence[SetConfig]] = field(default_factory=dict)
    group_configs: Mapping[str, Sequence[SetConfig]] = field(default_factory=dict)
    client_metrics: Mapping[str, Sequence[SetConfig]] = field(default_factory=dict)
    other_resources: Sequence[ResourceName] = ()
    """Resources with configs, of types that this release has no requests for."""
    acls: Sequence[Acl] = ()
    quotas: ClientQuotas = field(default_factory=dict)
    scram_mechanisms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The mechanisms by which each SCRAM user can log in."""
    groups: Sequence[GroupContents] = ()
    transactions: Sequence[Transaction] = ()
    unread: Sequence[UnreadPart] = ()
