"""Groups as their coordinators describe them, of each type, and their committed offsets.

Follows KIP-848 (ConsumerGroupDescribe) and KIP-932 (ShareGroupDescribe).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from client.core.coordinators import GROUP, at_coordinator
from client.core.leaders import Partition, by_topic
from client.core.operation import Answer, Attempts, Steps, check, error_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode
from protocol.messages import consumer_group_describe, share_group_describe
from protocol.messages.consumer_group_describe import Assignment, ConsumerGroupDescribeRequest
from protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from protocol.messages.share_group_describe import ShareGroupDescribeRequest

DESCRIBE_GROUPS_VERSION = 5
OFFSET_FETCH_VERSION = 7
OFFSET_COMMIT_VERSION = 9
CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
DEAD = "Dead"
"""The state in which coordinators describe a group that does not exist."""
_VERSION = struct.Struct(">h")
_MEMBER_TYPES = {0: CLASSIC, 1: CONSUMER}
DescribeRequest = type[ConsumerGroupDescribeRequest] | type[ShareGroupDescribeRequest]
DESCRIBE_REQUESTS: Mapping[str, tuple[DescribeRequest, int]] = {
    CONSUMER: (ConsumerGroupDescribeRequest, 1),
    SHARE: (ShareGroupDescribeRequest, 1),
}
"""The request that describes a group with epochs, and its version, by the type of the group."""
_OTHER_PROTOCOL_ERRORS = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


class MemberDescription(NamedTuple):
    """A member of a group, and the partitions assigned to it.

    `name` is the client id. `epoch` is the member epoch, `target` the target assignment; both are
    None in a classic group, which has neither, and `target` in a share group, too. `protocol` is
    CLASSIC or CONSUMER, None if the coordinator does not report it.
    """

    name: str
    address: str
    partitions: Sequence[Partition]
    member_id: str = ""
    instance_id: str | None = None
    epoch: int | None = None
    target: Sequence[Partition] | None = None
    protocol: str | None = None

    @property
    def host(self) -> str:
        """The member's address without the slash that brokers, like Java, put before it."""
        return self.address.removeprefix("/")


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group as its coordinator describes it.

    `epoch` is the group epoch, `target_epoch` that of the target assignment; both are None in a
    classic group.
    """

    name: str
    state: str
    members: Sequence[MemberDescription]
    type: str = CLASSIC
    assignor: str | None = None
    coordinator: int | None = None
    epoch: int | None = None
    target_epoch: int | None = None
    protocol_type: str = "consumer"


def described(attempts: Attempts, name: str) -> Steps[GroupDescription]:
    """Ask a group's coordinator for the group and its members; the state is DEAD if there is no
    such group.

    Consumer groups are tried first, then classic ones, then share groups. Raises ErrorAnswer,
    NoAnswer.
    """
    group = yield from _described_as(attempts, name, CONSUMER)
    if group is not None:
        return group
    answer = yield from at_coordinator(
        attempts, name, DescribeGroupsRequest([name]), DESCRIBE_GROUPS_VERSION
    )
    check(error_of(answer), answer.groups[0].error_message)
    classic = _classic_group(answer.groups[0], attempts.coordinators[GROUP, name])
    if classic.state != DEAD:
        return classic
    return (yield from _described_as(attempts, name, SHARE)) or classic


def _described_as(attempts: Attempts, name: str, type_: str) -> Steps[GroupDescription | None]:
    """Ask a group's coordinator for a group of a type in DESCRIBE_REQUESTS; return None if there is
    no group of this type and name, or the broker does not serve the API."""
    request, version = DESCRIBE_REQUESTS[type_]
    answer = yield from at_coordinator(attempts, name, request([name]), version, optional=True)
    if answer is None or error_of(answer) in _OTHER_PROTOCOL_ERRORS:
        return None
    check(error_of(answer), answer.groups[0].error_message)
    return _group_with_epochs(answer.groups[0], type_, attempts.coordinators[GROUP, name])


def committed(
    attempts: Attempts,
    group: str,
    places: Sequence[Partition] | None = None,
    *,
    stable: bool = False,
) -> Steps[OffsetFetchResponse]:
    """Return the coordinator's response with a group's committed offsets; `places` None: of all
    partitions.

    `stable`: the coordinator rejects the request while a transaction that commits offsets is open.
    The response may have an error code. Raises NoCoordinator, NoAnswer.
    """
    topics = (
        None
        if places is None
        else [OffsetFetchRequestTopic(name, indexes) for name, indexes in by_topic(places).items()]
    )
    request = OffsetFetchRequest(group, topics, require_stable=stable)
    return at_coordinator(attempts, group, request, OFFSET_FETCH_VERSION)


def offsets_in(topics: Iterable[Answer]) -> dict[Partition, int]:
    """Return the committed offset of each partition in a response's topics, if it has one."""
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in topics
        for partition in topic.partitions
        if partition.committed_offset >= 0
    }


