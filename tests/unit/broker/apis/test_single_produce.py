"""The short way answers as the long one does, and leaves to it what it does not know."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from broker.apis.produce import ProduceApi
from broker.apis.transactional_produce import TransactionalProduce
from broker.replication.append_verification import AppendVerification
from broker.request_handler import RequestHandler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message_codec import decode_response, encode_request
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.unit.broker.replica_fixture import Replicas, topic_id_of

CALLS_MAX = 20  # one of them is the test's own


class Connection:
    connection_id = "c1"
    client_host = "127.0.0.1"
    listener_name = "PLAINTEXT"


class Reply(list[Any]):
    closed = False

    def __call__(self, parts: Any) -> None:
        self.append(parts)

    def close(self) -> None:
        self.closed = True


class Broker:
    """Two request handlers on one folder: with the short way, and without it."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.replicas = Replicas(str(folder))
        transactions = TransactionalProduce(
            self.replicas.manager, AppendVerification(None, True), 20, 100
        )
        (api,) = ProduceApi(self.replicas.manager, transactions).apis()
        self.long_way: list[Any] = []
        self.quick_answers: list[bool] = []
        self.api = api
        handle, short = api.handle, api.quick
        assert short is not None

        def counted_handle(*args: Any) -> None:
            self.long_way.append(args)
            handle(*args)

        def counted_quick(*args: Any) -> bool:
            self.quick_answers.append(short(*args))
            return self.quick_answers[-1]

        object.__setattr__(api, "handle", counted_handle)
        object.__setattr__(api, "quick", counted_quick if quick else None)
        self.handler = RequestHandler([api])

    def send(self, request: ProduceRequest, version: int) -> list[Any]:
        frame = memoryview(bytearray(encode_request(request, version, 9, "me")))[4:]
        reply = Reply()
        self.handler.handle(Connection(), frame, reply)
        return [
            decode_response(ApiKey.PRODUCE, memoryview(one)[4:], version) for one in reply if one
        ]

    def one(
        self,
        records: Any,
        acks: int = 1,
        topic: str = "t",
        index: int = 0,
        version: int = 12,
        transactional_id: str | None = None,
    ) -> PartitionProduceResponse:
        data = [PartitionProduceData(index, records)]
        topics = [TopicProduceData(topic, topic_id_of(topic), data)]
        ((correlation_id, response),) = self.send(
            ProduceRequest(transactional_id, acks, 1000, topics), version
        )
        assert correlation_id == 9
        ((answer,),) = [one.partition_responses for one in response.responses]
        assert isinstance(answer, PartitionProduceResponse)
        return answer


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    one = Broker(tmp_path / "short", quick=True)
    one.replicas.create("t")
    return one


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", [9, 12, 13])
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
    broker.one(batch(b"x"), version=8)
    data = [PartitionProduceData(0, batch(b"x"))]
    without_answer = ProduceRequest(None, 0, 1, [TopicProduceData("t", partition_data=data)])
    assert broker.send(without_answer, 12) == []
    assert broker.quick_answers == [False] * 4
    assert len(broker.long_way) == 4


def test_acks_all_waits_for_followers_the_long_way(tmp_path: Path) -> None:
    broker = Broker(tmp_path, quick=True)
    broker.replicas.create("r", replicas=[1, 2], isr=[1, 2])
    data = [PartitionProduceData(0, broker.replicas.batch(b"x"))]
    topics = [TopicProduceData("r", partition_data=data)]
    assert broker.send(ProduceRequest(None, -1, 1000, topics), 12) == []
    assert broker.quick_answers == [False]


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
