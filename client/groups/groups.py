"""Groups of a cluster as commands and the console show them: states, members, offsets and lag.

Groups of all types look the same. Owns no connection. Follows Kafka's `ConsumerGroupCommand` and
`ShareGroupCommand`, KIP-848 (ConsumerGroupDescribe), KIP-932 (ShareGroupDescribe), KIP-1043 (types
in ListGroups).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core import groups
from client.core.groups import GroupDescription, MemberDescription
from client.core.leaders import Partition
from client.core.offsets import LATEST
from client.core.operation import ErrorAnswer
from client.groups.committed import group_refusal_text
from client.groups.positions import Position, positions
from client.offsets import list_offsets
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

_NO_POSITION = Position(None)


class GroupSummary(NamedTuple):
    """A line of `ottla group list`; type and state are empty where the broker is too old."""

    group: str
    state: str
    type: str
    protocol: str


class Standing(NamedTuple):
    """A group's offset and lag in a partition, and the member that reads it.

    None: no committed offset, no known end (and so no lag), or no member. `committed` is the start
    offset of a share group, whose partitions may have several members: `member` and `host` name the
    first of `members`.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    member: str | None
    host: str | None
    members: int = 0


def listed(cluster: ClusterClient, group_type: str | None = None) -> list[GroupSummary]:
    """Ask every broker for the groups that it coordinates, and return those of a type, sorted; None
    stands for all types. Raises Refused."""
    return sorted(row for rows in by_coordinator(cluster, group_type).values() for row in rows)


def by_coordinator(
    cluster: ClusterClient, group_type: str | None = None
) -> dict[int, list[GroupSummary]]:
    """Ask every broker for the groups that it coordinates, and return those of a type by broker id;
    None stands for all types. Raises Refused."""
    types = [] if group_type is None else [group_type]
    cluster.metadata([])
    rows_by_broker = {}
    for node_id in cluster.broker_ids:
        answer = cluster.settled(ListGroupsRequest(types_filter=types), ListGroupsResponse, node_id)
        if answer.error_code:
            raise Refused(why(answer.error_code, None, "Describe on the cluster"))
        rows_by_broker[node_id] = [
            GroupSummary(group.group_id, group.group_state, group.group_type, group.protocol_type)
            for group in answer.groups
            if group_type in (None, group.group_type.lower())  # before v5, brokers do not filter
        ]
    return rows_by_broker


def described(cluster: ClusterClient, name: str) -> GroupDescription:
    """Ask the coordinator for the state and members of a group, and return them. Raises Refused,
    also if there is no such group."""
    group = described_or_new(cluster, name)
    if group.state == groups.DEAD:
        raise Refused(f"no group {name} (ottla group list shows all)")
    return group


def described_or_new(cluster: ClusterClient, name: str) -> GroupDescription:
    """Return the group as `described` does, or a classic group in the state DEAD if there is no
    such group: the first commit makes it. Raises Refused for other errors."""
    try:
        return cluster.run(groups.described(cluster.attempts(), name))
    except ErrorAnswer as error:
        if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            return GroupDescription(name, groups.DEAD, [])
        reason = why(error.code, error.message, f"Describe on group {name}")
        raise Refused(f"group {name}: {reason}") from error


def standings(cluster: ClusterClient, group: GroupDescription) -> list[Standing]:
    """Ask the cluster for the group's offset and lag in each partition that it has committed or
    that is assigned to a member. Return them in the order of partitions. Raises Refused."""
    positions_by_partition = positions(cluster, group.name, group.type)
    readers: dict[Partition, list[MemberDescription]] = {}
    for member in group.members:
        for at in member.partitions:
            readers.setdefault(at, []).append(member)
    places = sorted({*positions_by_partition, *readers})
    last = end_offsets(cluster, places)
    rows = []
    for at in places:
        position, end = positions_by_partition.get(at, _NO_POSITION), last.get(at)
        own = readers.get(at, [])
        name, host = (own[0].name, own[0].host) if own else (None, None)
        lag = position.lag(end)
        if lag is None and end == 0 and group.type == groups.SHARE:
            lag = 0  # a share group has no start offset in a partition without records
        rows.append(Standing(*at, position.offset, end, lag, name, host, len(own)))
    return rows


def end_offsets(cluster: ClusterClient, places: Sequence[Partition]) -> dict[Partition, int]:
    """Ask the leaders for the end offset of each partition, and return them. Topics that are
    deleted or not visible to this login are left out. Raises Refused."""
    names = sorted({name for name, _ in places})
    topics = {
        topic.name or "": topic
        for topic in (cluster.metadata(names).topics if names else ())
        if not topic.error_code
    }
    wanted = {at: LATEST for at in places if at[0] in topics}
    return list_offsets(cluster, topics, wanted)


def delete(cluster: ClusterClient, name: str) -> None:
    """Delete a group and its committed offsets. Raises Refused, also if the group has members."""
    from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

    answer = cluster.at_coordinator(name, DeleteGroupsRequest([name]), DeleteGroupsResponse)
    code = answer.results[0].error_code
    if code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        raise Refused(f"group {name}: {why(code, None, f'Delete on group {name}')}")
    if code:
        raise Refused(f"group {name}: {group_refusal_text(code, name)}")


def check_is_idle(group: GroupDescription) -> None:
    """Check that the group has no members, which would overwrite changed offsets.

    Raises Refused with their names if it has.
    """
    if group.members:
        names = ", ".join(
            dict.fromkeys(f"{member.name} on {member.host}" for member in group.members)
        )
        raise Refused(f"group {group.name} has members that read now: stop them first ({names})")
