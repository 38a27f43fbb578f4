"""The place of a dead letter: a partition of the group's dead-letter topic, and its leader.

Owns the conditions that a dead-letter topic must meet, which are checked at each attempt, because
configs may change. A letter goes to the partition with the number of its original partition, modulo
the number of partitions of the dead-letter topic. Never writes or creates anything. Follows
KIP-1191 and the checks of Kafka's `ShareGroupDLQStateManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker.config.values import BrokerConfig
from broker.share.dead_letters.settings import DeadLetterSettings
from controller.metadata.image import NO_LEADER, MetadataImage
from storage.log_config import LogConfig

_INTERNAL_PREFIX = "__"


class Destination(NamedTuple):
    """A partition of a dead-letter topic that can be written to."""

    topic: str
    topic_id: bytes
    partition: int
    leader_id: int
    max_bytes: int
    """The size of the largest batch that the topic accepts: its `max.message.bytes`."""


class Unusable(NamedTuple):
    """A configuration with which no dead letter is ever written; the records are archived."""

    reason: str


class MissingTopic(NamedTuple):
    """A dead-letter topic that has to be created first."""

    topic: str


class MissingLeader(NamedTuple):
    """A partition of a dead-letter topic that has no leader, or whose leader has no address."""

    topic: str
    partition: int


class Destinations:
    """The dead-letter topics of all groups, by the present metadata and configuration."""

    def __init__(
        self,
        image: Callable[[], MetadataImage],
        config: Callable[[], BrokerConfig],
        topic_config: Callable[[str], LogConfig],
        address_of: Callable[[int], tuple[str, int] | None],
    ) -> None:
        """Read `image` and `config` at each call, because they change.

        `topic_config(name)` returns the configs of a topic, with the broker's defaults.
        `address_of(node_id)` returns the host and port of a broker, None if they are unknown.
        """
        self._image = image
        self._config = config
        self._topic_config = topic_config
        self.address_of = address_of

    def of(
        self, group_id: str, settings: DeadLetterSettings, source_partition: int
    ) -> Destination | Unusable | MissingTopic | MissingLeader:
        """Return where the group's letters from a partition with this number go, or why they cannot
        be written now."""
        name, topic = settings.topic, self._image().topics.get(settings.topic)
        if not name:
            return Unusable(f"group {group_id} has no dead-letter topic any more")
        if name.startswith(_INTERNAL_PREFIX):
            return Unusable(f"topic {name} is internal, so it cannot have dead letters")
        config = self._config()
        if topic is None and not config.errors_deadletterqueue_auto_create_topics_enable:
            return Unusable(
                f"topic {name} does not exist, and "
                "errors.deadletterqueue.auto.create.topics.enable is false"
            )
        topic_config = self._topic_config(name)
        if topic is not None and not topic_config.errors_deadletterqueue_group_enable:
            return Unusable(f"errors.deadletterqueue.group.enable of topic {name} is false")
        prefix = config.errors_deadletterqueue_topic_name_prefix
        if not name.startswith(prefix):
            return Unusable(
                f"the name of topic {name} does not begin with {prefix}, as "
                "errors.deadletterqueue.topic.name.prefix requires"
            )
        if topic is None:
            return MissingTopic(name)
        index = source_partition % len(topic.partitions)
        leader_id = topic.partitions[index].leader
        if leader_id == NO_LEADER or self.address_of(leader_id) is None:
            return MissingLeader(name, index)
        return Destination(name, topic.id, index, leader_id, topic_config.max_message_bytes)
