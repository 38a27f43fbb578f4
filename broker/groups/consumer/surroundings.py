"""What decisions about consumer groups look at besides the groups: metadata, assignors, names.

Owns nothing; whoever puts a node together makes it.
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


class Surroundings(NamedTuple):
    """Of all consumer groups of one node. `image()` is the newest metadata."""

    config: BrokerConfig
    image: Callable[[], MetadataImage]
    assignors: Assignors
    lookup: TopicNameLookup

    def topics(self) -> TopicsImage:
        """All topics that there are."""
        return self.image().topics

    def settings(self, group_id: str) -> ConsumerGroupSettings:
        """What applies to the group with that id."""
        return settings_of(self.config, self.image().config(ResourceType.GROUP, group_id))

    def serves_consumer_groups(self) -> bool:
        """Whether the cluster has finalized them, and this node's configuration has them."""
        protocols = self.config.group_coordinator_rebalance_protocols
        return CONSUMER in protocols and self.image().features.get(GROUP_VERSION, 0) >= 1