def commit(
    attempts: Attempts,
    group: str,
    offsets: Mapping[Partition, int],
    generation: int = -1,
    member_id: str = "",
) -> Steps[OffsetCommitResponse]:
    """Commit offsets of a group at its coordinator, and return the response, which has an error
    code for each partition.

    The defaults of `generation` and `member_id` are for a client that is no member. Raises
    NoCoordinator, NoAnswer.
    """
    topics = [
        OffsetCommitRequestTopic(
            name,
            partitions=[
                OffsetCommitRequestPartition(index, offsets[name, index]) for index in indexes
            ],
        )
        for name, indexes in by_topic(offsets).items()
    ]
    request = OffsetCommitRequest(group, generation, member_id, topics=topics)
    return at_coordinator(attempts, group, request, OFFSET_COMMIT_VERSION)


def _classic_group(group: DescribedGroup, coordinator: int) -> GroupDescription:
    """Return the group of a DescribeGroups response, with its members sorted."""
    members = [
        MemberDescription(
            member.client_id,
            member.client_host,
            _assigned(member),
            member.member_id,
            member.group_instance_id,
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        group.group_state,
        sorted(members, key=_in_order),
        CLASSIC,
        group.protocol_data or None,
        coordinator,
        protocol_type=group.protocol_type,
    )


def _group_with_epochs(
    group: consumer_group_describe.DescribedGroup | share_group_describe.DescribedGroup,
    type_: str,
    coordinator: int,
) -> GroupDescription:
    """Return the group of a ConsumerGroupDescribe (KIP-848) or ShareGroupDescribe (KIP-932)
    response, with its members sorted."""
    return GroupDescription(
        group.group_id,
        group.group_state,
        sorted(map(_member, group.members), key=_in_order),
        type_,
        group.assignor_name or None,
        coordinator,
        group.group_epoch,
        group.assignment_epoch,
        type_,
    )


def _member(
    member: consumer_group_describe.Member | share_group_describe.Member,
) -> MemberDescription:
    """Return a member of a group with epochs."""
    description = MemberDescription(
        member.client_id,
        member.client_host,
        _partitions_in(member.assignment),
        member.member_id,
        epoch=member.member_epoch,
    )
    if isinstance(member, share_group_describe.Member):
        return description
    return description._replace(
        instance_id=member.instance_id,
        target=_partitions_in(member.target_assignment),
        protocol=_MEMBER_TYPES.get(member.member_type),
    )


def _in_order(member: MemberDescription) -> tuple[str, str, str]:
    """Return the key that sorts members by client id, host and member id."""
    return member.name, member.host, member.member_id


def _partitions_in(assignment: Assignment | share_group_describe.Assignment) -> list[Partition]:
    return [
        (topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    ]


def _assigned(member: DescribedGroupMember) -> list[Partition]:
    """Return the partitions that the leader of a classic group assigned to a member.

    The list is empty before the first assignment, and in a group of another protocol type.
    """
    data = memoryview(member.member_assignment)
    if len(data) < _VERSION.size:
        return []
    (version,) = _VERSION.unpack_from(data)
    readable_version = min(max(version, 0), ConsumerProtocolAssignment.MAX_VERSION)
    try:
        assignment = decode(ConsumerProtocolAssignment, data, _VERSION.size, readable_version)
    except ProtocolError:
        return []
    return [
        (topic.topic, index)
        for topic in assignment.assigned_partitions
        for index in topic.partitions
    ]
