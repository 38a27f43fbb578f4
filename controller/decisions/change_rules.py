"""The rules under which the partitions of a topic change: who is alive, and what its configs allow.

Owns: how `min.insync.replicas`, `unclean.leader.election.enable` and the state of the brokers
become `ChangeRules`. Never: holds anything that changes.

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
    """Whether a broker is registered, not fenced and not shutting down."""
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active


class TopicRules:
    """Makes the rules of a topic; its only part are the definitions of configs."""

    def __init__(self, configuration: ConfigurationControl) -> None:
        self._configuration = configuration

    def of(
        self,
        image: MetadataImage,
        topic: TopicImage,
        active: IsActive | None = None,
        unclean_shutdown: tuple[int, ...] = (),
    ) -> ChangeRules:
        """The rules for `topic`, in which an election may be unclean where its config says so.

        `active` stands for the state of the brokers where the image does not have it yet.
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
        """Whether a broker that may lack committed records may lead where nobody else can."""
        value = self._configuration.topic_config(image, topic.name, UNCLEAN_LEADER_ELECTION)
        return boolean(trim(value or "")) is True

    def _min_insync_replicas(self, image: MetadataImage, topic: TopicImage) -> int:
        if not image.elr_enabled:
            return 1  # looked at with ELR only
        text = self._configuration.topic_config(image, topic.name, MIN_INSYNC_REPLICAS)
        return min(integer(trim(text or ""), 32) or 1, len(topic.partitions[0].replicas))
