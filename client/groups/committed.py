"""Where a group stands: its committed offsets, read and written by who is no member.

A group with members refuses to be moved from outside. Owns no connection. Follows Kafka's
`AdminClient.alterConsumerGroupOffsets`.
"""

from __future__ import annotations

from collections.abc import Mapping

from client.cluster import Cluster
from client.core import groups
from client.core.leaders import Partition
from client.refusals import Refused, why
from protocol.errors import ErrorCode


def committed_offsets(cluster: Cluster, group: str) -> dict[Partition, int]:
    """Of each partition that the group has committed, in order. Raises Refused."""
    answer = cluster.run(groups.committed(cluster.attempts(), group))
    if answer.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
        reason = why(answer.error_code, None, f"Describe on group {group}")
        raise Refused(f"group {group}: {reason}")
    return dict(sorted(groups.offsets_in(answer.topics).items()))


def commit_offsets(cluster: Cluster, group: str, offsets: Mapping[Partition, int]) -> None:
    """Let the group stand at these. Raises Refused, also where the group has members."""
    if not offsets:
        return
    answer = cluster.run(groups.commit(cluster.attempts(), group, dict(sorted(offsets.items()))))
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
