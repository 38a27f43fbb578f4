"""Consumer groups: how they are, how far they have come, and a rebalance on demand.

What a group still has to read is counted as its members see it: markers of transactions are
nothing to read, so a group that has read all before them is at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ottla.testing.frames import Json
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, Member
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest
from protocol.primitives import MessageBuffer
from testbed.operation_error import OperationError
from testbed.operations.port import POLL_S, World, check
from testbed.operations.records import visible_after
from testbed.operations.topics import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    Leaders,
    Partition,
    leaders_at,
    nodes,
    offsets,
)

FIND_COORDINATOR_VERSION = 3
DESCRIBE_GROUPS_VERSION = 5
CONSUMER_GROUP_DESCRIBE_VERSION = 0
LIST_GROUPS_VERSION = 4
DELETE_GROUPS_VERSION = 2
OFFSET_FETCH_VERSION = 7
JOIN_GROUP_VERSION = 5
LEAVE_GROUP_VERSION = 4
TIMEOUT_S = 10.0
GROUP = 0
TRANSACTION = 1

_SESSION_MS = 10_000
_LATER = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


async def list_groups(world: World) -> list[dict[str, str]]:
    """All groups, with their states."""
    found = []
    for node in await nodes(world):
        answer = await world.ask(node, ListGroupsRequest(), LIST_GROUPS_VERSION)
        found += [{"group": one.group_id, "state": one.group_state} for one in answer.groups]
    return sorted(found, key=lambda one: one["group"])


async def describe(world: World, group: str, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """State and members; the state of a group that is not there is "Dead"."""
    deadline_s = world.now_s() + timeout_s
    return _shown(await _described(world, group, deadline_s))


async def progress(
    world: World, group: str, topics: Sequence[str] = (), timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """State, members, and of each partition: committed offset, end and lag.

    Of the partitions that the group has committed or been assigned, and of all those of `topics`.
    What was never committed counts from the start of the log.
    """
    deadline_s = world.now_s() + timeout_s
    described = _shown(await _described(world, group, deadline_s))
    committed = await _committed(world, group, deadline_s)
    assigned = [
        (topic, index)
        for member in described["members"]
        for topic, indexes in member["assignment"].items()
        for index in indexes
    ]
    names = dict.fromkeys([*topics, *(name for name, _ in committed), *(n for n, _ in assigned)])
    leaders = await leaders_at(world, None, list(names))
    whole = [(name, index) for name in topics for index in leaders.get(name, ())]
    found = {one for one in [*committed, *assigned, *whole] if one[1] in leaders.get(one[0], {})}
    partitions = await _lags(world, leaders, sorted(found), committed)
    missing = [name for name in topics if name not in leaders]
    return {**described, "partitions": partitions, "missing": missing}


async def rebalance(world: World, group: str, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """Have all members join anew; told when the group is stable again.

    A member comes and leaves before the others have joined, so there is one rebalance.
    """
    deadline_s = world.now_s() + timeout_s
    described = await _stable(world, group, deadline_s, timeout_s)
    node = await coordinator(world, group, GROUP, deadline_s)
    join = JoinGroupRequest(
        group,
        _SESSION_MS,
        _SESSION_MS,
        protocol_type=described.protocol_type,
        protocols=[JoinGroupRequestProtocol(described.protocol_data, _no_subscription())],
    )
    named = await world.ask(node, join, JOIN_GROUP_VERSION)
    if named.error_code != ErrorCode.MEMBER_ID_REQUIRED:
        check(named.error_code, f"group {group} is not rebalanced")
    join.member_id = named.member_id
    await _come_and_leave(world, node, join, deadline_s)
    return _shown(await _stable(world, group, deadline_s, timeout_s))


async def delete(world: World, groups: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
    """Groups and their offsets; members are put out first. Those that are not there are none."""
    deadline_s = world.now_s() + timeout_s
    for group in groups:
        await _remove_members(world, group, deadline_s)
        while True:
            node = await coordinator(world, group, GROUP, deadline_s)
            answer = await world.ask(node, DeleteGroupsRequest([group]), DELETE_GROUPS_VERSION)
            (one,) = answer.results
            if one.error_code in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
                break
            late = world.now_s() >= deadline_s
            if late or one.error_code not in (*_LATER, ErrorCode.NON_EMPTY_GROUP):
                check(one.error_code, f"group {group} was not deleted")
            await world.pause(POLL_S)
            await _remove_members(world, group, deadline_s)


# --- for other operations ------------------------------------------------------------------------


async def coordinator(world: World, key: str, kind: int, deadline_s: float) -> int:
    """The node that coordinates a group (GROUP) or a transactional id (TRANSACTION)."""
    while True:
        answer = await world.ask(None, FindCoordinatorRequest(key, kind), FIND_COORDINATOR_VERSION)
        if answer.error_code == ErrorCode.NONE:
            node: int = answer.node_id
            return node
        if answer.error_code not in _LATER or world.now_s() >= deadline_s:
            check(answer.error_code, f"nobody coordinates {key}", answer.error_message)
        await world.pause(POLL_S)


# --- how a group is ------------------------------------------------------------------------------


async def _described(world: World, group: str, deadline_s: float) -> DescribedGroup:
    while True:
        node = await coordinator(world, group, GROUP, deadline_s)
        answer = await world.ask(node, DescribeGroupsRequest([group]), DESCRIBE_GROUPS_VERSION)
        found: DescribedGroup = answer.groups[0]
        if found.error_code not in _LATER or world.now_s() >= deadline_s:
            check(found.error_code, f"group {group} is not described", found.error_message)
            if found.group_state == "Dead":
                return await _by_its_protocol(world, node, group) or found
            return found
        await world.pause(POLL_S)


async def _by_its_protocol(world: World, node: int, group: str) -> DescribedGroup | None:
    """A group of the newer protocol (KIP-848), which is described by that alone; None where there
    is none."""
    listed = await world.ask(node, ListGroupsRequest(), LIST_GROUPS_VERSION)
    if not any(one.group_id == group and one.group_state != "Dead" for one in listed.groups):
        return None
    request = ConsumerGroupDescribeRequest([group])
    (found,) = (await world.ask(node, request, CONSUMER_GROUP_DESCRIBE_VERSION)).groups
    if found.error_code != ErrorCode.NONE:
        return None
    members = [
        DescribedGroupMember(
            one.member_id, one.instance_id, one.client_id, one.client_host, b"", _assignment(one)
        )
        for one in found.members
    ]
    return DescribedGroup(
        group_id=group,
        group_state=found.group_state,
        protocol_type="consumer",
        protocol_data=found.assignor_name,
        members=members,
    )


def _assignment(member: Member) -> bytes:
    """What it has, as members of the older protocol are told."""
    partitions = [
        ConsumerProtocolAssignmentTopicPartition(one.topic_name, one.partitions)
        for one in member.assignment.topic_partitions
    ]
    return _versioned(ConsumerProtocolAssignment(partitions))


async def _stable(world: World, group: str, deadline_s: float, timeout_s: float) -> DescribedGroup:
    """The group with members, as soon as it is stable."""
    while True:
        found = await _described(world, group, deadline_s)
        if found.group_state == "Stable":
            return found
        if found.group_state in ("Dead", "Empty"):
            raise OperationError("failed", f"group {group} has no members: nothing to rebalance")
        if world.now_s() >= deadline_s:
            raise OperationError(
                "deadline",
                f"group {group} is {found.group_state} after {timeout_s:g} s, with "
                f"{len(found.members)} members",
            )
        await world.pause(POLL_S)


def _shown(found: DescribedGroup) -> dict[str, Json]:
    return {
        "group": found.group_id,
        "state": found.group_state,
        "protocol": found.protocol_data,
        "members": [
            {
                "member": member.member_id,
                "instance": member.group_instance_id,
                "client_id": member.client_id,
                "host": member.client_host,
                "assignment": _assigned(found.protocol_type, member.member_assignment),
            }
            for member in found.members
        ],
    }


def _assigned(protocol_type: str, data: bytes) -> dict[str, list[int]]:
    """What a consumer was assigned; nothing where it is not a consumer's, or cannot be read."""
    if protocol_type != "consumer" or len(data) < 2:
        return {}
    version = int.from_bytes(data[:2])
    try:
        found = decode(ConsumerProtocolAssignment, memoryview(data), 2, min(version, 3))
    except ProtocolError:
        return {}
    return {one.topic: list(one.partitions) for one in found.assigned_partitions}


