"""The records of share groups in `__consumer_offsets`: types 10 to 14.

Owns only the format; type 15 is in `initialization`. Follows Kafka's
`GroupCoordinatorRecordHelpers` (KIP-932).
"""

from __future__ import annotations

from broker.coordinator.coordinator_log import Record
from broker.groups.consumer.assignors.assignor import Assignment
from broker.groups.group_records import record, tombstone
from protocol.messages.group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupCurrentMemberAssignmentValueTopicPartitions,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMemberValueTopicPartition,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

STABLE = 0
"""The number of the only state that a member of a share group has."""


def member_record(
    group_id: str,
    member_id: str,
    rack_id: str | None,
    client: tuple[str, str],
    topics: tuple[str, ...],
) -> Record:
    """Return the record of a member's subscription (type 10). `client`: its id and host."""
    return record(
        ShareGroupMemberMetadataKey(group_id, member_id),
        ShareGroupMemberMetadataValue(rack_id, *client, list(topics)),
    )


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    """Return the record of the group's epoch, and the hash of its topics' metadata (type 11)."""
    return record(ShareGroupMetadataKey(group_id), ShareGroupMetadataValue(epoch, metadata_hash))


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> Record:
    """Return the record of the epoch of all targets, and when they were computed (type 12)."""
    return record(
        ShareGroupTargetAssignmentMetadataKey(group_id),
        ShareGroupTargetAssignmentMetadataValue(epoch, now_ms),
    )


def target_record(group_id: str, member_id: str, target: Assignment) -> Record:
    """Return the record of a member's target (type 13)."""
    topics = [
        ShareGroupTargetAssignmentMemberValueTopicPartition(topic_id, list(partitions))
        for topic_id, partitions in target.items()
    ]
    return record(
        ShareGroupTargetAssignmentMemberKey(group_id, member_id),
        ShareGroupTargetAssignmentMemberValue(topics),
    )


def position_record(
    group_id: str, member_id: str, epoch: int, previous_epoch: int, assigned: Assignment
) -> Record:
    """Return the record of a member's epochs and partitions (type 14)."""
    topics = [
        ShareGroupCurrentMemberAssignmentValueTopicPartitions(topic_id, list(partitions))
        for topic_id, partitions in assigned.items()
    ]
    return record(
        ShareGroupCurrentMemberAssignmentKey(group_id, member_id),
        ShareGroupCurrentMemberAssignmentValue(epoch, previous_epoch, STABLE, topics),
    )


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """Return the tombstones of a member that is gone, for all its records."""
    return [
        tombstone(ShareGroupCurrentMemberAssignmentKey(group_id, member_id)),
        tombstone(ShareGroupTargetAssignmentMemberKey(group_id, member_id)),
        tombstone(ShareGroupMemberMetadataKey(group_id, member_id)),
    ]


def group_tombstones(group_id: str) -> list[Record]:
    """Return the tombstones of a group without members."""
    return [
        tombstone(ShareGroupTargetAssignmentMetadataKey(group_id)),
        tombstone(ShareGroupStatePartitionMetadataKey(group_id)),
        tombstone(ShareGroupMetadataKey(group_id)),
    ]


def target_of(value: ShareGroupTargetAssignmentMemberValue) -> Assignment:
    """Return the target in a record of type 13."""
    return {topic.topic_id: tuple(topic.partitions) for topic in value.topic_partitions}


def assignment_of(value: ShareGroupCurrentMemberAssignmentValue) -> Assignment:
    """Return the partitions in a record of type 14."""
    return {topic.topic_id: tuple(topic.partitions) for topic in value.assigned_partitions}
