from __future__ import annotations

from pathlib import Path

from broker.replication.followed_partition import FollowedPartition
from broker.replication.leader_log_bounds import Bounds, LeaderLogBounds
from protocol.errors import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit.broker.replica_fixture import Replicas


def followed(replicas: Replicas, topic: str) -> FollowedPartition:
    return FollowedPartition(replicas.create(topic, replicas=[1, 2], leader=2))


def told(**offsets: int | ErrorCode) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        0,
        [
            ListOffsetsTopicResponse(
                topic,
                [
                    ListOffsetsPartitionResponse(0, int(offset), -1, -1)
                    if isinstance(offset, ErrorCode)
                    else ListOffsetsPartitionResponse(0, 0, -1, offset)
                ],
            )
            for topic, offset in offsets.items()
        ],
    )


def asks(request: ListOffsetsRequest) -> dict[str, int]:
    return {topic.name: topic.partitions[0].timestamp for topic in request.topics}


def test_ends_are_asked_first_then_starts_of_all_together(tmp_path: Path) -> None:
    replicas, bounds = Replicas(str(tmp_path)), LeaderLogBounds(1, 5000)
    a, b = followed(replicas, "a"), followed(replicas, "b")
    bounds.add(a)
    bounds.add(b)
    request = bounds.request()
    assert (request.replica_id, request.timeout_ms, asks(request)) == (1, 5000, {"a": -1, "b": -1})
    assert bounds.answered(request, told(a=9, b=8)) == []
    request = bounds.request()
    assert asks(request) == {"a": -4, "b": -4}
    assert bounds.answered(request, told(a=3, b=4)) == [
        Bounds(a, ErrorCode.NONE, 3, 9),
        Bounds(b, ErrorCode.NONE, 4, 8),
    ]
    assert not bounds


def test_errors_and_missing_answers_end_the_question(tmp_path: Path) -> None:
    replicas, bounds = Replicas(str(tmp_path)), LeaderLogBounds(1, 5000)
    a, b = followed(replicas, "a"), followed(replicas, "b")
    bounds.add(a)
    bounds.add(b)
    assert bounds.answered(bounds.request(), told(a=ErrorCode.FENCED_LEADER_EPOCH)) == [
        Bounds(a, ErrorCode.FENCED_LEADER_EPOCH),
        Bounds(b, ErrorCode.UNKNOWN_SERVER_ERROR),
    ]
    assert not bounds


def test_who_came_or_went_while_a_question_was_under_way(tmp_path: Path) -> None:
    replicas, bounds = Replicas(str(tmp_path)), LeaderLogBounds(1, 5000)
    a, b = followed(replicas, "a"), followed(replicas, "b")
    bounds.add(a)
    request = bounds.request()
    bounds.drop(a.key)
    bounds.add(b)
    assert bounds.answered(request, told(a=9)) == []
    assert asks(bounds.request()) == {"b": -1}
    replicas.move_leader("b", 2)
    request = bounds.request()
    later = FollowedPartition(replicas.partition("b"))
    bounds.add(later)  # of another epoch: the answer under way is not for this one
    assert bounds.answered(request, told(b=9)) == []
    assert asks(bounds.request()) == {"b": -1}
