"""The requests for where a leader's logs begin and end, for followers that are out of range.

Owns the partitions without bounds and the answers. It requests the log end first, then the log
start (Kafka's `fetchOffsetAndTruncate`). Never sends anything: `broker.replication.replica_fetcher`
sends a request for all waiting partitions.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.replication.followed_partition import FetchKey, FollowedPartition
from protocol.errors import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST_TIMESTAMP = -1
EARLIEST_LOCAL_TIMESTAMP = -4


class Bounds(NamedTuple):
    """The bounds of the leader's log of a partition, or the error of the request for them."""

    followed: FollowedPartition
    error: ErrorCode
    start: int = -1
    end: int = -1


class LeaderLogBounds:
    """The partitions of a fetcher that are out of range."""

    def __init__(self, node_id: int, timeout_ms: int) -> None:
        self._node_id = node_id
        self._timeout_ms = timeout_ms
        self._waiting: dict[FetchKey, FollowedPartition] = {}
        self._ends: dict[FetchKey, int] = {}

    def __len__(self) -> int:
        """Return the number of partitions that wait for their bounds."""
        return len(self._waiting)

    def add(self, followed: FollowedPartition) -> None:
        """Add a partition to the next requests. If it is there already, both of its bounds are
        requested again."""
        self._waiting[followed.key] = followed
        self._ends.pop(followed.key, None)

    def drop(self, key: FetchKey) -> None:
        """Remove a partition that is not followed any more."""
        self._waiting.pop(key, None)
        self._ends.pop(key, None)

    def request(self) -> ListOffsetsRequest:
        """Return the next request for all waiting partitions whose log end is unknown; if there is
        none, for the log starts."""
        endless = [followed for key, followed in self._waiting.items() if key not in self._ends]
        timestamp = LATEST_TIMESTAMP if endless else EARLIEST_LOCAL_TIMESTAMP
        topics: dict[str, ListOffsetsTopic] = {}
        for followed in endless or self._waiting.values():
            name, index = followed.partition.topic, followed.partition.index
            topic = topics.setdefault(name, ListOffsetsTopic(name))
            topic.partitions.append(ListOffsetsPartition(index, followed.leader_epoch, timestamp))
        return ListOffsetsRequest(self._node_id, 0, list(topics.values()), self._timeout_ms)

    def answered(self, request: ListOffsetsRequest, response: ListOffsetsResponse) -> list[Bounds]:
        """Store the log ends of a response. Remove and return the partitions whose bounds are both
        known or whose request was rejected."""
        answers = {
            (topic.name, partition.partition_index): partition
            for topic in response.topics
            for partition in topic.partitions
        }
        questions = {
            (topic.name, partition.partition_index): partition
            for topic in request.topics
            for partition in topic.partitions
        }
        outcomes = []
        for key, followed in list(self._waiting.items()):
            name = (followed.partition.topic, followed.partition.index)
            question, answer = questions.get(name), answers.get(name)
            if question is None or question.current_leader_epoch != followed.leader_epoch:
                continue  # `add` has restarted the request since then
            error = ErrorCode.UNKNOWN_SERVER_ERROR
            if answer is not None:
                error = ErrorCode(answer.error_code)
            if answer is None or error:
                self.drop(key)
                outcomes.append(Bounds(followed, error))
            elif question.timestamp == LATEST_TIMESTAMP:
                self._ends[key] = answer.offset
            elif key in self._ends:
                end = self._ends[key]
                self.drop(key)
                outcomes.append(Bounds(followed, ErrorCode.NONE, answer.offset, end))
        return outcomes
