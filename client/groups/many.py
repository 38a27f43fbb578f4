"""Committed offsets and member counts of many groups, in few requests to their coordinators.

A group that moved to another broker meanwhile, or that this login may not see, is left out: callers
ask again regularly. Owns no connection. Follows KIP-709 (OffsetFetch of several groups) and KIP-848
(ConsumerGroupDescribe).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from client.cluster import ClusterClient
from client.core.groups import CONSUMER, offsets_in
from client.core.leaders import Partition
from client.core.operation import Answer
from client.groups.groups import GroupSummary
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import answer_to
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)

GROUPS_A_REQUEST = 100
_OFFSETS_BY_NAME = 9
"""The last version of OffsetFetch that has topic names instead of topic ids."""
WITHOUT_OFFSETS = ("share",)
"""The types of groups that commit no offsets."""
_EMPTY = ("Empty", "Dead")


def committed_of_many(
    cluster: ClusterClient, groups: Mapping[int, Sequence[GroupSummary]]
) -> dict[str, dict[Partition, int]]:
    """Ask the coordinators for the committed offsets of each group; `groups`: by the id of their
    coordinator.

    Groups that commit no offsets, and groups with an error, are left out. Raises StartError.
    """
    offsets_by_group: dict[str, dict[Partition, int]] = {}
    for node_id, listed in groups.items():
        names = [row.group for row in listed if row.type.lower() not in WITHOUT_OFFSETS]
        for chunk in _chunks(names):
            request_groups = [OffsetFetchRequestGroup(name, topics=None) for name in chunk]
            request = OffsetFetchRequest(groups=request_groups)
            answer = cluster.call_at(node_id, request, OffsetFetchResponse, _OFFSETS_BY_NAME)
            for group in answer.groups:
                if not group.error_code:
                    offsets_by_group[group.group_id] = offsets_in(group.topics)
    return offsets_by_group


def member_counts(
    cluster: ClusterClient, groups: Mapping[int, Sequence[GroupSummary]]
) -> dict[str, int]:
    """Ask the coordinators for the number of members of each group; `groups`: by the id of their
    coordinator.

    Share and streams groups with members, and groups with an error, are left out. Raises
    StartError.
    """
    counts: dict[str, int] = {}
    for node_id, listed in groups.items():
        counts |= {row.group: 0 for row in listed if row.state in _EMPTY}
        full = [row for row in listed if row.state not in _EMPTY]
        new = [row.group for row in full if row.type.lower() == CONSUMER]
        if new and cluster.node(node_id).serves(ApiKey.CONSUMER_GROUP_DESCRIBE):
            counts |= _member_counts(cluster, node_id, new, ConsumerGroupDescribeRequest)
        classic = [row.group for row in full if _is_classic(row)]
        counts |= _member_counts(cluster, node_id, classic, DescribeGroupsRequest)
    return counts


def _member_counts(
    cluster: ClusterClient,
    node_id: int,
    names: Sequence[str],
    request_of: type[ConsumerGroupDescribeRequest] | type[DescribeGroupsRequest],
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
