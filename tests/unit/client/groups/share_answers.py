"""Answers of a cluster about the share group `g`, which reads topic `t`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)
from protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from tests.unit.client.groups import answers

TOPIC_ID = bytes(range(16))
NOT_FOUND = 69

Place = tuple[int, int, int]
"""A partition, its start offset and its lag; -1: not known."""


def share_cluster(
    *places: Place, state: str = "Empty", members: Sequence[Member] = ()
) -> dict[str, Any]:
    """Answers by the name of the request, for a share group with these places."""
    return {
        "ListGroupsRequest": ListGroupsResponse(groups=[ListedGroup("g", "share", state, "share")]),
        "DescribeGroupsRequest": answers.described(state="Dead"),
        "ShareGroupDescribeRequest": described(state, members),
        "DescribeShareGroupOffsetsRequest": offsets(*places),
        "AlterShareGroupOffsetsRequest": altered(),
        "DeleteShareGroupOffsetsRequest": removed(),
        "DeleteGroupsRequest": answers.deleted("g"),
    }


def described(
    state: str = "Empty", members: Sequence[Member] = (), error_code: int = 0
) -> ShareGroupDescribeResponse:
    """An answer to ShareGroupDescribe: the group at epoch 4, with operations READ and DESCRIBE."""
    group = DescribedGroup(
        error_code, None, "g", state, 4, 4, "simple", list(members), 1 << 3 | 1 << 8
    )
    return ShareGroupDescribeResponse(groups=[group])


def member(name: str, *partitions: int) -> Member:
    """A member, with these partitions of the topic."""
    own = Assignment([TopicPartitions(TOPIC_ID, "t", list(partitions))])
    return Member(f"id-{name}", None, 4, name, "/h", ["t"], own)


def offsets(*places: Place, error_code: int = 0) -> Callable[[Any], Any]:
    """Answer DescribeShareGroupOffsets: each group that is asked for has these places, and one more
    partition with an error."""

    def answer(request: Any) -> DescribeShareGroupOffsetsResponse:
        partitions = [
            DescribeShareGroupOffsetsResponsePartition(index, start, 7, lag)
            for index, start, lag in places
        ]
        gone = DescribeShareGroupOffsetsResponsePartition(9, -1, 0, -1, 3)
        topic = DescribeShareGroupOffsetsResponseTopic("t", TOPIC_ID, [*partitions, gone])
        return DescribeShareGroupOffsetsResponse(
            groups=[
                DescribeShareGroupOffsetsResponseGroup(group.group_id, [topic], error_code)
                for group in request.groups
            ]
        )

    return answer


def altered(error_code: int = 0, partition_code: int = 0) -> AlterShareGroupOffsetsResponse:
    """An answer to AlterShareGroupOffsets, for partition 0."""
    partitions = [AlterShareGroupOffsetsResponsePartition(0, partition_code)]
    topics = [AlterShareGroupOffsetsResponseTopic("t", TOPIC_ID, partitions)]
    return AlterShareGroupOffsetsResponse(error_code=error_code, responses=topics)


def removed(error_code: int = 0, topic_code: int = 0) -> DeleteShareGroupOffsetsResponse:
    """An answer to DeleteShareGroupOffsets."""
    topics = [DeleteShareGroupOffsetsResponseTopic("t", TOPIC_ID, topic_code)]
    return DeleteShareGroupOffsetsResponse(error_code=error_code, responses=topics)


def coordinators(error_code: int = 0) -> Callable[[Any], Any]:
    """Answer FindCoordinator: broker 1 coordinates partition 0 of each topic, broker 2 the others;
    broker 2 also coordinates groups."""

    def answer(request: Any) -> FindCoordinatorResponse:
        found = [
            Coordinator(key, 1 if key.endswith(":0") else 2, "h", 1, error_code)
            for key in request.coordinator_keys
        ]
        return FindCoordinatorResponse(node_id=2, host="two", port=9092, coordinators=found)

    return answer


def stored(
    batches: Sequence[StateBatch], start: int = 2, error_code: int = 0
) -> Callable[[Any], Any]:
    """Answer ReadShareGroupState: each partition has these batches."""

    def answer(request: Any) -> ReadShareGroupStateResponse:
        return ReadShareGroupStateResponse(
            results=[
                ReadStateResult(
                    topic.topic_id,
                    [
                        PartitionResult(one.partition, error_code, None, 1, start, list(batches))
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer
