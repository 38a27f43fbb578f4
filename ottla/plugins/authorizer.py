"""Who may do what: the words for it, and the class that an authorizer of one's own extends.

Numbers are those of Kafka's `AclOperation` and `ResourceType`, as they stand in requests, records
and the bits of `IncludeAuthorizedOperations`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

CLUSTER_NAME = "kafka-cluster"
"""The only resource of type CLUSTER."""


class Operation(IntEnum):
    """What somebody wants to do."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Resource(IntEnum):
    """To what."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Asker(NamedTuple):
    """Who asks, by which request."""

    principal: str
    """`User:alice`; `User:ANONYMOUS` where nobody has authenticated."""
    host: str
    """The client's address; where a broker passes a request on, still the client's. Of IPv6 it is
    in full, as Java's `getHostAddress` has it: `0:0:0:0:0:0:0:1`, a link-local one with the number
    of its interface, `fe80:0:0:0:0:0:0:1%2` (without, where the request was passed on). An IPv4
    address is one on a listener of both families, too. `ipaddress.ip_address` reads it."""
    listener: str
    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    client_id: str | None
    """As the client calls itself: nothing to rely on."""
    api_key: int
    api_version: int


class Action(NamedTuple):
    """One operation on one resource."""

    operation: Operation
    resource: Resource
    name: str


class Authorizer(ABC):
    """Judges each action of each request that is not prepared (`authorizer.class.name`).

    It is asked on the event loop: whatever it does, all clients wait for. One that raises denies.
    Brokers and controllers of the cluster ask, too: they need CLUSTER_ACTION on the cluster.
    """

    remembered = False
    """Whether its word about a request holds for all like it until it says `changed()`. Only then
    are requests prepared, and the next ones like them answered without asking it."""

    def configure(  # noqa: B027  not all need it
        self, settings: Mapping[str, str], changed: Callable[[], None], standard: Authorizer
    ) -> None:
        """Called once, before the first question. `settings` are those of the node, as they stand
        in its file. Call `changed()`, from any thread, whenever another answer would be given than
        before. `standard` judges by the ACLs and by `super.users`, which hold nowhere else; of its
        own changes the node hears by itself. It may be asked from `allows` and `allows_any`."""

    @abstractmethod
    def allows(self, asker: Asker, action: Action) -> bool:
        """Whether `asker` may do that."""

    def allows_any(self, asker: Asker, operation: Operation, resource: Resource) -> bool:
        """Whether `asker` may do `operation` to at least one resource of that type: asked for a
        producer that is idempotent without a transactional id, which must be allowed to WRITE to
        some topic. `IDEMPOTENT_WRITE` on the cluster is asked first."""
        return False
