"""Groups as a command sees them: their states, members, offsets and lag.

Groups of both protocols, classic and KIP-848, look the same. Owns no connection. Follows Kafka's
`ConsumerGroupCommand` 4.3, KIP-848 (ConsumerGroupDescribe), KIP-1043 (types in ListGroups).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from client.cluster import Cluster, Partition
from client.groups.committed import committed_offsets, not_moved
from client.offsets import LATEST, list_offsets
from client.refusals import Refused, why
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from protocol.messages.describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from protocol.messages.consumer_group_describe import Assignment

_VERSION = struct.Struct(">h")
CLASSIC, CONSUMER = "classic", "consumer"
_MEMBER_TYPES = {0: CLASSIC, 1: CONSUMER}


class Listed(NamedTuple):
    """A line of `ottla group list`; type and state are empty where the broker is too old."""

    group: str
    state: str
    type: str
    protocol: str


class Standing(NamedTuple):
    """Where a group stands in a partition; the member that reads it, if there is one."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    member: str | None
    host: str | None


class Member(NamedTuple):
    """Who reads, and what. `name` is the client id.

    `epoch` is that of the member, `target` what it is to have: both None in a classic group, whose
    members are given all at once. `protocol` is what the member speaks, if the group tells.
    """

    name: str
    host: str
    partitions: Sequence[Partition]
    member_id: str = ""
    instance_id: str | None = None
    epoch: int | None = None
    target: Sequence[Partition] | None = None
    protocol: str | None = None


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


def listed(cluster: Cluster) -> list[Listed]:
    """The groups of all brokers, in order: each tells of those that it keeps. Raises Refused."""
    return sorted(one for found in by_coordinator(cluster).values() for one in found)


def by_coordinator(cluster: Cluster) -> dict[int, list[Listed]]:
    """The same, by the broker that keeps them. Raises Refused."""
    cluster.metadata([])
    found = {}
    for node_id in cluster.broker_ids:
        answer = cluster.settled(
            lambda node_id=node_id: cluster.call_at(  # type: ignore[misc]
                node_id, ListGroupsRequest(), ListGroupsResponse
            ),
            lambda one: one.error_code,
        )
        if answer.error_code:
            raise Refused(why(answer.error_code, None, "Describe on the cluster"))
        found[node_id] = [
            Listed(one.group_id, one.group_state, one.group_type, one.protocol_type)
            for one in answer.groups
        ]
    return found


def described(cluster: Cluster, name: str) -> Group:
    """State and members. Raises Refused, also where there is no such group."""
    node_id = cluster.coordinator(name)
    if cluster.node(node_id).serves(ApiKey.CONSUMER_GROUP_DESCRIBE):
        found = _of_new_protocol(cluster, name, node_id)
        if found is not None:
            return found
    answer = cluster.at_coordinator(
        name,
        DescribeGroupsRequest([name]),
        DescribeGroupsResponse,
        lambda one: one.groups[0].error_code,
    )
    group = answer.groups[0]
    _check(name, group.error_code, group.error_message)
    if group.group_state == "Dead":
        raise Refused(f"no group {name} (ottla group list shows all)")
    members = [
        Member(
            one.client_id,
            one.client_host.removeprefix("/"),
            _assigned(one),
            one.member_id,
            one.group_instance_id,
        )
        for one in group.members
    ]
    assignor = group.protocol_data or None
    return Group(
        name, group.group_state, sorted(members, key=_in_order), CLASSIC, assignor, node_id
    )


def _in_order(one: Member) -> tuple[str, str, str]:
    return one.name, one.host, one.member_id


def _of_new_protocol(cluster: Cluster, name: str, node_id: int) -> Group | None:
    """None where the group is not of KIP-848."""
    from protocol.messages.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponse,
    )

    answer = cluster.at_coordinator(
        name,
        ConsumerGroupDescribeRequest([name]),
        ConsumerGroupDescribeResponse,
        lambda one: one.groups[0].error_code,
    )
    group = answer.groups[0]
    if group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    _check(name, group.error_code, group.error_message)
    members = [
        Member(
            one.client_id,
            one.client_host.removeprefix("/"),
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
        name,
        group.group_state,
        sorted(members, key=_in_order),
        CONSUMER,
        group.assignor_name or None,
        node_id,
        group.group_epoch,
        group.assignment_epoch,
    )


def _places(assignment: Assignment) -> list[Partition]:
    return [
        (topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    ]


def _assigned(member: DescribedGroupMember) -> list[Partition]:
    """What the leader of a classic group gave a member; nothing while it has not yet."""
    data = memoryview(member.member_assignment)
    if len(data) < _VERSION.size:
        return []
    (version,) = _VERSION.unpack_from(data)
    known = min(max(version, 0), ConsumerProtocolAssignment.MAX_VERSION)
    try:
        found, _ = ConsumerProtocolAssignment.read(data, _VERSION.size, known)
    except (IndexError, ProtocolError, ValueError, struct.error):
        return []  # of a group that is no consumers'
    return [
        (topic.topic, index) for topic in found.assigned_partitions for index in topic.partitions
    ]


def standings(cluster: Cluster, group: Group) -> list[Standing]:
    """Where the group stands in each partition that it has committed or reads, in order."""
    committed = committed_offsets(cluster, group.name)
    readers = {at: one for one in group.members for at in one.partitions}
    places = sorted({*committed, *readers})
    last = end_offsets(cluster, places)
    rows = []
    for at in places:
        stands, end, reader = committed.get(at), last.get(at), readers.get(at)
        lag = None if stands is None or end is None else max(end - stands, 0)
        member, host = (None, None) if reader is None else (reader.name, reader.host)
        rows.append(Standing(*at, stands, end, lag, member, host))
    return rows


def end_offsets(cluster: Cluster, places: Sequence[Partition]) -> dict[Partition, int]:
    """The end of each partition; of topics that are gone, or may not be seen, there is none."""
    names = sorted({name for name, _ in places})
    topics = {
        one.name or "": one
        for one in (cluster.metadata(names).topics if names else ())
        if not one.error_code
    }
    wanted = {at: LATEST for at in places if at[0] in topics}
    return list_offsets(cluster, topics, wanted)


def delete(cluster: Cluster, name: str) -> None:
    """Remove a group and all that it has committed. Raises Refused."""
    from protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

    answer = cluster.at_coordinator(
        name,
        DeleteGroupsRequest([name]),
        DeleteGroupsResponse,
        lambda one: one.results[0].error_code,
    )
    code = answer.results[0].error_code
    if code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        raise Refused(f"group {name}: {why(code, None, f'Delete on group {name}')}")
    if code:
        raise Refused(f"group {name}: {not_moved(code, name)}")


def check_is_idle(group: Group) -> None:
    """Raises Refused where members read now: they would commit over what is changed."""
    if group.members:
        names = ", ".join(dict.fromkeys(f"{one.name} on {one.host}" for one in group.members))
        raise Refused(f"group {group.name} has members that read now: stop them first ({names})")


def _check(name: str, code: int, message: str | None) -> None:
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise Refused(f"no group {name} (ottla group list shows all)")
    if code:
        raise Refused(f"group {name}: {why(code, message, f'Describe on group {name}')}")
