"""The short way answers as the long one does, and leaves to it what it does not know."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import decode_response, encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.apis.produce_fixture import Broker, Connection, Reply
from tests.unit.broker.replica_fixture import topic_id_of

CALLS_MAX = 26  # one of them is the test's own


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    one = Broker(tmp_path / "short", quick=True)
    one.replicas.create("t")
    return one


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", range(7, 14))
def test_a_plain_batch_is_appended_and_answered_the_short_way(
    broker: Broker, version: int, acks: int
) -> None:
    for offset in range(3):
        answer = broker.one(broker.replicas.batch(b"value"), acks, version=version)
        assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (0, offset, 0)
    assert broker.quick_answers == [True] * 3
    assert not broker.long_way


def test_readers_hear_of_it(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(broker.replicas.manager, "partition_changed", told.append)
    broker.one(broker.replicas.batch(b"value"))
    assert [repr(partition) for partition in told] == ["t-0"]


@pytest.mark.parametrize("version", range(3, 14))
def test_both_ways_answer_alike(tmp_path: Path, version: int) -> None:
    answers = []
    for quick in (True, False):
        broker = Broker(tmp_path / str(quick), quick)
        broker.replicas.create("t")
        batch = broker.replicas.batch
        damaged = bytearray(batch(b"value"))
        damaged[-1] ^= 1
        answers.append(
            [
                repr(answer)
                for answer in (
                    broker.one(batch(b"one"), version=version),
                    broker.one(batch(b"two"), acks=-1, version=version),
                    broker.one(bytes(damaged), version=version),
                    broker.one(b"short", version=version),
                    broker.one(b"", version=version),
                    broker.one(None, version=version),
                    broker.one(batch(b"x"), topic="unknown", version=version),
                    broker.one(batch(b"x"), index=7, version=version),
                    broker.one(batch(b"x"), acks=2, version=version),
                    broker.one(batch(b"last"), version=version),
                )
            ]
        )
        assert bool(broker.quick_answers) is quick
    assert answers[0] == answers[1]


def test_what_the_log_refuses_is_refused_once(broker: Broker) -> None:
    damaged = bytearray(broker.replicas.batch(b"value"))
    damaged[-1] ^= 1
    assert broker.one(bytes(damaged)).error_code == ErrorCode.CORRUPT_MESSAGE
    partition = broker.replicas.manager.partition("t", 0)
    assert partition is not None
    assert partition.counts.failed_produce_requests == 1
    assert not broker.long_way


def test_the_rest_goes_the_long_way(broker: Broker) -> None:
    batch = broker.replicas.batch
    transactional = bytearray(batch(b"x"))
    transactional[22] |= 16
    broker.one(bytes(transactional))
    broker.one(batch(b"x"), transactional_id="t")
    broker.one(batch(b"x"), version=6)
    broker.one(batch(b"x"), acks=2)
    assert broker.quick_answers == [False] * 4
    assert len(broker.long_way) == 4


def test_acks_0_has_no_answer_and_a_refusal_closes_the_connection(broker: Broker) -> None:
    damaged = bytearray(broker.replicas.batch(b"x"))
    damaged[-1] ^= 1
    for records, topic in ((broker.replicas.batch(b"x"), "t"), (damaged, "t"), (damaged, "u")):
        data = [PartitionProduceData(0, records)]
        request = ProduceRequest(None, 0, 1, [TopicProduceData(topic, partition_data=data)])
        if records is damaged:
            with pytest.raises(ProtocolError, match="acks=0 was refused"):
                broker.send(request, 12)
        else:
            assert broker.send(request, 12) == []
    assert broker.quick_answers == [True, False]  # the second one raised


@pytest.mark.parametrize("version", [7, 9, 10, 12, 13])
@pytest.mark.parametrize("end", ["replicated", "at once", "late", "led elsewhere", "few in sync"])
def test_acks_all_waits_for_followers_alike(tmp_path: Path, version: int, end: str) -> None:
    answers = []
    for quick in (True, False):
        broker = Broker(tmp_path / str(quick), quick)
        broker.replicas.create("r", replicas=[1, 2], isr=[1, 2], min_insync_replicas="2")
        for broker_id in (1, 2):
            broker.replicas.register(broker_id)
        partition = broker.replicas.partition("r")
        if end == "at once":  # a follower that fetched from behind the end already has it
            assert partition.follower_fetched(2, 1, 0, 1)
        assert partition.followers is not None
        data = [PartitionProduceData(0, broker.replicas.batch(b"x"))]
        named = {"topic_id": topic_id_of("r")} if version >= 13 else {"name": "r"}
        topics = [TopicProduceData(partition_data=data, **named)]  # type: ignore[arg-type]
        request = encode_request(ProduceRequest(None, -1, 1000, topics), version, 9, "me")
        reply = Reply()
        broker.handler.handle(Connection(), memoryview(bytearray(request))[4:], reply)
        assert bool(reply) is (end == "at once")
        if end == "replicated":
            partition.follower_fetched(2, 1, 0, 1)
            partition.changed()
        elif end == "late":
            broker.replicas.scheduler.run_for(999)
            assert not reply
            broker.replicas.scheduler.run_for(1)
        elif end == "led elsewhere":
            broker.replicas.move_leader("r", 2)
        elif end == "few in sync":
            partition.log.high_watermark = 1
            partition.followers.maximal_isr = (1,)
            partition.changed()
        (answer,) = reply
        answers.append(bytes(answer))
        assert broker.quick_answers == [True] * quick
        assert len(broker.long_way) == (not quick)
    assert answers[0] == answers[1]
    _, response = decode_response(ApiKey.PRODUCE, memoryview(answers[0])[4:], version)
    (one,) = response.responses[0].partition_responses
    assert (one.error_code, one.base_offset) == {
        "late": (ErrorCode.REQUEST_TIMED_OUT, -1),
        "led elsewhere": (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        "few in sync": (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, -1),
    }.get(end, (0, 0))
    if end == "led elsewhere" and version >= 10:
        assert [node.node_id for node in response.node_endpoints] == [2]


def test_acks_all_wakes_readers_before_it_waits(tmp_path: Path) -> None:
    broker = Broker(tmp_path, quick=True)
    broker.replicas.create("r", replicas=[1, 2], isr=[1, 2])
    told: list[Any] = []
    partition = broker.replicas.partition("r")
    partition.listeners[Listener(told)] = None
    data = [PartitionProduceData(0, broker.replicas.batch(b"x"))]
    topics = [TopicProduceData("r", partition_data=data)]
    assert broker.send(ProduceRequest(None, -1, 1000, topics), 12) == []
    assert told == [partition]


class Listener:
    """Hears of changes."""

    def __init__(self, told: list[Any]) -> None:
        self._told = told

    def partition_changed(self, partition: Any) -> None:
        self._told.append(partition)


def test_a_bug_is_answered_and_the_append_not_tried_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = broker.replicas.manager.partition("t", 0)
    assert partition is not None

    def broken(*_: Any) -> bytes:
        raise KeyError("missing")

    monkeypatch.setattr("broker.apis.single_produce.encode_one", broken)
    answer = broker.one(broker.replicas.batch(b"value"))
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert partition.log.log_end_offset == 1
    assert not broker.long_way


def test_it_takes_few_calls(broker: Broker) -> None:
    """What such a request costs is the calls around its append: a new one needs a reason."""
    calls: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    request = encode_request(
        ProduceRequest(None, 1, 1000, [TopicProduceData("t", partition_data=[
            PartitionProduceData(0, broker.replicas.batch(b"value"))
        ])]), 12, 9, "me",
    )  # fmt: skip
    reply = Reply()
    broker.one(broker.replicas.batch(b"warm"))  # what happens once has happened
    broker.one(broker.replicas.batch(b"warm"))
    frame = memoryview(bytearray(request))[4:]
    sys.setprofile(count)
    try:
        broker.handler.handle(Connection(), frame, reply)
    finally:
        sys.setprofile(None)
    assert len(reply) == 1
    assert len(calls) <= CALLS_MAX, calls
