"""The rules under which a topic's partitions change: which brokers are alive, and its configs.

Owns: how `min.insync.replicas`, `unclean.leader.election.enable` and the state of the brokers
become `ChangeRules`. Never: holds state.

Follows KIP-966 and Kafka's `ReplicationControlManager.getTopicEffectiveMinIsr`.
"""

from __future__ import annotations

from collections.abc import Callable

from controller.decisions.configuration_control import MIN_INSYNC_REPLICAS, ConfigurationControl
from controller.decisions.leader_election import Election
from controller.decisions.partition_change import ChangeRules
from controller.metadata.image import MetadataImage, TopicImage
from controller.metadata.version import has_directories
from ground.java_literals import boolean, integer, trim

UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"

IsActive = Callable[[int], bool]


def is_active(image: MetadataImage, broker_id: int) -> bool:
    """Return whether a broker is registered, not fenced and not shutting down."""
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active


class TopicRulesMaker:
    """The maker of a topic's rules, from the image and the definitions of configs."""

    def __init__(self, configuration: ConfigurationControl) -> None:
        self._configuration = configuration

    def of(
        self,
        image: MetadataImage,
        topic: TopicImage,
        active: IsActive | None = None,
        unclean_shutdown: tuple[int, ...] = (),
    ) -> ChangeRules:
        """Return the rules for `topic`; its config says whether an election may be unclean.

        `active` overrides the brokers' state in the image, for a change that is not in it yet.
        """
        election = Election.UNCLEAN if self.unclean_allowed(image, topic) else Election.ONLINE
        return ChangeRules(
            active or (lambda broker_id: is_active(image, broker_id)),
            image.elr_enabled,
            self._min_insync_replicas(image, topic),
            unclean_shutdown,
            image.brokers,
            has_directories(image.metadata_level),
            election,
        )

    def unclean_allowed(self, image: MetadataImage, topic: TopicImage) -> bool:
        """Return whether the topic's effective `unclean.leader.election.enable` is true: a broker
        that may lack committed records may then lead if no other can."""
        value = self._configuration.topic_config(image, topic.name, UNCLEAN_LEADER_ELECTION)
        return boolean(trim(value or "")) is True

    def _min_insync_replicas(self, image: MetadataImage, topic: TopicImage) -> int:
        """Return the topic's effective `min.insync.replicas`, at most its replication factor; 1
        while ELR are off."""
        if not image.elr_enabled:
            return 1  # only used with ELR
        text = self._configuration.topic_config(image, topic.name, MIN_INSYNC_REPLICAS)
        return min(integer(trim(text or ""), 32) or 1, len(topic.partitions[0].replicas))
