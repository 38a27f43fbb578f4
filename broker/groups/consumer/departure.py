"""The end of a membership: a member leaves, an administrator removes it, or a time-out expires.

Owns the records for that: all records of the member get tombstones, and the group gets its next
epoch. The next heartbeat of a remaining member computes the new target; if none remains, the target
is empty at once. A static member that leaves only for a while keeps its place and its partitions.
Never changes a group. Follows Kafka's
`GroupMetadataManager.consumerGroupLeave` and `consumerGroupFenceMembers` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import Outcome
from broker.groups.consumer.membership import instance_fault, unknown_member
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.consumer.state.records import (
    epoch_record,
    member_tombstones,
    position_record,
    regex_tombstone,
    target_epoch_record,
)
from broker.groups.consumer.state.topics import metadata_hash
from broker.groups.reconciliation.position import LEAVE_GROUP_EPOCH, STATIC_LEAVE_EPOCH
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


class MemberRemoval(NamedTuple):
    """The records for removed members, and the callback for when they are replayed."""

    records: Sequence[Record]
    then: Callable[[ErrorCode], None] | None = None


def leave(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    remove: Callable[[ConsumerGroup, Sequence[ConsumerMember]], Steps[MemberRemoval]],
) -> Steps[Outcome[ConsumerGroupHeartbeatResponse]]:
    """Return the outcome of a heartbeat with epoch −1 or −2, by which a member leaves, or its
    error.

    With −1, `remove` gives the records. With −2, a static member leaves for a while, and keeps its
    place and its partitions.
    """
    member = find_leaver(group, request.member_id, request.instance_id)
    if isinstance(member, ApiError):
        return Outcome(
            ConsumerGroupHeartbeatResponse(error_code=member.code, error_message=member.message)
        )
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        away = position_record(group.group_id, member.member_id, member.position.away())
        removed = MemberRemoval([away])
        epoch = STATIC_LEAVE_EPOCH
    else:
        removed = yield from remove(group, [member])
        epoch = LEAVE_GROUP_EPOCH
    response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=epoch)
    return Outcome(response, removed.records, then=removed.then)


def find_leaver(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerMember | ApiError:
    """Return the member that leaves, or the error: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID. An
    instance id, if present, must match, too."""
    if instance_id is not None:
        return instance_fault(group, member_id, instance_id) or group.members[member_id]
    member = group.members.get(member_id)
    return unknown_member(group, member_id) if member is None else member


def find_member_to_remove(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerMember | ErrorCode:
    """Return the member that a LeaveGroup names, by instance id or member id, or the error."""
    if instance_id is not None and not member_id:
        member_id = group.static_members.get(instance_id, "")
    member = find_leaver(group, member_id, instance_id)
    return member.code if isinstance(member, ApiError) else member


def removal(
    group: ConsumerGroup, members: Sequence[ConsumerMember], topics: TopicsImage
) -> Steps[list[Record]]:
    """Return the records that remove `members` and start the group's next epoch; none if there are
    no members to remove.

    If no member remains, there is nothing to assign in that epoch. The time of the assignment is 0,
    so that the next member gets its partitions at once.
    """
    if not members:
        return []
    records: list[Record] = []
    leaving: dict[str, int] = {}
    pace = Pace()
    for member in members:
        if pace.is_full():
            yield None
        records += member_tombstones(group.group_id, member.member_id)
        regex = member.subscription.regex
        if regex:
            leaving[regex] = leaving.get(regex, 0) + 1
    for regex, count in leaving.items():
        if group.regex_subscribers(regex) == count:
            records.append(regex_tombstone(group.group_id, regex))
    subscribed = group.subscribed_topics([member.subscription for member in members])
    new_hash = metadata_hash(subscribed, topics)
    epoch = group.epoch + 1
    records.append(epoch_record(group.group_id, epoch, new_hash))
    if len(members) == len(group.members):
        records.append(target_epoch_record(group.group_id, epoch, 0))
    return records
