"""The changes of leaders and ISRs when a broker is unfenced, leaves or is fenced.

Owns: which partitions change, and under which rules (`controller.decisions.partition_change`
makes the record of each). Never: decides whether a broker is fenced
(`controller.decisions.cluster_control`).

Follows Kafka's `ReplicationControlManager.generateLeaderAndIsrUpdates` and its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from controller.decisions.change_rules import IsActive, TopicRulesMaker, is_active
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

IsAffected = Callable[[PartitionRegistration], bool]


class _Change(NamedTuple):
    """The partitions that one decision affects, and the change of each."""

    is_affected: IsAffected
    active: IsActive
    leaving: int = NO_LEADER
    unclean_shutdown: tuple[int, ...] = ()


class LeadershipChanges:
    """The decisions on leaders and ISRs when brokers change; they have no state."""

    def __init__(self, configuration: ConfigurationControl) -> None:
        self.rules = TopicRulesMaker(configuration)

    def broker_left(
        self, image: MetadataImage, broker_id: int, unclean: bool = False
    ) -> list[MetadataRecord]:
        """Return records that remove `broker_id` from every ISR and leadership, and elect other
        leaders. The last member of an ISR stays in it while ELR are off.

        `unclean`: the broker may have lost records that were not flushed, so it leaves ELRs too.
        """

        def is_affected(partition: PartitionRegistration) -> bool:
            """Return whether the broker leads the partition or is in its ISR; with `unclean`, also
            if it is in the ELR."""
            return (
                broker_id in partition.isr
                or partition.leader == broker_id
                or (unclean and broker_id in partition.elr)
            )

        change = _Change(
            is_affected, _without(image, broker_id), broker_id, (broker_id,) if unclean else ()
        )
        return self._leaving_records(image, change)

    def broker_unfenced(self, image: MetadataImage, broker_id: int) -> list[MetadataRecord]:
        """Return records that elect leaders for the partitions that have none and have a replica on
        `broker_id`, which counts as active."""

        def is_affected(partition: PartitionRegistration) -> bool:
            """Return whether the partition has no leader and the broker has a replica."""
            return partition.leader == NO_LEADER and broker_id in partition.replicas

        def active(other: int) -> bool:
            """Return whether a broker is active; `broker_id` counts as active."""
            return other == broker_id or is_active(image, other)

        return self._leaving_records(image, _Change(is_affected, active))

    def directories_lost(
        self, image: MetadataImage, broker_id: int, directories: Collection[bytes]
    ) -> list[MetadataRecord]:
        """Return records that remove the replicas of `broker_id` in `directories` from ISRs and
        leadership."""

        def is_affected(partition: PartitionRegistration) -> bool:
            """Return whether the broker leads the partition or is in its ISR, with its replica in
            one of `directories`."""
            return (
                broker_id in partition.isr or partition.leader == broker_id
            ) and partition.directory_of(broker_id) in directories

        return self._leaving_records(
            image, _Change(is_affected, _without(image, broker_id), broker_id)
        )

    def replica_lost(
        self,
        image: MetadataImage,
        topic: TopicImage,
        index: int,
        partition: PartitionRegistration,
        broker_id: int,
    ) -> PartitionChangeRecord | None:
        """Return the record that removes one replica of `broker_id` from ISR and leadership; None
        if nothing changes.

        `partition` may be newer than the image: it has the earlier changes of this decision.
        """
        rules = self.rules.of(image, topic, _without(image, broker_id))
        return _leaving_record(topic, index, partition, rules, broker_id)

    def _leaving_records(self, image: MetadataImage, change: _Change) -> list[MetadataRecord]:
        """Return the record of each partition that `change` affects, if the partition changes. Its
        leaving broker, if any, leaves the ISR, and a leader is elected."""
        records: list[MetadataRecord] = []
        for topic in image.topics.by_name.values():
            rules: ChangeRules | None = None
            for index, partition in topic.partitions.items():
                if not change.is_affected(partition):
                    continue
                if rules is None:
                    rules = self.rules.of(image, topic, change.active, change.unclean_shutdown)
                record = _leaving_record(topic, index, partition, rules, change.leaving)
                if record is not None:
                    records.append(record)
        return records


def _without(image: MetadataImage, broker_id: int) -> IsActive:
    """Return a function like `is_active` for which `broker_id` is not active."""
    return lambda other: other != broker_id and is_active(image, other)


def _leaving_record(
    topic: TopicImage,
    index: int,
    partition: PartitionRegistration,
    rules: ChangeRules,
    broker_id: int,
) -> PartitionChangeRecord | None:
    """Return the record that removes a broker from a partition's ISR and leadership and elects a
    leader, None if nothing changes."""
    isr = [replica for replica in partition.isr if replica != broker_id]
    return partition_change(topic.id, index, partition, rules, Targets(isr=isr))
