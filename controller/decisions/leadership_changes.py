"""What a broker that comes, goes or is fenced means for the partitions it has.

Owns: which partitions are looked at, and with which rules (`controller.decisions.partition_change`
makes the record of each). Never: whether a broker is to be fenced
(`controller.decisions.cluster_control`).

Follows Kafka's `ReplicationControlManager.generateLeaderAndIsrUpdates` and its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from controller.decisions.change_rules import IsActive, TopicRules, is_active
from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.partition_change import ChangeRules, Targets, partition_change
from controller.metadata.image import (
    NO_LEADER,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
)
from controller.metadata.records import MetadataRecord
from protocol.messages.metadata_records import PartitionChangeRecord

Concerned = Callable[[PartitionRegistration], bool]


class _Change(NamedTuple):
    """What is done to each partition that is looked at."""

    concerned: Concerned
    active: IsActive
    leaving: int = NO_LEADER
    unclean_shutdown: tuple[int, ...] = ()


class LeadershipChanges:
    """Decides on leaders and ISRs when brokers change; holds nothing that changes."""

    def __init__(self, configuration: ConfigurationControl) -> None:
        self.rules = TopicRules(configuration)

    def broker_left(
        self, image: MetadataImage, broker_id: int, unclean: bool = False
    ) -> list[MetadataRecord]:
        """Records that take `broker_id` out of every ISR and leadership.

        `unclean`: it may have lost what it had not flushed, so that nothing it has is proof.
        """

        def concerned(partition: PartitionRegistration) -> bool:
            return (
                broker_id in partition.isr
                or partition.leader == broker_id
                or (unclean and broker_id in partition.elr)
            )

        change = _Change(
            concerned, _without(image, broker_id), broker_id, (broker_id,) if unclean else ()
        )
        return self._records(image, change)

    def broker_unfenced(self, image: MetadataImage, broker_id: int) -> list[MetadataRecord]:
        """Records for the partitions without a leader that `broker_id` can lead."""

        def concerned(partition: PartitionRegistration) -> bool:
            return partition.leader == NO_LEADER and broker_id in partition.replicas

        def active(other: int) -> bool:
            return other == broker_id or is_active(image, other)

        return self._records(image, _Change(concerned, active))

    def directories_lost(
        self, image: MetadataImage, broker_id: int, directories: Collection[bytes]
    ) -> list[MetadataRecord]:
        """Records that take the replicas of `broker_id` in `directories` out of ISR and
        leadership."""

        def concerned(partition: PartitionRegistration) -> bool:
            return (
                broker_id in partition.isr or partition.leader == broker_id
            ) and partition.directory_of(broker_id) in directories

        return self._records(image, _Change(concerned, _without(image, broker_id), broker_id))

    def replica_lost(
        self,
        image: MetadataImage,
        topic: TopicImage,
        index: int,
        partition: PartitionRegistration,
        broker_id: int,
    ) -> PartitionChangeRecord | None:
        """The record that takes one replica of `broker_id` out of ISR and leadership.

        `partition` may be further than the image: it has what this decision did to it before.
        """
        rules = self.rules.of(image, topic, _without(image, broker_id))
        return _leave(topic, index, partition, rules, broker_id)

    def _records(self, image: MetadataImage, change: _Change) -> list[MetadataRecord]:
        records: list[MetadataRecord] = []
        for topic in image.topics.by_name.values():
            rules: ChangeRules | None = None
            for index, partition in topic.partitions.items():
                if not change.concerned(partition):
                    continue
                if rules is None:
                    rules = self.rules.of(image, topic, change.active, change.unclean_shutdown)
                record = _leave(topic, index, partition, rules, change.leaving)
                if record is not None:
                    records.append(record)
        return records


def _without(image: MetadataImage, broker_id: int) -> IsActive:
    return lambda other: other != broker_id and is_active(image, other)


def _leave(
    topic: TopicImage,
    index: int,
    partition: PartitionRegistration,
    rules: ChangeRules,
    broker_id: int,
) -> PartitionChangeRecord | None:
    isr = [replica for replica in partition.isr if replica != broker_id]
    return partition_change(topic.id, index, partition, rules, Targets(isr=isr))
