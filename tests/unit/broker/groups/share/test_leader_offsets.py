"""Questions for end offsets: one request for each leader, retries, and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from broker.groups.share.leader_offsets import RETRIES, Leader, LeaderOffsets
from broker.groups.share.ports import EndOffset
from ground.ports import ChannelFailure
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
HERE, THERE, ELSEWHERE = (1, "here", 1), (2, "there", 2), (3, "elsewhere", 3)


class Channel:
    """A connection; a test answers what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, Callable[[Any, ChannelFailure | None], None]]] = []

    def send(self, request: Any, done: Any, timeout_ms: float, version: int | None = None) -> None:
        self.sent.append((request, done))

    def close(self) -> None:
        self.fail(ChannelFailure.LOST)

    def answer(self, answers: Mapping[TopicPartition, EndOffset]) -> None:
        request, done = self.sent.pop(0)
        done(answered(request, answers), None)

    def fail(self, failure: ChannelFailure) -> None:
        while self.sent:
            self.sent.pop(0)[1](None, failure)


def asked(request: ListOffsetsRequest) -> list[TopicPartition]:
    assert request.replica_id == -1
    assert all(p.timestamp == -1 for topic in request.topics for p in topic.partitions)
    return [TopicPartition(t.name, p.partition_index) for t in request.topics for p in t.partitions]


def answered(
    request: ListOffsetsRequest, answers: Mapping[TopicPartition, EndOffset]
) -> ListOffsetsResponse:
    topics = []
    for partition in asked(request):
        if partition in answers:
            answer = answers[partition]
            result = ListOffsetsPartitionResponse(partition.partition, offset=answer)
            if isinstance(answer, ErrorCode):
                result = ListOffsetsPartitionResponse(partition.partition, answer)
            topics.append(ListOffsetsTopicResponse(partition.topic, [result]))
    return ListOffsetsResponse(topics=topics)


class Desk:
    """Questions of broker 1, whose own end offset is 7."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.leaders: dict[TopicPartition, Leader] = {}
        self.channels: dict[str, Channel] = {}
        self.answers: list[Mapping[TopicPartition, EndOffset]] = []
        self.offsets = LeaderOffsets(self.scheduler, self, 1, self.leaders.get, self._local, 1_000)

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        assert client_id == "broker-1-end-offsets"
        return self.channels.setdefault(host, Channel())

    def _local(self, request: Any, respond: Any) -> None:
        respond(answered(request, dict.fromkeys(asked(request), 7)))

    def ask(self, *partitions: TopicPartition) -> None:
        self.offsets.ask(partitions, self.answers.append)


def test_each_leader_is_asked_once() -> None:
    desk = Desk()
    desk.leaders.update({T0: THERE, T1: THERE, U0: HERE})
    desk.ask(T0, T1, U0, TopicPartition("gone", 0))
    assert desk.answers == []
    assert asked(desk.channels["there"].sent[0][0]) == [T0, T1]
    desk.channels["there"].answer({T0: 5})
    assert desk.answers == [
        {
            TopicPartition("gone", 0): ErrorCode.LEADER_NOT_AVAILABLE,
            U0: 7,
            T0: 5,
            T1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
    ]


def test_an_error_of_the_leader_is_the_answer() -> None:
    desk = Desk()
    desk.leaders[T0] = THERE
    desk.ask(T0)
    desk.channels["there"].answer({T0: ErrorCode.NOT_LEADER_OR_FOLLOWER})
    assert desk.answers == [{T0: ErrorCode.NOT_LEADER_OR_FOLLOWER}]


def test_no_partitions_are_answered_at_once() -> None:
    desk = Desk()
    desk.ask()
    assert desk.answers == [{}]


def test_a_lost_connection_is_tried_again_with_the_new_leader() -> None:
    desk = Desk()
    desk.leaders[T0] = THERE
    desk.ask(T0)
    desk.channels["there"].fail(ChannelFailure.LOST)
    desk.leaders[T0] = ELSEWHERE
    desk.scheduler.run_for(1_000)
    desk.channels["elsewhere"].answer({T0: 5})
    assert desk.answers == [{T0: 5}]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ChannelFailure.REFUSED, ErrorCode.NETWORK_EXCEPTION),
        (ChannelFailure.TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT),
    ],
)
def test_the_last_failure_is_the_answer(failure: ChannelFailure, error: ErrorCode) -> None:
    desk = Desk()
    desk.leaders[T0] = THERE
    desk.ask(T0)
    for _ in range(RETRIES):
        desk.channels["there"].fail(failure)
        assert desk.answers == []
        desk.scheduler.run_for(30_000)
    desk.channels["there"].fail(failure)
    assert desk.answers == [{T0: error}]


def test_a_shutdown_answers_what_waits_and_opens_no_connection() -> None:
    desk = Desk()
    desk.leaders[T0] = THERE
    desk.ask(T0)
    desk.offsets.shutdown()
    desk.ask(T0)
    assert desk.answers == [{T0: ErrorCode.NETWORK_EXCEPTION}] * 2


def test_a_leader_that_moved_to_another_address_is_asked_there() -> None:
    desk = Desk()
    desk.leaders[T0] = THERE
    desk.ask(T0)
    desk.leaders[T0] = (2, "moved", 2)
    desk.ask(T0)
    desk.scheduler.run_for(1_000)
    assert desk.channels["there"].sent == []
    desk.channels["moved"].answer({T0: 5})
    desk.channels["moved"].answer({T0: 6})
    assert desk.answers == [{T0: 5}, {T0: 6}]