# --- how far it is -------------------------------------------------------------------------------


async def _committed(world: World, group: str, deadline_s: float) -> dict[Partition, int]:
    while True:
        node = await coordinator(world, group, GROUP, deadline_s)
        answer = await world.ask(node, OffsetFetchRequest(group, None), OFFSET_FETCH_VERSION)
        if answer.error_code not in _LATER or world.now_s() >= deadline_s:
            check(answer.error_code, f"the offsets of group {group} are not told")
            return {
                (topic.name, one.partition_index): one.committed_offset
                for topic in answer.topics
                for one in topic.partitions
                if one.committed_offset >= 0
            }
        await world.pause(POLL_S)


async def _lags(
    world: World,
    leaders: Leaders,
    partitions: Sequence[Partition],
    committed: dict[Partition, int],
) -> list[dict[str, Json]]:
    ends = await offsets(world, leaders, partitions, LATEST)
    stable = await offsets(world, leaders, partitions, LATEST, READ_COMMITTED)
    never = [one for one in partitions if one not in committed]
    starts = await offsets(world, leaders, never, EARLIEST)
    found = []
    for partition in partitions:
        name, index = partition
        end = ends.get(partition)
        offset = committed.get(partition)
        start = starts.get(partition) if offset is None else offset
        lag = None if end is None or start is None else max(end - start, 0)
        is_open = stable.get(partition) != end
        if lag and start is not None and not is_open:
            lag = lag if await visible_after(world, leaders, name, index, start) else 0
        found.append(
            {
                "topic": name,
                "partition": index,
                "committed": offset,
                "end": end,
                "lag": lag,
                "open_transaction": is_open,
            }
        )
    return found


