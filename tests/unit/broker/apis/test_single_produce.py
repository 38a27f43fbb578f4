"""The short way answers as the long one does, and leaves to it what it does not know."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.apis.produce_fixture import Broker
from tests.unit.broker.fake_connection import Connection, Reply

CALLS_MAX = 28  # one of them is the test's own


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
