"""Where a group stands: its committed offsets, read and written by who is no member.

A group with members refuses to be moved from outside. Owns no connection. Follows KIP-709
(OffsetFetch of whole groups) and Kafka's `AdminClient.alterConsumerGroupOffsets`.
"""

from __future__ import annotations

from collections.abc import Mapping

from client.cluster import Cluster, Partition
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)

OFFSETS_BY_NAME = 9
"""The last version that names topics instead of numbering them."""


def committed_offsets(cluster: Cluster, group: str) -> dict[Partition, int]:
    """Of each partition that the group has committed, in order. Raises Refused."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None)])
    answer = cluster.at_coordinator(
        group,
        request,
        OffsetFetchResponse,
        lambda found: found.groups[0].error_code,
        OFFSETS_BY_NAME,
    )
    found: dict[Partition, int] = {}
    for one in answer.groups:
        if one.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            reason = why(one.error_code, None, f"Describe on group {group}")
            raise Refused(f"group {group}: {reason}")
        for topic in one.topics:
            for partition in topic.partitions:
                if partition.committed_offset >= 0:
                    found[topic.name, partition.partition_index] = partition.committed_offset
    return dict(sorted(found.items()))


def commit_offsets(cluster: Cluster, group: str, offsets: Mapping[Partition, int]) -> None:
    """Let the group stand at these. Raises Refused, also where the group has members."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (name, index), offset in sorted(offsets.items()):
        by_topic.setdefault(name, []).append(OffsetCommitRequestPartition(index, offset))
    if not by_topic:
        return
    request = OffsetCommitRequest(
        group,
        topics=[
            OffsetCommitRequestTopic(name, partitions=found) for name, found in by_topic.items()
        ],
    )
    answer = cluster.at_coordinator(
        group,
        request,
        OffsetCommitResponse,
        lambda found: found.topics[0].partitions[0].error_code,
        OFFSETS_BY_NAME,
    )
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code:
                raise Refused(
                    f"group {group}, {topic.name}-{one.partition_index}: "
                    f"{not_moved(one.error_code, group)}"
                )


def not_moved(code: int, group: str) -> str:
    """Why a group's offsets could not be changed."""
    if code in (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ):
        return "it has members that read now: stop them first"
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        return "there is no such group (ottla group list shows all)"
    return why(code, None, f"Read on group {group} and on the topic")
