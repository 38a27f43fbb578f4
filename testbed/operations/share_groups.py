"""Share groups: start offsets, the deliveries of their records, and their dead letter topic.

No request reports the records that members have locked now: they count as available. Follows
KIP-932 and KIP-1191 (dead letters).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from client.core import deliveries, share_offsets
from client.core.groups import DEAD, SHARE, GroupDescription
from client.core.leaders import Partition
from client.core.offsets import LATEST
from client.core.operation import ErrorAnswer
from client.core.share_offsets import ShareOffset
from ottla.testing.frames import Json
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from testbed.operation_error import OperationError
from testbed.operations.port import OperationWorld, check
from testbed.operations.topics import Leaders, offsets

SHARE_GROUP_HEARTBEAT_VERSION = 1
_LEAVES = -1
_FINISHED = (deliveries.ACKNOWLEDGED, deliveries.ARCHIVED)


async def start_offsets(
    world: OperationWorld, group: str, deadline_s: float
) -> dict[Partition, ShareOffset]:
    """Return the start offset and the lag of each partition that the group has begun, as its
    coordinator reports them. Raises OperationError if the coordinator answers an error."""
    try:
        return await world.run(share_offsets.share_offsets(world.attempts(deadline_s), group))
    except ErrorAnswer as error:
        check(error.code, f"the start offsets of group {group} are not reported", error.message)
        raise


async def finished_before(
    world: OperationWorld,
    leaders: Leaders,
    group: str,
    starts: Mapping[Partition, ShareOffset],
    deadline_s: float,
) -> dict[Partition, int]:
    """Return, by partition, the offset before which all records are finished.

    The coordinator's start offset can be older, until the next acknowledgement. It is returned if
    the brokers do not report the deliveries.
    """
    ends = await offsets(world, leaders, [at for at in starts if _is_led(leaders, at)], LATEST)
    reported = {at: start.start for at, start in starts.items() if start.start is not None}
    steps = deliveries.delivered_ranges(world.attempts(deadline_s), group, starts, ends)
    try:
        ranges = await world.run(steps)
    except ErrorAnswer:
        return reported
    finished = {at: max(ends[at], start) for at, start in reported.items() if at in ends}
    for delivered in reversed(ranges):
        if delivered.state not in _FINISHED:
            finished[delivered.topic, delivered.partition] = delivered.first
    return reported | finished


async def delivered(
    world: OperationWorld,
    leaders: Leaders,
    group: GroupDescription,
    partitions: Sequence[Partition],
    deadline_s: float,
) -> list[dict[str, Json]]:
    """Return, for each partition, "start", "end", and "ranges" of records after the start: first
    and last offset, state, and number of ended deliveries (null: none).

    "start" is null before the first acknowledgement, "end" if the leader does not answer. Raises
    OperationError if the group is of another type, or the brokers do not report deliveries.
    """
    if group.type != SHARE and group.state != DEAD:
        raise OperationError(
            "misuse",
            f"group {group.name} is a {group.type} group, and only a share group counts deliveries",
        )
    starts = await start_offsets(world, group.name, deadline_s) if group.type == SHARE else {}
    starts = {at: start for at, start in starts.items() if at in partitions}
    ends = await offsets(world, leaders, partitions, LATEST)
    steps = deliveries.delivered_ranges(world.attempts(deadline_s), group.name, starts, ends)
    try:
        ranges = await world.run(steps)
    except ErrorAnswer as error:
        check(error.code, f"the deliveries of group {group.name} are not reported", error.message)
        raise
    return [
        {
            "topic": topic,
            "partition": index,
            "start": starts[topic, index].start if (topic, index) in starts else None,
            "end": ends.get((topic, index)),
            "ranges": [
                [entry.first, entry.last, entry.state, entry.deliveries]
                for entry in ranges
                if (entry.topic, entry.partition) == (topic, index)
            ],
        }
        for topic, index in partitions
    ]


async def remove_members(world: OperationWorld, group: GroupDescription) -> None:
    """Have the coordinator remove all members of a share group. Errors in its answers are not
    checked."""
    for member in group.members:
        request = ShareGroupHeartbeatRequest(group.name, member.member_id, _LEAVES)
        await world.ask(group.coordinator, request, SHARE_GROUP_HEARTBEAT_VERSION)


def _is_led(leaders: Leaders, at: Partition) -> bool:
    """Return whether the partition exists; its leader may be unknown."""
    return at[1] in leaders.get(at[0], {})