# --- members -------------------------------------------------------------------------------------


async def _come_and_leave(
    world: World, node: int, join: JoinGroupRequest, deadline_s: float
) -> None:
    """Join, which has the others join again; leave as soon as the group knows of it."""

    async def leave() -> None:
        while not await _has_member(world, join, deadline_s):
            if world.now_s() >= deadline_s:
                raise OperationError("deadline", f"group {join.group_id} takes no member in time")
            await world.pause(POLL_S)
        request = LeaveGroupRequest(join.group_id, members=[MemberIdentity(join.member_id)])
        answer = await world.ask(node, request, LEAVE_GROUP_VERSION)
        check(answer.error_code, f"the member that rebalances {join.group_id} does not leave")

    # The answer to the join says that the member has gone, or that it is in: either is right.
    await asyncio.gather(world.ask(node, join, JOIN_GROUP_VERSION), leave())


async def _has_member(world: World, join: JoinGroupRequest, deadline_s: float) -> bool:
    found = await _described(world, join.group_id, deadline_s)
    return any(member.member_id == join.member_id for member in found.members)


async def _remove_members(world: World, group: str, deadline_s: float) -> None:
    found = await _described(world, group, deadline_s)
    if not found.members:
        return
    members = [MemberIdentity(one.member_id, one.group_instance_id) for one in found.members]
    node = await coordinator(world, group, GROUP, deadline_s)
    await world.ask(node, LeaveGroupRequest(group, members=members), LEAVE_GROUP_VERSION)


def _no_subscription() -> bytes:
    """Of a member that wants nothing."""
    return _versioned(ConsumerProtocolSubscription([]))


def _versioned(message: ConsumerProtocolSubscription | ConsumerProtocolAssignment) -> bytes:
    out = MessageBuffer()
    out += (0).to_bytes(2)
    message.write(out, 0)
    return bytes(out)
