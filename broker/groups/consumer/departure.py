"""How members go: they leave, are sent away by an administrator, fall silent, or take too long.

Owns the records of that: everything of the member is gone, and the group has its next epoch; the
next heartbeat of whoever is left computes the new target. Only a static member that leaves for a
while stays, with all that it has. Changes nothing. Follows Kafka's
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


class Removal(NamedTuple):
    """What is written for members that are gone, and what follows once it is."""

    records: Sequence[Record]
    then: Callable[[ErrorCode], None] | None = None


def leave(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    remove: Callable[[ConsumerGroup, Sequence[ConsumerMember]], Steps[Removal]],
) -> Steps[Outcome[ConsumerGroupHeartbeatResponse]]:
    """A heartbeat with epoch −1 or −2."""
    found = leaver(group, request.member_id, request.instance_id)
    if isinstance(found, ApiError):
        return Outcome(
            ConsumerGroupHeartbeatResponse(error_code=found.code, error_message=found.message)
        )
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        away = position_record(group.group_id, found.member_id, found.position.away())
        removed = Removal([away])
        epoch = STATIC_LEAVE_EPOCH
    else:
        removed = yield from remove(group, [found])
        epoch = LEAVE_GROUP_EPOCH
    response = ConsumerGroupHeartbeatResponse(member_id=found.member_id, member_epoch=epoch)
    return Outcome(response, removed.records, then=removed.then)


def leaver(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerMember | ApiError:
    """Who goes, by member id, and by instance id where that is given."""
    if instance_id is not None:
        return instance_fault(group, member_id, instance_id) or group.members[member_id]
    member = group.members.get(member_id)
    return unknown_member(group, member_id) if member is None else member


def sent_away(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerMember | ErrorCode:
    """Whom LeaveGroup names: by instance id also without a member id."""
    if instance_id is not None and not member_id:
        member_id = group.static_members.get(instance_id, "")
    found = leaver(group, member_id, instance_id)
    return found.code if isinstance(found, ApiError) else found


def removal(
    group: ConsumerGroup, members: Sequence[ConsumerMember], topics: TopicsImage
) -> Steps[list[Record]]:
    """The records by which `members` are gone; none where there is nobody to remove."""
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
    records.append(epoch_record(group.group_id, group.epoch + 1, new_hash))
    return records
