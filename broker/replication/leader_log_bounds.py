"""The questions to a leader where its logs begin and end, for followers that are out of its range.

Owns the asking partitions and the answers. It asks for the log end first, then for the log start
(Kafka's `fetchOffsetAndTruncate`). Never sends anything: `broker.replication.replica_fetcher` sends
a request for all asking partitions.
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
    """The leader's answer for a partition; `error` if it has none."""

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
        """Return the number of asking partitions."""
        return len(self._waiting)

    def ask(self, followed: FollowedPartition) -> None:
        """Add a partition, or ask again for both of its bounds."""
        self._waiting[followed.key] = followed
        self._ends.pop(followed.key, None)

    def drop(self, key: FetchKey) -> None:
        """Remove a partition that is not followed any more."""
        self._waiting.pop(key, None)
        self._ends.pop(key, None)

    def request(self) -> ListOffsetsRequest:
        """Return the next request: for the unknown log ends, then for the log starts."""
        asking = [followed for key, followed in self._waiting.items() if key not in self._ends]
        timestamp = LATEST_TIMESTAMP if asking else EARLIEST_LOCAL_TIMESTAMP
        topics: dict[str, ListOffsetsTopic] = {}
        for followed in asking or self._waiting.values():
            name, index = followed.partition.topic, followed.partition.index
            topic = topics.setdefault(name, ListOffsetsTopic(name))
            topic.partitions.append(ListOffsetsPartition(index, followed.leader_epoch, timestamp))
        return ListOffsetsRequest(self._node_id, 0, list(topics.values()), self._timeout_ms)

    def answered(self, request: ListOffsetsRequest, response: ListOffsetsResponse) -> list[Bounds]:
        """Return the partitions whose bounds are known or rejected, and stop asking for them."""
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
                continue  # asked again since then
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
