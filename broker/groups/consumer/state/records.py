"""The records of a consumer group, as Kafka writes them: types 3 to 8, and 16.

Owns the conversion between records and values; types and versions are in
`broker.groups.group_records`. Never writes to the log. Follows Kafka's
`GroupCoordinatorRecordHelpers` (KIP-848).
"""

from __future__ import annotations

from broker.coordinator.coordinator_log import Record
from broker.groups.consumer.assignors.assignor import Assignment
from broker.groups.consumer.state.member import PartitionsPosition, Subscription
from broker.groups.group_records import record, tombstone
from broker.groups.reconciliation.held import Held
from broker.groups.reconciliation.member_state import MemberState
from broker.groups.reconciliation.position import MemberPosition
from protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupCurrentMemberAssignmentValueTopicPartitions,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMemberValueTopicPartition,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


def member_record(group_id: str, member_id: str, subscription: Subscription) -> Record:
    """Return the record of a member's subscription (type 5)."""
    return record(ConsumerGroupMemberMetadataKey(group_id, member_id), subscription.value())


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    """Return the record of the group's epoch and of the metadata hash of its topics (type 3)."""
    return record(
        ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(epoch, metadata_hash)
    )


def target_record(group_id: str, member_id: str, target: Assignment) -> Record:
    """Return the record of a member's target (type 7)."""
    topics = [
        ConsumerGroupTargetAssignmentMemberValueTopicPartition(topic_id, list(partitions))
        for topic_id, partitions in target.items()
    ]
    return record(
        ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        ConsumerGroupTargetAssignmentMemberValue(topics),
    )


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> Record:
    """Return the record of the epoch of all targets, and when they were computed (type 6)."""
    return record(
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        ConsumerGroupTargetAssignmentMetadataValue(epoch, now_ms),
    )


def position_record(group_id: str, member_id: str, position: PartitionsPosition) -> Record:
    """Return the record of a member's position (type 8)."""
    return record(
        ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            position.epoch,
            position.previous_epoch,
            position.state.value,
            _topics(position.assigned),
            _topics(position.revoking),
        ),
    )


def regex_record(group_id: str, regex: str, topics: list[str], version: int, now_ms: int) -> Record:
    """Return the record of the topics that match, as of a metadata version (type 16)."""
    return record(
        ConsumerGroupRegularExpressionKey(group_id, regex),
        ConsumerGroupRegularExpressionValue(topics, version, now_ms),
    )


def regex_tombstone(group_id: str, regex: str) -> Record:
    """Return the tombstone of an expression to which no member subscribes any more."""
    return tombstone(ConsumerGroupRegularExpressionKey(group_id, regex))


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """Return the tombstones of a member that is gone, for all its records."""
    return [
        tombstone(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id)),
        tombstone(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id)),
        tombstone(ConsumerGroupMemberMetadataKey(group_id, member_id)),
    ]


def group_tombstones(group_id: str) -> list[Record]:
    """Return the tombstones of a group without members, also for type 4 of brokers before 4.1."""
    return [
        tombstone(ConsumerGroupTargetAssignmentMetadataKey(group_id)),
        tombstone(ConsumerGroupPartitionMetadataKey(group_id)),
        tombstone(ConsumerGroupMetadataKey(group_id)),
    ]


def position_of(value: ConsumerGroupCurrentMemberAssignmentValue) -> PartitionsPosition:
    """Return the position in a record of type 8."""
    return MemberPosition(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState.of(value.state),
        _held(value.assigned_partitions, value.member_epoch),
        _held(value.partitions_pending_revocation, value.member_epoch),
    )


def target_of(value: ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    """Return the target in a record of type 7."""
    return {topic.topic_id: tuple(topic.partitions) for topic in value.topic_partitions}


def _topics(
    held: Held[bytes],
) -> list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]:
    """Return the held partitions and their epochs as a record has them."""
    return [
        ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(
            topic_id, list(partitions), list(partitions.values())
        )
        for topic_id, partitions in held.items()
    ]


def _held(
    topics: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], epoch: int
) -> Held[bytes]:
    """Return the partitions of a record, with their epochs.

    Brokers before 4.3 did not write the epochs: then each is the member's epoch.
    """
    held: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or ()
        if len(epochs) != len(topic.partitions):
            epochs = [epoch] * len(topic.partitions)
        held[topic.topic_id] = dict(sorted(zip(topic.partitions, epochs, strict=True)))
    return held
