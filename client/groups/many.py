"""Many groups of one coordinator, asked in few requests: where they stand, how many members.

A group that moved to another broker meanwhile, or that may not be seen, is left out: whoever looks
at many looks again. Owns no connection. Follows KIP-709 (OffsetFetch of several groups) and KIP-848
(ConsumerGroupDescribe).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from client.cluster import Cluster
from client.core.groups import CONSUMER, offsets_in
from client.core.leaders import Partition
from client.core.operation import Answer
from client.groups.groups import Listed
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
"""The last version that names topics instead of numbering them."""
WITHOUT_OFFSETS = ("share",)
"""Types of groups that commit no offsets."""
_EMPTY = ("Empty", "Dead")


def committed_of_many(
    cluster: Cluster, groups: Mapping[int, Sequence[Listed]]
) -> dict[str, dict[Partition, int]]:
    """What each group has committed; `groups` by the broker that keeps them. Raises StartError."""
    found: dict[str, dict[Partition, int]] = {}
    for node_id, listed in groups.items():
        names = [one.group for one in listed if one.type.lower() not in WITHOUT_OFFSETS]
        for some in _some(names):
            asked = [OffsetFetchRequestGroup(name, topics=None) for name in some]
            request = OffsetFetchRequest(groups=asked)
            answer = cluster.call_at(node_id, request, OffsetFetchResponse, _OFFSETS_BY_NAME)
            for one in answer.groups:
                if not one.error_code:
                    found[one.group_id] = offsets_in(one.topics)
    return found


def member_counts(cluster: Cluster, groups: Mapping[int, Sequence[Listed]]) -> dict[str, int]:
    """How many members each group has; share and streams groups are left out. Raises StartError."""
    found: dict[str, int] = {}
    for node_id, listed in groups.items():
        found |= {one.group: 0 for one in listed if one.state in _EMPTY}
        full = [one for one in listed if one.state not in _EMPTY]
        new = [one.group for one in full if one.type.lower() == CONSUMER]
        if new and cluster.node(node_id).serves(ApiKey.CONSUMER_GROUP_DESCRIBE):
            found |= _counted(cluster, node_id, new, ConsumerGroupDescribeRequest)
        classic = [one.group for one in full if _is_classic(one)]
        found |= _counted(cluster, node_id, classic, DescribeGroupsRequest)
    return found


def _counted(
    cluster: Cluster,
    node_id: int,
    names: Sequence[str],
    request_of: type[ConsumerGroupDescribeRequest] | type[DescribeGroupsRequest],
) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in _some(names):
        request = request_of(some)
        answer: Answer = cluster.call_at(node_id, request, answer_to(request))
        found |= {one.group_id: len(one.members) for one in answer.groups if not one.error_code}
    return found


def _is_classic(one: Listed) -> bool:
    """Brokers before Kafka 3.8 tell no type."""
    return one.type.lower() in ("", "classic")


def _some(names: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), GROUPS_A_REQUEST):
        yield list(names[start : start + GROUPS_A_REQUEST])
