"""Produce with an interceptor: what it refuses is answered, all else goes its way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.apis.produce.api import ProduceApi
from broker.apis.produce.interception import ProduceInterception
from broker.apis.produce.transactional import TransactionalProduce
from broker.plugins.interception import Interceptor
from broker.plugins.loop_calls import LoopCalls
from broker.requests.context import RequestContext
from broker.verification.append_verification import AppendVerification
from controller.authorization.rights import UNLIMITED
from ottla.plugins.interceptor import ProducedRecord, ProduceInterceptor
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import RecordBatchBuilder
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns

WHY = "Record 0 of the batch is refused: it says no"


class Refusing(ProduceInterceptor):
    def __init__(self) -> None:
        self.seen: list[ProducedRecord] = []

    def refusal(self, record: ProducedRecord) -> str | None:
        self.seen.append(record)
        return "it says no" if record.value == b"no" else None


class Produce:
    """The API with an interceptor, on a folder."""

    def __init__(self, folder: Path) -> None:
        self.replicas = Replicas(str(folder))
        self.replicas.create("t", partitions=2)
        self.replicas.create("u")
        self.refusing = Refusing()
        manager = self.replicas.manager
        transactions = TransactionalProduce(manager, AppendVerification(None, True), 20, 100)
        interceptor = Interceptor(self.refusing, LoopCalls("acme:I", lambda: 0.0))
        interception = ProduceInterception(manager, interceptor)
        self.api = ProduceApi(manager, transactions, Turns().answers, interception)
        self.answers: list[Any] = []

    def send(
        self, *asked: tuple[str, int, bytes], acks: int = 1, version: int = 12, records: int = 1
    ) -> dict[tuple[str, int], tuple[int, list[tuple[int, str]], str | None]]:
        """By topic and partition: error, record errors, text."""
        topics: dict[str, TopicProduceData] = {}
        for name, index, value in asked:
            builder = RecordBatchBuilder()
            for _ in range(records):
                builder.append(None, value, self.replicas.scheduler.wall_ms())
            data = PartitionProduceData(index, memoryview(bytearray(builder.build())))
            topic = TopicProduceData(name if version < 13 else "", topic_id_of(name), [])
            topics.setdefault(name, topic).partition_data.append(data)
        context = RequestContext(0, version, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
        request = ProduceRequest(None, acks, 1000, list(topics.values()))
        before = len(self.answers)
        self.api.handle(context, request, self.answers.append)
        self.replicas.scheduler.run_until(lambda: len(self.answers) > before)
        if self.answers[-1] is None:
            return {}
        responses = self.answers[-1].responses
        assert len(responses) == len({(one.name, one.topic_id) for one in responses})
        return {
            (topic.name, one.index): (
                one.error_code,
                [(e.batch_index, e.batch_index_error_message) for e in one.record_errors],
                one.error_message,
            )
            for topic in responses
            for one in topic.partition_responses
        }

    def end(self, topic: str, index: int) -> int:
        partition = self.replicas.manager.partition(topic, index)
        assert partition is not None
        return partition.log.log_end_offset


@pytest.fixture
def produce(tmp_path: Path) -> Iterator[Produce]:
    yield Produce(tmp_path)


REFUSED = (int(ErrorCode.INVALID_RECORD), [(0, "it says no")], WHY)
TAKEN = (0, [], None)


def test_what_it_refuses_is_told_beside_what_is_appended(produce: Produce) -> None:
    told = produce.send(("t", 0, b"no"), ("t", 1, b"yes"), ("u", 0, b"no"))
    assert told == {("t", 0): REFUSED, ("t", 1): TAKEN, ("u", 0): REFUSED}
    assert [produce.end("t", 0), produce.end("t", 1), produce.end("u", 0)] == [0, 1, 0]
    assert [(one.topic, one.partition) for one in produce.refusing.seen] == [
        ("t", 0),
        ("t", 1),
        ("u", 0),
    ]


def test_by_topic_id_it_is_told_the_name(produce: Produce) -> None:
    assert produce.send(("t", 0, b"no"), version=13) == {("", 0): REFUSED}
    assert produce.refusing.seen[0].topic == "t"


@pytest.mark.parametrize("acks", [1, -1])
def test_a_long_batch_is_looked_at_in_slices_and_then_appended(produce: Produce, acks: int) -> None:
    assert produce.send(("t", 0, b"yes"), acks=acks, records=1_000) == {("t", 0): TAKEN}
    assert len(produce.refusing.seen) == produce.end("t", 0) == 1_000


def test_without_an_answer_a_refusal_ends_the_connection(produce: Produce) -> None:
    data = memoryview(bytearray(produce.replicas.batch(b"no")))
    topics = [TopicProduceData("t", topic_id_of("t"), [PartitionProduceData(0, data)])]
    context = RequestContext(0, 12, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
    answers: list[Any] = []
    produce.api.handle(context, ProduceRequest(None, 0, 1000, topics), answers.append)
    produce.replicas.scheduler.run_until(lambda: bool(answers))
    (error,) = answers
    assert isinstance(error, ProtocolError) and "INVALID_RECORD" in str(error)
    assert produce.end("t", 0) == 0
    assert produce.send(("t", 0, b"yes"), acks=0) == {}
    assert produce.end("t", 0) == 1


def test_what_is_not_led_here_is_not_looked_at(produce: Produce) -> None:
    told = produce.send(("gone", 0, b"no"))
    assert told[("gone", 0)][0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce.refusing.seen == []


def test_internal_topics_are_nobodys_business(tmp_path: Path) -> None:
    produce = Produce(tmp_path)
    produce.replicas.create("__consumer_offsets")
    told = produce.send(("__consumer_offsets", 0, b"no"))
    assert told[("__consumer_offsets", 0)][0] == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert produce.refusing.seen == []


def test_no_produce_is_answered_as_prepared(produce: Produce) -> None:
    data = PartitionProduceData(0, memoryview(bytearray(produce.replicas.batch(b"v"))))
    request = ProduceRequest(None, 1, 1000, [TopicProduceData("t", topic_id_of("t"), [data])])
    context = RequestContext(0, 12, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
    assert produce.api.prepare(context, memoryview(b""), request) is None
