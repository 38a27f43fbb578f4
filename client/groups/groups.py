"""Groups as a command sees them: their states, members, offsets and lag.

Groups of both protocols, classic and KIP-848, look the same. Owns no connection. Follows Kafka's
`ConsumerGroupCommand` 4.3, KIP-848 (ConsumerGroupDescribe), KIP-1043 (types in ListGroups).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from client.cluster import Cluster
from client.core import groups
from client.core.groups import Group
from client.core.leaders import Partition
from client.core.offsets import LATEST
from client.core.operation import ErrorAnswer
from client.groups.committed import committed_offsets, not_moved
from client.offsets import list_offsets
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


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


def listed(cluster: Cluster) -> list[Listed]:
    """The groups of all brokers, in order: each tells of those that it keeps. Raises Refused."""
    return sorted(one for found in by_coordinator(cluster).values() for one in found)


def by_coordinator(cluster: Cluster) -> dict[int, list[Listed]]:
    """The same, by the broker that keeps them. Raises Refused."""
    cluster.metadata([])
    found = {}
    for node_id in cluster.broker_ids:
        answer = cluster.settled(ListGroupsRequest(), ListGroupsResponse, node_id)
        if answer.error_code:
            raise Refused(why(answer.error_code, None, "Describe on the cluster"))
        found[node_id] = [
            Listed(one.group_id, one.group_state, one.group_type, one.protocol_type)
            for one in answer.groups
        ]
    return found


def described(cluster: Cluster, name: str) -> Group:
    """State and members. Raises Refused, also where there is no such group."""
    try:
        group = cluster.run(groups.described(cluster.attempts(), name))
    except ErrorAnswer as error:
        if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise _no_group(name) from error
        reason = why(error.code, error.message, f"Describe on group {name}")
        raise Refused(f"group {name}: {reason}") from error
    if group.state == groups.DEAD:
        raise _no_group(name)
    return group


def _no_group(name: str) -> Refused:
    return Refused(f"no group {name} (ottla group list shows all)")


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

    answer = cluster.at_coordinator(name, DeleteGroupsRequest([name]), DeleteGroupsResponse)
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
