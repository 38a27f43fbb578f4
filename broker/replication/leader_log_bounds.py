"""Asks a leader where its logs begin and end, for followers whose own end is outside of them.

Owns who asks, and what was answered of the two questions: the end first, then the start (Kafka's
`fetchOffsetAndTruncate`). Never sends anything: `broker.replication.replica_fetcher` does, one
request for all that ask.
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
    """The leader's answer for one partition; `error` where it has none."""

    followed: FollowedPartition
    error: ErrorCode
    start: int = -1
    end: int = -1


class LeaderLogBounds:
    """The partitions of one fetcher that are out of range."""

    def __init__(self, node_id: int, timeout_ms: int) -> None:
        self._node_id = node_id
        self._timeout_ms = timeout_ms
        self._waiting: dict[FetchKey, FollowedPartition] = {}
        self._ends: dict[FetchKey, int] = {}

    def __len__(self) -> int:
        """Partitions that want to know."""
        return len(self._waiting)

    def ask(self, followed: FollowedPartition) -> None:
        """A partition wants to know."""
        self._waiting[followed.key] = followed
        self._ends.pop(followed.key, None)

    def drop(self, key: FetchKey) -> None:
        """A partition is not followed any more."""
        self._waiting.pop(key, None)
        self._ends.pop(key, None)

    def request(self) -> ListOffsetsRequest:
        """The next question: the ends that are not known yet, then the starts."""
        asked = [followed for key, followed in self._waiting.items() if key not in self._ends]
        timestamp = LATEST_TIMESTAMP if asked else EARLIEST_LOCAL_TIMESTAMP
        topics: dict[str, ListOffsetsTopic] = {}
        for followed in asked or self._waiting.values():
            name, index = followed.partition.topic, followed.partition.index
            topic = topics.setdefault(name, ListOffsetsTopic(name))
            topic.partitions.append(ListOffsetsPartition(index, followed.leader_epoch, timestamp))
        return ListOffsetsRequest(self._node_id, 0, list(topics.values()), self._timeout_ms)

    def answered(self, asked: ListOffsetsRequest, response: ListOffsetsResponse) -> list[Bounds]:
        """What is known now of both bounds, or is refused; those ask no more."""
        told = {
            (topic.name, one.partition_index): one
            for topic in response.topics
            for one in topic.partitions
        }
        wanted = {
            (topic.name, one.partition_index): one
            for topic in asked.topics
            for one in topic.partitions
        }
        outcomes = []
        for key, followed in list(self._waiting.items()):
            name = (followed.partition.topic, followed.partition.index)
            question, answer = wanted.get(name), told.get(name)
            if question is None or question.current_leader_epoch != followed.leader_epoch:
                continue  # asks since then
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
