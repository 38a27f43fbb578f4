"""What a broker that comes, goes or is fenced means for the partitions it has.

Owns: which partitions are looked at, and with which rules (`controller.partition_change` makes the
record of each). Never: whether a broker is to be fenced (`controller.cluster_control`).

Follows Kafka's `ReplicationControlManager.generateLeaderAndIsrUpdates` and its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller.configuration_control import ConfigurationControl
from controller.leader_election import Election
from controller.metadata_image import (
    NO_LEADER,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
)
from controller.metadata_records import MetadataRecord
from controller.partition_change import ChangeRules, partition_change


class LeadershipChanges:
    """Decides on leaders and ISRs when brokers change; holds nothing that changes."""

    def __init__(self, configuration: ConfigurationControl) -> None:
        self._configuration = configuration

    def broker_left(
        self, image: MetadataImage, broker_id: int, unclean: bool = False
    ) -> list[MetadataRecord]:
        """Records that take `broker_id` out of every ISR and leadership.

        `unclean`: it may have lost what it had not flushed, so that nothing it has is proof.
        """

        def is_active(other: int) -> bool:
            return other != broker_id and _is_active(image, other)

        records: list[MetadataRecord] = []
        for topic, index, partition in _partitions(image):
            concerned = broker_id in partition.isr or partition.leader == broker_id
            if not concerned and not (unclean and broker_id in partition.elr):
                continue
            isr = [replica for replica in partition.isr if replica != broker_id]
            record = partition_change(
                topic.id,
                index,
                partition,
                self._rules(image, topic, is_active, (broker_id,) if unclean else ()),
                election=self._election(image, topic),
                target_isr=isr,
            )
            if record is not None:
                records.append(record)
        return records

    def broker_unfenced(self, image: MetadataImage, broker_id: int) -> list[MetadataRecord]:
        """Records for the partitions without a leader that `broker_id` can lead."""

        def is_active(other: int) -> bool:
            return other == broker_id or _is_active(image, other)

        records: list[MetadataRecord] = []
        for topic, index, partition in _partitions(image):
            if partition.leader != NO_LEADER or broker_id not in partition.replicas:
                continue
            record = partition_change(
                topic.id,
                index,
                partition,
                self._rules(image, topic, is_active),
                election=self._election(image, topic),
            )
            if record is not None:
                records.append(record)
        return records

    def _rules(
        self,
        image: MetadataImage,
        topic: TopicImage,
        is_active: Callable[[int], bool],
        unclean_shutdown: tuple[int, ...] = (),
    ) -> ChangeRules:
        if not image.elr_enabled:
            return ChangeRules(is_active)
        minimum = self._configuration.topic_config(image, topic.name, "min.insync.replicas")
        return ChangeRules(is_active, True, int(minimum or 1), unclean_shutdown)

    def _election(self, image: MetadataImage, topic: TopicImage) -> Election:
        key = "unclean.leader.election.enable"
        if self._configuration.topic_config(image, topic.name, key) == "true":
            return Election.UNCLEAN
        return Election.ONLINE


def _is_active(image: MetadataImage, broker_id: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active


def _partitions(
    image: MetadataImage,
) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
    for topic in image.topics.by_name.values():
        for index, partition in topic.partitions.items():
            yield topic, index, partition
