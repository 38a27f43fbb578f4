"""The classes that policies extend: they reject topics or configs, whichever client asks for them.

The active controller calls them in threads. A policy rejects by raising `PolicyViolation`. If it
does not answer within `ottla.plugins.timeout.ms`, the request is rejected with POLICY_VIOLATION; if
it raises another exception, with UNKNOWN_SERVER_ERROR. Set the same policy on all controllers.

They are Kafka's `CreateTopicPolicy` (KIP-108) and `AlterConfigPolicy` (KIP-133).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class PolicyViolation(Exception):
    """The policy forbids the change. The client gets the text."""


class NewTopic(NamedTuple):
    """A topic that a client wants to create, or that is created automatically for a client's
    request."""

    name: str
    num_partitions: int | None
    """None if the request names the brokers of each partition (`assignments`)."""
    replication_factor: int | None
    """None if the request names the brokers of each partition (`assignments`)."""
    assignments: Mapping[int, Sequence[int]] | None
    """The brokers of each partition, if the request names them; None otherwise."""
    configs: Mapping[str, str]
    """The configs that the request sets."""


class CreateTopicPolicy(ABC):
    """The class that `create.topic.policy.class.name` names. It sees each topic before it is
    created, also if the request only validates (`validate_only`)."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Read the node's settings: the value of each key in its file. Does nothing unless a
        subclass overrides it. The controller calls this once, before the first topic; if it raises,
        the node does not start."""

    @abstractmethod
    def validate(self, topic: NewTopic) -> None:
        """Check a topic before it is created. Raises PolicyViolation to reject it; the client gets
        the exception's text. The returned value is ignored."""


class AlteredConfigs(NamedTuple):
    """Changes of one resource's configs that a client wants to make."""

    resource_type: str
    """TOPIC, BROKER, GROUP or CLIENT_METRICS."""
    resource_name: str
    """The name of a topic, a group or a subscription, or a broker's id; empty for all brokers."""
    configs: Mapping[str, str | None]
    """The new value of each changed config; None for a config that is removed. A list is given with
    all its elements, not only those that change."""


class AlterConfigPolicy(ABC):
    """The class that `alter.config.policy.class.name` names. It sees each change of configs before
    it is made, also the configs that a new topic starts with."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Read the node's settings: the value of each key in its file. Does nothing unless a
        subclass overrides it. The controller calls this once, before the first change; if it
        raises, the node does not start."""

    @abstractmethod
    def validate(self, altered: AlteredConfigs) -> None:
        """Check a resource's changed configs before they are written. Raises PolicyViolation to
        reject the changes; the client gets the exception's text. The returned value is ignored."""
