"""The start offsets of a share group: read, set and deleted at the group's coordinator.

All records before a start offset are finished. The coordinator rejects a change while the group has
members. Owns no connection. Follows KIP-932 (DescribeShareGroupOffsets, AlterShareGroupOffsets,
DeleteShareGroupOffsets) and KIP-1226 (the lag).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition, by_topic
from client.groups.committed import group_refusal_text
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)


class ShareOffset(NamedTuple):
    """The state of a share-partition that the group's coordinator reports.

    `start` is None before the group's first acknowledgement in the partition, `lag` also if the
    broker does not report it. `lag`: the unfinished records from the start offset to the end.
    """

    start: int | None
    lag: int | None
    topic_id: bytes
    leader_epoch: int


def share_offsets(cluster: ClusterClient, group: str) -> dict[Partition, ShareOffset]:
    """Ask the coordinator for the start offsets and lags of a share group, and return them by
    partition, sorted; none if there is no such group.

    A partition whose response has an error is left out: for example, its topic is deleted. Raises
    Refused, StartError.
    """
    request = share_offsets_request([group])
    answer = cluster.at_coordinator(group, request, DescribeShareGroupOffsetsResponse)
    described_group = answer.groups[0]
    code = described_group.error_code
    if code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
        reason = why(code, described_group.error_message, f"Describe on group {group}")
        raise Refused(f"group {group}: {reason}")
    return offsets_in(described_group)


def share_offsets_request(groups: Sequence[str]) -> DescribeShareGroupOffsetsRequest:
    """Return the request for all start offsets of these groups."""
    asked = [DescribeShareGroupOffsetsRequestGroup(name, topics=None) for name in groups]
    return DescribeShareGroupOffsetsRequest(asked)


def offsets_in(group: DescribeShareGroupOffsetsResponseGroup) -> dict[Partition, ShareOffset]:
    """Return the state of each partition in a group's part of a response, sorted; those with an
    error are left out."""
    offsets = {
        (topic.topic_name, partition.partition_index): ShareOffset(
            _known(partition.start_offset),
            _known(partition.lag),
            topic.topic_id,
            partition.leader_epoch,
        )
        for topic in group.topics
        for partition in topic.partitions
        if not partition.error_code
    }
    return dict(sorted(offsets.items()))


def _known(number: int) -> int | None:
    """Return a number of the response, None if it is -1."""
    return None if number < 0 else number


def set_share_offsets(cluster: ClusterClient, group: str, offsets: Mapping[Partition, int]) -> None:
    """Set the start offsets of a share group without members. Raises Refused, also if the group has
    members or does not exist."""
    from protocol.messages.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsRequestPartition,
        AlterShareGroupOffsetsRequestTopic,
        AlterShareGroupOffsetsResponse,
    )

    if not offsets:
        return
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            name,
            [AlterShareGroupOffsetsRequestPartition(at, offsets[name, at]) for at in indexes],
        )
        for name, indexes in by_topic(sorted(offsets)).items()
    ]
    request = AlterShareGroupOffsetsRequest(group, topics)
    answer = cluster.at_coordinator(group, request, AlterShareGroupOffsetsResponse)
    _check(group, "", answer.error_code, answer.error_message)
    for topic in answer.responses:
        for partition in topic.partitions:
            place = f", {topic.topic_name}-{partition.partition_index}"
            _check(group, place, partition.error_code, partition.error_message)


def delete_share_offsets(cluster: ClusterClient, group: str, topics: Iterable[str]) -> None:
    """Delete the start offsets of a share group without members in some topics. Raises Refused,
    also if the group has members or does not exist."""
    from protocol.messages.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsRequestTopic,
        DeleteShareGroupOffsetsResponse,
    )

    asked = [DeleteShareGroupOffsetsRequestTopic(name) for name in topics]
    request = DeleteShareGroupOffsetsRequest(group, asked)
    answer = cluster.at_coordinator(group, request, DeleteShareGroupOffsetsResponse)
    _check(group, "", answer.error_code, answer.error_message)
    for topic in answer.responses:
        _check(group, f", topic {topic.topic_name}", topic.error_code, topic.error_message)


def _check(group: str, place: str, code: int, message: str | None) -> None:
    """Raise Refused if the code is an error; `place` names the partition or topic, "" the group."""
    if code:
        raise Refused(f"group {group}{place}: {group_refusal_text(code, group, message)}")
