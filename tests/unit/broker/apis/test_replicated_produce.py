"""acks=all of one plain batch: each way that a request may go waits alike, and says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.replication.partition import Partition
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message_codec import decode_response, encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.apis.produce_fixture import Broker
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import topic_id_of

VERSIONS = (7, 9, 10, 12, 13)
AT_ONCE, SHORT, LONG = WAYS = ("at once", "short", "long")
ENDS = {
    "replicated": ErrorCode.NONE,
    "had it": ErrorCode.NONE,
    "late": ErrorCode.REQUEST_TIMED_OUT,
    "led elsewhere": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "few in sync": ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}


class Producer:
    """One connection to the leader of "r", which has one follower. Its first request is over."""

    def __init__(self, folder: Path, way: str, version: int) -> None:
        self.way, self.version = way, version
        self.broker = Broker(folder, quick=way != LONG)
        self.broker.replicas.create("r", replicas=[1, 2], isr=[1, 2], min_insync_replicas="2")
        for broker_id in (1, 2):
            self.broker.replicas.register(broker_id)
        self.connection = Connection()
        self.reply = Reply()
        self.broker.handler.handle(self.connection, self._frame(), self.reply)
        self.replicate(1)
        assert len(self.reply) == 1
        self.reply.clear()

    @property
    def partition(self) -> Partition:
        return self.broker.replicas.partition("r")

    def send(self) -> None:
        """A second one."""
        handler = self.broker.handler
        if self.way == AT_ONCE:
            answer = handler.handle_at_once(self.connection, self._frame(), lambda: self.reply)
            assert answer is not None
            if answer:
                self.reply(answer)
        else:
            handler.handle(self.connection, self._frame(), self.reply)

    def replicate(self, offset: int) -> None:
        """The follower has all before `offset`."""
        self.partition.follower_fetched(2, offset, 0, 1)
        self.partition.changed()

    def _frame(self) -> memoryview:
        data = [PartitionProduceData(0, self.broker.replicas.batch(b"x"))]
        named = {"topic_id": topic_id_of("r")} if self.version >= 13 else {"name": "r"}
        topics = [TopicProduceData(partition_data=data, **named)]  # type: ignore[arg-type]
        request = encode_request(ProduceRequest(None, -1, 1000, topics), self.version, 9, "me")
        return memoryview(bytearray(request))[4:]


def answer(producer: Producer, end: str) -> bytes:
    """What it is told of its second request."""
    partition, reply = producer.partition, producer.reply
    if end == "had it":  # a follower that fetched from behind the end
        partition.follower_fetched(2, 2, 0, 1)
    producer.send()
    assert bool(reply) is (end == "had it")
    if end == "replicated":
        producer.replicate(2)
    elif end == "late":
        producer.broker.replicas.scheduler.run_for(999)
        assert not reply
        producer.broker.replicas.scheduler.run_for(1)
    elif end == "led elsewhere":
        producer.broker.replicas.move_leader("r", 2)
    elif end == "few in sync":
        assert partition.followers is not None
        partition.log.high_watermark = 2
        partition.followers.maximal_isr = (1,)
        partition.changed()
    (told,) = reply
    return bytes(told)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("end", ENDS)
def test_every_way_waits_and_answers_alike(tmp_path: Path, version: int, end: str) -> None:
    answers = []
    for way in WAYS:
        producer = Producer(tmp_path / way, way, version)
        answers.append(answer(producer, end))
        assert len(producer.broker.long_way) == (2 if way == LONG else 0)
        assert len(producer.broker.quick_answers) == {LONG: 0, SHORT: 2, AT_ONCE: 1}[way]
        assert producer.partition.log.log_end_offset == 2
    assert len(set(answers)) == 1
    _, response = decode_response(ApiKey.PRODUCE, memoryview(answers[0])[4:], version)
    (one,) = response.responses[0].partition_responses
    assert (one.error_code, one.base_offset, one.log_start_offset) == (ENDS[end], 1, 0)
    if end == "led elsewhere" and version >= 10:
        assert [node.node_id for node in response.node_endpoints] == [2]


@pytest.mark.parametrize("way", WAYS)
def test_readers_hear_of_it_before_it_waits(tmp_path: Path, way: str) -> None:
    told: list[Any] = []

    class Listener:
        def partition_changed(self, partition: Any) -> None:
            told.append(partition)

    producer = Producer(tmp_path, way, 12)
    producer.partition.listeners[Listener()] = None
    producer.send()
    assert told == [producer.partition]
    assert not producer.reply


@pytest.mark.parametrize("change", ["few in sync", "led elsewhere", "deleted"])
def test_what_may_not_be_appended_is_not_tried_at_once(tmp_path: Path, change: str) -> None:
    producer = Producer(tmp_path, AT_ONCE, 12)
    partition = producer.partition
    if change == "few in sync":
        partition.isr = (1,)
    elif change == "led elsewhere":
        producer.broker.replicas.move_leader("r", 2)
    else:
        partition.mark_deleted()
    handler = producer.broker.handler
    assert handler.handle_at_once(producer.connection, producer._frame(), lambda: None) is None  # type: ignore[arg-type, return-value]
    assert partition.log.log_end_offset == 1
