"""Consumer groups: how they are, how far they have come, and a rebalance on demand.

What a group still has to read is counted as its members see it: markers of transactions are
nothing to read, so a group that has read all before them is at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from client.core.coordinators import at_coordinator, coordinator
from client.core.groups import DEAD, Group, committed, described, offsets_in
from client.core.leaders import Partition, by_topic
from client.core.offsets import EARLIEST, LATEST, READ_COMMITTED
from client.core.operation import ErrorAnswer
from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.primitives import MessageBuffer
from testbed.operation_error import OperationError
from testbed.operations.port import POLL_S, World, check
from testbed.operations.records import visible_after
from testbed.operations.topics import Leaders, leaders_at, nodes, offsets

LIST_GROUPS_VERSION = 4
DELETE_GROUPS_VERSION = 2
JOIN_GROUP_VERSION = 5
LEAVE_GROUP_VERSION = 4
TIMEOUT_S = 10.0

_SESSION_MS = 10_000


async def list_groups(world: World) -> list[dict[str, str]]:
    """All groups, with their states."""
    found = []
    for node in await nodes(world):
        answer = await world.ask(node, ListGroupsRequest(), LIST_GROUPS_VERSION)
        found += [{"group": one.group_id, "state": one.group_state} for one in answer.groups]
    return sorted(found, key=lambda one: one["group"])


async def describe(world: World, group: str, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """State and members; the state of a group that is not there is "Dead"."""
    return _shown(await _described(world, group, world.now_s() + timeout_s))


async def progress(
    world: World, group: str, topics: Sequence[str] = (), timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """State, members, and of each partition: committed offset, end and lag.

    Of the partitions that the group has committed or been assigned, and of all those of `topics`.
    What was never committed counts from the start of the log.
    """
    deadline_s = world.now_s() + timeout_s
    shown = _shown(await _described(world, group, deadline_s))
    offsets_of = await _committed(world, group, deadline_s)
    assigned = [
        (topic, index)
        for member in shown["members"]
        for topic, indexes in member["assignment"].items()
        for index in indexes
    ]
    names = dict.fromkeys([*topics, *(name for name, _ in offsets_of), *(n for n, _ in assigned)])
    leaders = await leaders_at(world, None, list(names))
    whole = [(name, index) for name in topics for index in leaders.get(name, ())]
    found = {one for one in [*offsets_of, *assigned, *whole] if one[1] in leaders.get(one[0], {})}
    partitions = await _lags(world, leaders, sorted(found), offsets_of)
    missing = [name for name in topics if name not in leaders]
    return {**shown, "partitions": partitions, "missing": missing}


async def rebalance(world: World, group: str, timeout_s: float = TIMEOUT_S) -> dict[str, Json]:
    """Have all members join anew; told when the group is stable again.

    A member comes and leaves before the others have joined, so there is one rebalance.
    """
    deadline_s = world.now_s() + timeout_s
    before = await _stable(world, group, deadline_s, timeout_s)
    node = await world.run(coordinator(world.attempts(deadline_s), group))
    join = JoinGroupRequest(
        group,
        _SESSION_MS,
        _SESSION_MS,
        protocol_type=before.protocol_type,
        protocols=[JoinGroupRequestProtocol(before.assignor or "", _no_subscription())],
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
        while True:
            await _remove_members(world, group, deadline_s)
            request, attempts = DeleteGroupsRequest([group]), world.attempts(deadline_s)
            steps = at_coordinator(attempts, group, request, DELETE_GROUPS_VERSION)
            (one,) = (await world.run(steps)).results
            if one.error_code in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
                break
            if one.error_code != ErrorCode.NON_EMPTY_GROUP or attempts.is_over:
                check(one.error_code, f"group {group} was not deleted")
            await world.pause(POLL_S)


# --- how a group is ------------------------------------------------------------------------------


async def _described(world: World, group: str, deadline_s: float) -> Group:
    try:
        return await world.run(described(world.attempts(deadline_s), group))
    except ErrorAnswer as error:
        check(error.code, f"group {group} is not described", error.message)
        raise


async def _stable(world: World, group: str, deadline_s: float, timeout_s: float) -> Group:
    """The group with members, as soon as it is stable."""
    while True:
        found = await _described(world, group, deadline_s)
        if found.state == "Stable":
            return found
        if found.state in (DEAD, "Empty"):
            raise OperationError("failed", f"group {group} has no members: nothing to rebalance")
        if world.now_s() >= deadline_s:
            raise OperationError(
                "deadline",
                f"group {group} is {found.state} after {timeout_s:g} s, with "
                f"{len(found.members)} members",
            )
        await world.pause(POLL_S)


def _shown(group: Group) -> dict[str, Json]:
    is_consumers = group.protocol_type == "consumer"
    return {
        "group": group.name,
        "state": group.state,
        "protocol": group.assignor or "",
        "members": [
            {
                "member": member.member_id,
                "instance": member.instance_id,
                "client_id": member.name,
                "host": member.address,
                "assignment": by_topic(member.partitions) if is_consumers else {},
            }
            for member in group.members
        ],
    }


# --- how far it is -------------------------------------------------------------------------------


async def _committed(world: World, group: str, deadline_s: float) -> dict[Partition, int]:
    answer = await world.run(committed(world.attempts(deadline_s), group))
    check(answer.error_code, f"the offsets of group {group} are not told")
    return offsets_in(answer.topics)


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
    if found.members:
        members = [MemberIdentity(one.member_id, one.instance_id) for one in found.members]
        request = LeaveGroupRequest(group, members=members)
        await world.ask(found.coordinator, request, LEAVE_GROUP_VERSION)


def _no_subscription() -> bytes:
    """Of a member that wants nothing."""
    out = MessageBuffer()
    out += (0).to_bytes(2)
    ConsumerProtocolSubscription([]).write(out, 0)
    return bytes(out)
