"""The committed offsets of a group, read, written and deleted by a client that is no member.

The coordinator rejects such a commit while the group has members. Owns no connection. Follows
Kafka's `AdminClient.alterConsumerGroupOffsets` and KIP-496 (OffsetDelete).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from client.cluster import ClusterClient
from client.core import groups
from client.core.leaders import Partition, by_topic
from client.refusals import Refused, why
from protocol.errors import ErrorCode


def committed_offsets(cluster: ClusterClient, group: str) -> dict[Partition, int]:
    """Ask the coordinator for the group's committed offsets, and return them by partition, sorted;
    none if there is no such group.

    Raises Refused, StartError.
    """
    answer = cluster.run(groups.committed(cluster.attempts(), group))
    if answer.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
        reason = why(answer.error_code, None, f"Describe on group {group}")
        raise Refused(f"group {group}: {reason}")
    return dict(sorted(groups.offsets_in(answer.topics).items()))


def commit_offsets(cluster: ClusterClient, group: str, offsets: Mapping[Partition, int]) -> None:
    """Commit these offsets for the group. Raises Refused, also if the group has members."""
    if not offsets:
        return
    answer = cluster.run(groups.commit(cluster.attempts(), group, dict(sorted(offsets.items()))))
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code:
                raise Refused(
                    f"group {group}, {topic.name}-{partition.partition_index}: "
                    f"{group_refusal_text(partition.error_code, group)}"
                )


def delete_committed(cluster: ClusterClient, group: str, partitions: Iterable[Partition]) -> None:
    """Delete the group's committed offsets of these partitions. Raises Refused, also if a member is
    subscribed to one of the topics."""
    from protocol.messages.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
        OffsetDeleteResponse,
    )

    topics = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index) for index in indexes])
        for name, indexes in by_topic(sorted(partitions)).items()
    ]
    if not topics:
        return
    request = OffsetDeleteRequest(group, topics)
    answer = cluster.at_coordinator(group, request, OffsetDeleteResponse)
    if answer.error_code:
        raise Refused(f"group {group}: {group_refusal_text(answer.error_code, group)}")
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code:
                raise Refused(
                    f"group {group}, {topic.name}-{partition.partition_index}: "
                    f"{group_refusal_text(partition.error_code, group)}"
                )


def group_refusal_text(code: int, group: str, message: str | None = None) -> str:
    """Return the text that says why a group or its offsets could not be changed, from the error
    code and the message of the response."""
    if code in (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ):
        return "it has members that read now: stop them first"
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        return "there is no such group (ottla group list shows all)"
    return why(code, message, f"Read on group {group} and on the topic")
