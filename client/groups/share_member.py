"""A member of a share group: its heartbeats, its epoch and its assignment.

Owns the time of the next heartbeat, and sends it if the caller asks in time: there is no thread.
Owns no connection and no clock. Follows KIP-932 (ShareGroupHeartbeat).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from client.cluster import ClusterClient
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

JOINING_S = 0.5
"""The interval of heartbeats while the member has no partitions: the coordinator gives them in the
answer to one."""
_LEAVE = -1
_LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
"""The errors after which the member joins again: the coordinator has removed it."""


class ShareMember:
    """A member of a share group that is subscribed to topics."""

    def __init__(
        self,
        cluster: ClusterClient,
        group: str,
        topics: Sequence[str],
        member_id: str,
        now_s: Callable[[], float],
    ) -> None:
        """Create a member that has not joined. `member_id`: any text that no other member has.
        `now_s` returns the seconds of a clock."""
        self._cluster = cluster
        self._topics = list(topics)
        self._now_s = now_s
        self._epoch = 0
        self._due_s = 0.0
        self.group = group
        self.member_id = member_id
        self.assignment: dict[bytes, list[int]] = {}
        """The assigned partitions by topic id."""

    def beat(self) -> None:
        """Send a heartbeat if it is time for one, the first to join, and take over the assignment
        of the answer. Raises Refused, StartError."""
        if self._now_s() < self._due_s:
            return
        topics = self._topics if self._epoch == 0 else None
        request = ShareGroupHeartbeatRequest(
            self.group, self.member_id, self._epoch, subscribed_topic_names=topics
        )
        answer = self._cluster.at_coordinator(self.group, request, ShareGroupHeartbeatResponse)
        if answer.error_code in _LOST:
            self._epoch = 0
            self.assignment = {}
            return
        if answer.error_code:
            raise Refused(f"group {self.group}: {self._reason(answer)}")
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self.assignment = {
                topic.topic_id: list(topic.partitions)
                for topic in answer.assignment.topic_partitions
                if topic.partitions
            }
        interval_s = answer.heartbeat_interval_ms / 1000
        wait_s = interval_s if self.assignment else min(interval_s, JOINING_S)
        self._due_s = self._now_s() + wait_s

    def leave(self) -> None:
        """Leave the group, if the member has joined. Raises Refused, StartError."""
        if self._epoch > 0:
            request = ShareGroupHeartbeatRequest(self.group, self.member_id, _LEAVE)
            self._epoch = 0
            self._cluster.at_coordinator(self.group, request, ShareGroupHeartbeatResponse)

    def _reason(self, answer: ShareGroupHeartbeatResponse) -> str:
        """Return why the coordinator has rejected a heartbeat."""
        if answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return "it has another type (ottla group list shows it): choose another name"
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            return (
                "share groups are switched off in this cluster: kafka-features upgrade --feature "
                "share.version=1 switches them on"
            )
        if answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED:
            return "it has as many members as group.share.max.size allows"
        needs = f"Read on group {self.group} and Describe on its topics"
        return why(answer.error_code, answer.error_message, needs)
