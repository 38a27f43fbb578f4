"""Offsets and member counts of many groups, in few requests to their coordinators.

A group that moved to another broker meanwhile, or that this login may not see, is left out: callers
ask again regularly. Owns no connection. Follows KIP-709 (OffsetFetch of several groups), KIP-848
(ConsumerGroupDescribe) and KIP-932 (ShareGroupDescribe, DescribeShareGroupOffsets).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from client.cluster import ClusterClient
from client.core.groups import DESCRIBE_REQUESTS, SHARE, DescribeRequest, offsets_in
from client.core.leaders import Partition
from client.core.operation import Answer
from client.core.share_offsets import offsets_in as share_offsets_in
from client.core.share_offsets import share_offsets_request
from client.groups.groups import GroupSummary
from client.groups.positions import Position, share_positions
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import answer_to
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsResponse
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)

GROUPS_A_REQUEST = 100
_OFFSETS_BY_NAME = 9
"""The last version of OffsetFetch that has topic names instead of topic ids."""
_EMPTY = ("Empty", "Dead")


def committed_of_many(
    cluster: ClusterClient, groups: Mapping[int, Sequence[GroupSummary]]
) -> dict[str, dict[Partition, int]]:
    """Ask the coordinators for the committed offsets of each group; `groups`: by the id of their
    coordinator.

    Share groups, which commit no offsets, and groups with an error are left out. Raises StartError.
    """
    offsets_by_group: dict[str, dict[Partition, int]] = {}
    for node_id, listed in groups.items():
        names = [row.group for row in listed if row.type.lower() != SHARE]
        for chunk in _chunks(names):
            request_groups = [OffsetFetchRequestGroup(name, topics=None) for name in chunk]
            request = OffsetFetchRequest(groups=request_groups)
            answer = cluster.call_at(node_id, request, OffsetFetchResponse, _OFFSETS_BY_NAME)
            for group in answer.groups:
                if not group.error_code:
                    offsets_by_group[group.group_id] = offsets_in(group.topics)
    return offsets_by_group


def share_positions_of_many(
    cluster: ClusterClient, groups: Mapping[int, Sequence[GroupSummary]]
) -> dict[str, dict[Partition, Position]]:
    """Ask the coordinators for the start offsets of the share groups among `groups`, which are
    grouped by the id of their coordinator.

    Groups with an error are left out. Raises StartError.
    """
    positions_by_group: dict[str, dict[Partition, Position]] = {}
    for node_id, listed in groups.items():
        names = [row.group for row in listed if row.type.lower() == SHARE]
        if not names or not cluster.node(node_id).serves(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS):
            continue
        for chunk in _chunks(names):
            request = share_offsets_request(chunk)
            answer = cluster.call_at(node_id, request, DescribeShareGroupOffsetsResponse)
            for group in answer.groups:
                if not group.error_code:
                    positions_by_group[group.group_id] = share_positions(share_offsets_in(group))
    return positions_by_group


def member_counts(
    cluster: ClusterClient, groups: Mapping[int, Sequence[GroupSummary]]
) -> dict[str, int]:
    """Ask the coordinators for the number of members of each group; `groups`: by the id of their
    coordinator.

    Streams groups with members, and groups with an error, are left out. Raises StartError.
    """
    counts: dict[str, int] = {}
    for node_id, listed in groups.items():
        counts |= {row.group: 0 for row in listed if row.state in _EMPTY}
        full = [row for row in listed if row.state not in _EMPTY]
        for kind, (request_of, _) in DESCRIBE_REQUESTS.items():
            names = [row.group for row in full if row.type.lower() == kind]
            if names and cluster.node(node_id).serves(request_of.API_KEY):
                counts |= _member_counts(cluster, node_id, names, request_of)
        classic = [row.group for row in full if _is_classic(row)]
        counts |= _member_counts(cluster, node_id, classic, DescribeGroupsRequest)
    return counts


def _member_counts(
    cluster: ClusterClient,
    node_id: int,
    names: Sequence[str],
    request_of: DescribeRequest | type[DescribeGroupsRequest],
) -> dict[str, int]:
    """Ask a node for the number of members of each group; groups with an error are left out."""
    counts: dict[str, int] = {}
    for chunk in _chunks(names):
        request = request_of(chunk)
        answer: Answer = cluster.call_at(node_id, request, answer_to(request))
        counts |= {
            group.group_id: len(group.members) for group in answer.groups if not group.error_code
        }
    return counts


def _is_classic(row: GroupSummary) -> bool:
    """Return whether the group is classic. Brokers before Kafka 3.8 report no type."""
    return row.type.lower() in ("", "classic")


def _chunks(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names in lists of at most GROUPS_A_REQUEST."""
    for start in range(0, len(names), GROUPS_A_REQUEST):
        yield list(names[start : start + GROUPS_A_REQUEST])
