"""The class that an authorizer extends, and the types that describe what it judges.

The numbers are those of Kafka's `AclOperation` and `ResourceType`, as they are in requests, records
and the bits of `IncludeAuthorizedOperations`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""


class Operation(IntEnum):
    """An operation that a client wants to do (Kafka's `AclOperation`)."""

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
    """The type of the resource that an operation is about (Kafka's `ResourceType`)."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Asker(NamedTuple):
    """The client that sent a request, and the request's type."""

    principal: str
    """The principal, such as `User:alice`; `User:ANONYMOUS` if the listener authenticates no
    clients."""
    host: str
    """The client's IP address, also if a broker forwarded the request to a controller.

    An IPv6 address is written in full, as Java's `getHostAddress` does: `0:0:0:0:0:0:0:1`. A
    link-local address ends with the number of its interface, `fe80:0:0:0:0:0:0:1%2`, unless the
    request was forwarded. An IPv4 client has an IPv4 address, also on a listener of both families.
    `ipaddress.ip_address` parses all of these.
    """
    listener: str
    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    client_id: str | None
    """The `client.id` that the client chose itself; do not rely on it. None if it sent none."""
    api_key: int
    api_version: int


class Action(NamedTuple):
    """An operation on a named resource, about which an authorizer decides."""

    operation: Operation
    resource: Resource
    name: str


class Authorizer(ABC):
    """The class that `authorizer.class.name` names. It judges each action of each request, except
    of requests that the broker has prepared (see `remembered`).

    It is called on the event loop, so all clients wait while it runs. If it raises, the action is
    denied. Requests of the cluster's own brokers and controllers are judged too; they need
    CLUSTER_ACTION on the cluster.
    """

    remembered = False
    """Whether an answer stays valid for equal requests until the authorizer calls `changed()`. Only
    if this is True does the broker prepare requests: it then answers further equal ones without
    calling the authorizer."""

    def configure(  # noqa: B027  not all need it
        self, settings: Mapping[str, str], changed: Callable[[], None], standard: Authorizer
    ) -> None:
        """Read the node's settings, as they are in its file. Does nothing unless a subclass
        overrides it. The broker calls this once, before the first action; if it raises, the node
        does not start.

        Call `changed()`, from any thread, whenever an earlier answer is no longer right. `standard`
        judges by the ACLs in the metadata and by `super.users`, which apply only through it: call
        it from `allows` and `allows_any` if you need its answer. The node notices changes of ACLs
        itself.
        """

    @abstractmethod
    def allows(self, asker: Asker, action: Action) -> bool:
        """Return True if `asker` may do `action`, otherwise False. Any other value is logged and
        denies the action; so does an exception."""

    def allows_any(self, asker: Asker, operation: Operation, resource: Resource) -> bool:
        """Return whether `asker` may do `operation` on at least one resource of this type. The
        default is False.

        The broker asks this for an idempotent producer without a transactional id, which must be
        allowed to WRITE to some topic. Before that it asks whether `IDEMPOTENT_WRITE` on the
        cluster is allowed.
        """
        return False
