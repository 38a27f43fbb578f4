"""What is refused to everybody: the classes that a policy of one's own extends.

The active controller asks them, in threads; whoever gets no answer within
`ottla.plugins.timeout.ms` is refused with POLICY_VIOLATION. One that raises something else than
`PolicyViolation` refuses with UNKNOWN_SERVER_ERROR. Set the same on all controllers.

As Kafka's `CreateTopicPolicy` (KIP-108) and `AlterConfigPolicy` (KIP-133).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class PolicyViolation(Exception):
    """It must not be. The client is told the text."""


class NewTopic(NamedTuple):
    """A topic that somebody wants to create, or that is created because a client asked for it."""

    name: str
    num_partitions: int | None
    """None where `assignments` are given."""
    replication_factor: int | None
    """None where `assignments` are given."""
    assignments: Mapping[int, Sequence[int]] | None
    """The brokers of each partition, where the request names them; else None."""
    configs: Mapping[str, str]
    """Those that the request sets."""


class CreateTopicPolicy(ABC):
    """Looks at each topic before it is created (`create.topic.policy.class.name`), also where a
    request only wants to know whether it could be."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Called once, before the first question. `settings` are those of the node."""

    @abstractmethod
    def validate(self, topic: NewTopic) -> None:
        """Raises PolicyViolation where it must not be created."""


class AlteredConfigs(NamedTuple):
    """Configs that somebody wants to change, of one resource."""

    resource_type: str
    """TOPIC, BROKER, GROUP or CLIENT_METRICS."""
    resource_name: str
    """Of a topic, a group, a subscription, or a broker's id; empty for all brokers."""
    configs: Mapping[str, str | None]
    """Those that would change, and what to; None where a value is taken away. Lists are whole."""


class AlterConfigPolicy(ABC):
    """Looks at changes to configs before they are made (`alter.config.policy.class.name`), also at
    those that a new topic begins with."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Called once, before the first question. `settings` are those of the node."""

    @abstractmethod
    def validate(self, altered: AlteredConfigs) -> None:
        """Raises PolicyViolation where they must not be made."""
