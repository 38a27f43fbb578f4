"""Groups: their states, their progress, and a rebalance on demand.

The lag of a consumer group is counted as the members see it: transaction markers are nothing to
read, so a group that has read all records before them is at the end. The lag of a share group is
that of its coordinator: the records that are not finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from client.core.coordinators import at_coordinator, coordinator
from client.core.groups import DEAD, SHARE, GroupDescription, committed, described, offsets_in
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
from testbed.operations.port import POLL_S, OperationWorld, check
from testbed.operations.records import visible_after
from testbed.operations.share_groups import delivered, finished_before, start_offsets
from testbed.operations.share_groups import remove_members as remove_share_members
from testbed.operations.topics import Leaders, leaders_at, nodes, offsets

LIST_GROUPS_VERSION = 4
DELETE_GROUPS_VERSION = 2
JOIN_GROUP_VERSION = 5
LEAVE_GROUP_VERSION = 4
TIMEOUT_S = 10.0

_SESSION_MS = 10_000
_CONSUMERS = ("consumer", SHARE)
"""The protocol types of groups whose members read partitions."""


async def list_groups(world: OperationWorld) -> list[dict[str, str]]:
    """Return all groups of all live brokers, with name ("group") and "state", sorted by name."""
    listed = []
    for node in await nodes(world):
        answer = await world.ask(node, ListGroupsRequest(), LIST_GROUPS_VERSION)
        listed += [{"group": group.group_id, "state": group.group_state} for group in answer.groups]
    return sorted(listed, key=lambda group: group["group"])


async def describe(
    world: OperationWorld, group: str, timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """Return name, state, protocol and members of a group, each member with its assignment. The
    state of a group that does not exist is "Dead". Raises OperationError."""
    return _group_json(await _described(world, group, world.now_s() + timeout_s))


async def progress(
    world: OperationWorld, group: str, topics: Sequence[str] = (), timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """Return state and members of a group, and the committed offset, end and lag of partitions.
    "missing" names the `topics` that do not exist.

    These are the partitions that the group has committed or been assigned, and all those of
    `topics`. The lag of a partition without a committed offset counts from the start of the log.
    The committed offset of a share group is that before which all records are finished. Raises
    OperationError.
    """
    deadline_s = world.now_s() + timeout_s
    group_description = await _described(world, group, deadline_s)
    shown = _group_json(group_description)
    is_share = group_description.type == SHARE
    starts = await start_offsets(world, group, deadline_s) if is_share else {}
    offsets_of = {} if is_share else await _committed(world, group, deadline_s)
    own = [*starts, *offsets_of, *_assigned(group_description)]
    leaders = await leaders_at(world, None, list(dict.fromkeys([*topics, *(n for n, _ in own)])))
    whole = [(name, index) for name in topics for index in leaders.get(name, ())]
    existing = {p for p in [*own, *whole] if p[1] in leaders.get(p[0], {})}
    if is_share:
        offsets_of = await finished_before(world, leaders, group, starts, deadline_s)
    lags = {at: start.lag for at, start in starts.items() if start.lag is not None}
    partitions = await _partition_lags(world, leaders, sorted(existing), offsets_of, lags)
    missing = [name for name in topics if name not in leaders]
    return {**shown, "partitions": partitions, "missing": missing}


async def deliveries(
    world: OperationWorld, group: str, topics: Sequence[str], timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """Return state and members of a share group, and the deliveries of the records of `topics`, as
    `share_groups.delivered` returns them. "missing" names the `topics` that do not exist. Raises
    OperationError, also if the group is of another type."""
    deadline_s = world.now_s() + timeout_s
    group_description = await _described(world, group, deadline_s)
    leaders = await leaders_at(world, None, list(topics))
    partitions = [(name, index) for name in leaders for index in sorted(leaders[name])]
    return {
        **_group_json(group_description),
        "partitions": await delivered(world, leaders, group_description, partitions, deadline_s),
        "missing": [name for name in topics if name not in leaders],
    }


async def rebalance(
    world: OperationWorld, group: str, timeout_s: float = TIMEOUT_S
) -> dict[str, Json]:
    """Have all members join again, and return the group when it is stable.

    A temporary member joins and leaves before the others have joined, so there is one rebalance.
    Raises OperationError if the group has no members, or is not stable within `timeout_s`.
    """
    deadline_s = world.now_s() + timeout_s
    before = await _stable(world, group, deadline_s, timeout_s)
    if before.type == SHARE:
        raise OperationError("misuse", f"group {group} is a share group, which never rebalances")
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
    return _group_json(await _stable(world, group, deadline_s, timeout_s))


async def delete(
    world: OperationWorld, groups: Sequence[str], timeout_s: float = TIMEOUT_S
) -> None:
    """Delete groups and their offsets, after removing their members. Groups that do not exist are
    ignored. Raises OperationError if a group cannot be deleted in time."""
    deadline_s = world.now_s() + timeout_s
    for group in groups:
        while True:
            await _remove_members(world, group, deadline_s)
            request, attempts = DeleteGroupsRequest([group]), world.attempts(deadline_s)
            steps = at_coordinator(attempts, group, request, DELETE_GROUPS_VERSION)
            (result,) = (await world.run(steps)).results
            if result.error_code in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
                break
            if result.error_code != ErrorCode.NON_EMPTY_GROUP or attempts.is_over:
                check(result.error_code, f"group {group} was not deleted")
            await world.pause(POLL_S)


# --- state ---------------------------------------------------------------------------------------


async def _described(world: OperationWorld, group: str, deadline_s: float) -> GroupDescription:
    """Return the description of a group by its coordinator. Raises OperationError if the
    coordinator answers an error."""
    try:
        return await world.run(described(world.attempts(deadline_s), group))
    except ErrorAnswer as error:
        check(error.code, f"group {group} is not described", error.message)
        raise


async def _stable(
    world: OperationWorld, group: str, deadline_s: float, timeout_s: float
) -> GroupDescription:
    """Wait until the group is stable, and return it. Raises OperationError if it has no members, or
    after the deadline; `timeout_s` is for the text."""
    while True:
        described_group = await _described(world, group, deadline_s)
        if described_group.state == "Stable":
            return described_group
        if described_group.state in (DEAD, "Empty"):
            raise OperationError("failed", f"group {group} has no members: nothing to rebalance")
        if world.now_s() >= deadline_s:
            raise OperationError(
                "deadline",
                f"group {group} is {described_group.state} after {timeout_s:g} s, with "
                f"{len(described_group.members)} members",
            )
        await world.pause(POLL_S)


def _assigned(group: GroupDescription) -> list[Partition]:
    """Return the partitions that the members are assigned; none if the members are no consumers."""
    if group.protocol_type not in _CONSUMERS:
        return []
    return [partition for member in group.members for partition in member.partitions]


def _group_json(group: GroupDescription) -> dict[str, Json]:
    """Return a group as a dict for the test's process. Assignments are empty if the members are no
    consumers."""
    is_consumers = group.protocol_type in _CONSUMERS
    return {
        "group": group.name,
        "type": group.type,
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


# --- progress ------------------------------------------------------------------------------------


async def _committed(world: OperationWorld, group: str, deadline_s: float) -> dict[Partition, int]:
    """Return the group's committed offsets by partition. Raises OperationError if the coordinator
    answers an error."""
    answer = await world.run(committed(world.attempts(deadline_s), group))
    check(answer.error_code, f"the offsets of group {group} are not told")
    return offsets_in(answer.topics)


async def _partition_lags(
    world: OperationWorld,
    leaders: Leaders,
    partitions: Sequence[Partition],
    committed: Mapping[Partition, int],
    reported_lags: Mapping[Partition, int],
) -> list[dict[str, Json]]:
    """Return each partition's committed offset, end and lag, as `group.progress` answers.

    A lag that is not in `reported_lags` is computed: 0 if only markers of transactions are left,
    None if an offset is unknown.
    """
    ends = await offsets(world, leaders, partitions, LATEST)
    stable = await offsets(world, leaders, partitions, LATEST, READ_COMMITTED)
    never = [place for place in partitions if place not in committed]
    starts = await offsets(world, leaders, never, EARLIEST)
    lags = []
    for partition in partitions:
        name, index = partition
        end = ends.get(partition)
        offset = committed.get(partition)
        start = starts.get(partition) if offset is None else offset
        lag = None if end is None or start is None else max(end - start, 0)
        is_open = stable.get(partition) != end
        if partition in reported_lags:
            lag = reported_lags[partition]
        elif lag and start is not None and not is_open:
            lag = lag if await visible_after(world, leaders, name, index, start) else 0
        lags.append(
            {
                "topic": name,
                "partition": index,
                "committed": offset,
                "end": end,
                "lag": lag,
                "open_transaction": is_open,
            }
        )
    return lags


# --- members -------------------------------------------------------------------------------------


async def _come_and_leave(
    world: OperationWorld, node: int, join: JoinGroupRequest, deadline_s: float
) -> None:
    """Join the group as a member, which makes the other members join again, and leave as soon as
    the group has the new member. Raises OperationError after the deadline."""

    async def leave() -> None:
        """Wait until the group has the new member, then remove that member.

        Raises OperationError after the deadline, or if the coordinator answers an error.
        """
        while not await _has_member(world, join, deadline_s):
            if world.now_s() >= deadline_s:
                raise OperationError("deadline", f"group {join.group_id} takes no member in time")
            await world.pause(POLL_S)
        request = LeaveGroupRequest(join.group_id, members=[MemberIdentity(join.member_id)])
        answer = await world.ask(node, request, LEAVE_GROUP_VERSION)
        check(answer.error_code, f"the member that rebalances {join.group_id} does not leave")

    # The answer to the join says that the member has joined, or that it has left already: either is
    # right.
    await asyncio.gather(world.ask(node, join, JOIN_GROUP_VERSION), leave())


async def _has_member(world: OperationWorld, join: JoinGroupRequest, deadline_s: float) -> bool:
    """Return whether the group of `join` has a member with its member id."""
    described_group = await _described(world, join.group_id, deadline_s)
    return any(member.member_id == join.member_id for member in described_group.members)


async def _remove_members(world: OperationWorld, group: str, deadline_s: float) -> None:
    """Have the coordinator remove all members of the group. Errors in its answer are not
    checked."""
    described_group = await _described(world, group, deadline_s)
    if described_group.type == SHARE:
        await remove_share_members(world, described_group)
    elif described_group.members:
        members = [
            MemberIdentity(member.member_id, member.instance_id)
            for member in described_group.members
        ]
        request = LeaveGroupRequest(group, members=members)
        await world.ask(described_group.coordinator, request, LEAVE_GROUP_VERSION)


def _no_subscription() -> bytes:
    """Return the encoded subscription, version 0, of a member that subscribes to no topic."""
    out = MessageBuffer()
    out += (0).to_bytes(2)
    ConsumerProtocolSubscription([]).write(out, 0)
    return bytes(out)
