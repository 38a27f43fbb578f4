"""The inputs of decisions about consumer groups besides the groups: metadata, assignors, look-ups.

Owns nothing, and never changes; the code that assembles a node creates it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker.config.values import BrokerConfig
from broker.groups.consumer.assignors.assignors import Assignors
from broker.groups.consumer.expressions import TopicNameLookup
from broker.groups.consumer.settings import ConsumerGroupSettings, settings_of
from controller.metadata.image import MetadataImage, ResourceType, TopicsImage

CONSUMER = "consumer"
GROUP_VERSION = "group.version"


class ConsumerGroupInputs(NamedTuple):
    """The inputs for all consumer groups of a node. `image()` returns the newest metadata, and
    `config_in_force()` the configuration with the dynamic configs on top."""

    config: BrokerConfig
    config_in_force: Callable[[], BrokerConfig]
    image: Callable[[], MetadataImage]
    assignors: Assignors
    lookup: TopicNameLookup

    def topics(self) -> TopicsImage:
        """Return all topics of the newest metadata."""
        return self.image().topics

    def settings(self, group_id: str) -> ConsumerGroupSettings:
        """Return the settings of the group with this id: its own configs, else the broker's."""
        overrides = self.image().config(ResourceType.GROUP, group_id)
        return settings_of(self.config_in_force(), overrides)

    def serves_consumer_groups(self) -> bool:
        """Return whether the cluster has finalized `group.version`, and this node's config allows
        the consumer protocol."""
        protocols = self.config.group_coordinator_rebalance_protocols
        return CONSUMER in protocols and self.image().features.get(GROUP_VERSION, 0) >= 1
