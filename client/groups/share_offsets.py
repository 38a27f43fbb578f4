"""The start offsets of a share group: read, set and deleted at the group's coordinator.

All records before a start offset are finished. The coordinator rejects a change while the group has
members. Owns no connection. Follows KIP-932 (AlterShareGroupOffsets, DeleteShareGroupOffsets); the
request that reads is `client.core.share_offsets`'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import ClusterClient
from client.core import share_offsets as core
from client.core.leaders import Partition, by_topic
from client.core.operation import ErrorAnswer
from client.core.share_offsets import ShareOffset
from client.groups.committed import group_refusal_text
from client.refusals import Refused, why


def share_offsets(cluster: ClusterClient, group: str) -> dict[Partition, ShareOffset]:
    """Ask the coordinator for the start offsets and lags of a share group, and return them by
    partition, sorted; none if there is no such group.

    A partition whose response has an error is left out: for example, its topic is deleted. Raises
    Refused, StartError.
    """
    try:
        return cluster.run(core.share_offsets(cluster.attempts(), group))
    except ErrorAnswer as error:
        reason = why(error.code, error.message, f"Describe on group {group}")
        raise Refused(f"group {group}: {reason}") from None


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
