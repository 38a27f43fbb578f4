"""Groups: how their coordinator tells of them, in both protocols, and what they have committed.

Follows KIP-848 (ConsumerGroupDescribe).
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
from protocol.messages import consumer_group_describe
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

DESCRIBE_GROUPS_VERSION = 5
CONSUMER_GROUP_DESCRIBE_VERSION = 1
OFFSET_FETCH_VERSION = 7
OFFSET_COMMIT_VERSION = 9
CLASSIC, CONSUMER = "classic", "consumer"
DEAD = "Dead"
"""The state of a group that there is not."""
_VERSION = struct.Struct(">h")
_MEMBER_TYPES = {0: CLASSIC, 1: CONSUMER}
_NOT_OF_THAT_PROTOCOL = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


class Member(NamedTuple):
    """Who reads, and what. `name` is the client id, `address` as the coordinator tells it.

    `epoch` is that of the member, `target` what it is to have: both None in a classic group, whose
    members are given all at once. `protocol` is what the member speaks, if the group tells.
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
        """Where it is: brokers have Java's slash before it."""
        return self.address.removeprefix("/")


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator tells it.

    `epoch` is that of the group, `target_epoch` that of its target assignment: both None in a
    classic group.
    """

    name: str
    state: str
    members: Sequence[Member]
    type: str = CLASSIC
    assignor: str | None = None
    coordinator: int | None = None
    epoch: int | None = None
    target_epoch: int | None = None
    protocol_type: str = "consumer"


def described(attempts: Attempts, name: str) -> Steps[Group]:
    """State and members; where there is no such group, the state is DEAD. Raises ErrorAnswer."""
    request = ConsumerGroupDescribeRequest([name])
    answer = yield from at_coordinator(
        attempts, name, request, CONSUMER_GROUP_DESCRIBE_VERSION, optional=True
    )
    if answer is not None and error_of(answer) not in _NOT_OF_THAT_PROTOCOL:
        check(error_of(answer), answer.groups[0].error_message)
        return _of_new_protocol(answer.groups[0], attempts.coordinators[GROUP, name])
    answer = yield from at_coordinator(
        attempts, name, DescribeGroupsRequest([name]), DESCRIBE_GROUPS_VERSION
    )
    check(error_of(answer), answer.groups[0].error_message)
    return _of_classic(answer.groups[0], attempts.coordinators[GROUP, name])


def committed(
    attempts: Attempts,
    group: str,
    places: Sequence[Partition] | None = None,
    *,
    stable: bool = False,
) -> Steps[OffsetFetchResponse]:
    """What a group has committed, of all partitions where `places` is None. `stable`: not while a
    transaction that commits is open. Raises NoCoordinator."""
    topics = (
        None
        if places is None
        else [OffsetFetchRequestTopic(name, indexes) for name, indexes in by_topic(places).items()]
    )
    request = OffsetFetchRequest(group, topics, require_stable=stable)
    return at_coordinator(attempts, group, request, OFFSET_FETCH_VERSION)


def offsets_in(topics: Iterable[Answer]) -> dict[Partition, int]:
    """Return the committed offset of each partition in the topics of an answer."""
    return {
        (topic.name, one.partition_index): one.committed_offset
        for topic in topics
        for one in topic.partitions
        if one.committed_offset >= 0
    }


def commit(
    attempts: Attempts,
    group: str,
    offsets: Mapping[Partition, int],
    generation: int = -1,
    member_id: str = "",
) -> Steps[OffsetCommitResponse]:
    """Let a group stand at these, by a member or by who is none. Raises NoCoordinator."""
    topics = [
        OffsetCommitRequestTopic(
            name,
            partitions=[OffsetCommitRequestPartition(one, offsets[name, one]) for one in indexes],
        )
        for name, indexes in by_topic(offsets).items()
    ]
    request = OffsetCommitRequest(group, generation, member_id, topics=topics)
    return at_coordinator(attempts, group, request, OFFSET_COMMIT_VERSION)


def _of_classic(group: DescribedGroup, coordinator: int) -> Group:
    members = [
        Member(one.client_id, one.client_host, _assigned(one), one.member_id, one.group_instance_id)
        for one in group.members
    ]
    return Group(
        group.group_id,
        group.group_state,
        sorted(members, key=_in_order),
        CLASSIC,
        group.protocol_data or None,
        coordinator,
        protocol_type=group.protocol_type,
    )


def _of_new_protocol(group: consumer_group_describe.DescribedGroup, coordinator: int) -> Group:
    members = [
        Member(
            one.client_id,
            one.client_host,
            _places(one.assignment),
            one.member_id,
            one.instance_id,
            one.member_epoch,
            _places(one.target_assignment),
            _MEMBER_TYPES.get(one.member_type),
        )
        for one in group.members
    ]
    return Group(
        group.group_id,
        group.group_state,
        sorted(members, key=_in_order),
        CONSUMER,
        group.assignor_name or None,
        coordinator,
        group.group_epoch,
        group.assignment_epoch,
    )


def _in_order(one: Member) -> tuple[str, str, str]:
    return one.name, one.host, one.member_id


def _places(assignment: Assignment) -> list[Partition]:
    return [
        (topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    ]


def _assigned(member: DescribedGroupMember) -> list[Partition]:
    """What the leader of a classic group gave a member; nothing while it has not yet, or where it
    is no consumers' group."""
    data = memoryview(member.member_assignment)
    if len(data) < _VERSION.size:
        return []
    (version,) = _VERSION.unpack_from(data)
    known = min(max(version, 0), ConsumerProtocolAssignment.MAX_VERSION)
    try:
        found = decode(ConsumerProtocolAssignment, data, _VERSION.size, known)
    except ProtocolError:
        return []
    return [
        (topic.topic, index) for topic in found.assigned_partitions for index in topic.partitions
    ]
