"""Answers of a cluster about groups, for the tests of commands and of the console."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from protocol.primitives import MessageBuffer

Offsets = Mapping[str, Mapping[int, int]]
"""Topic → partition → committed offset."""

Members = Mapping[str, Sequence[DescribedGroupMember]]
"""Group → its members."""


def committed_by(
    group: str, offsets: Offsets | None = None, error_code: int = 0
) -> OffsetFetchResponseGroup:
    """A group's part of an answer to OffsetFetch."""
    topics = [
        OffsetFetchResponseTopics(
            name, partitions=[OffsetFetchResponsePartitions(*place) for place in own.items()]
        )
        for name, own in (offsets or {}).items()
    ]
    return OffsetFetchResponseGroup(group, topics, error_code)


def committed(offsets: Offsets, **others: OffsetFetchResponseGroup) -> Callable[[Any], Any]:
    """Answer OffsetFetch: each group that is asked for has committed these `offsets`, but for the
    `others`."""

    def answer(request: Any) -> OffsetFetchResponse:
        names = [group.group_id for group in request.groups] or [request.group_id]
        groups = [others.get(name) or committed_by(name, offsets) for name in names]
        if request.groups:
            return OffsetFetchResponse(groups=groups)
        topics: list[Any] = list(groups[0].topics)
        return OffsetFetchResponse(topics=topics, error_code=groups[0].error_code)

    return answer


def described(members: Members | None = None, state: str = "Stable") -> Callable[[Any], Any]:
    """Answer DescribeGroups: each group that is asked for is in this state."""

    def answer(request: Any) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(
            groups=[
                DescribedGroup(
                    group_id=name, group_state=state, members=list((members or {}).get(name, ()))
                )
                for name in request.groups
            ]
        )

    return answer


def taken(error_code: int = 0) -> OffsetCommitResponse:
    """An answer to OffsetCommit, for partition 0 of topic `t`."""
    partitions = [OffsetCommitResponsePartition(0, error_code)]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic("t", partitions=partitions)])


def deleted(group: str, error_code: int = 0) -> DeleteGroupsResponse:
    """An answer to DeleteGroups."""
    return DeleteGroupsResponse(results=[DeletableGroupResult(group, error_code)])


def assignment(version: int, topic: str, partitions: list[int]) -> bytes:
    """What the leader of a classic group has given a member."""
    out = MessageBuffer(version.to_bytes(2, "big"))
    given = ConsumerProtocolAssignmentTopicPartition(topic, partitions)
    ConsumerProtocolAssignment([given]).write(out, min(version, 3))
    return bytes(out)
