"""Batches go to their leaders; what is not acknowledged goes again, with the same sequence."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.start_error import StartError
from client.core.producing import Producer
from client.records import writing
from client.records.encoding import build_batch, records_of
from client.records.writing import ON_THE_WAY_MAX, Writer
from client.refusals import Refused
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.record_batch import read_header
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, topic_of

MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER


def answer(code: int = 0, message: str | None = None) -> ProduceResponse:
    errors = [BatchIndexAndErrorMessage(0, message)] if message else []
    one = PartitionProduceResponse(0, code, record_errors=errors)
    return ProduceResponse([TopicProduceResponse("t", partition_responses=[one])])


def writer_on(leaders: list[int], **nodes: ScriptedNode) -> tuple[Writer, ScriptedCluster]:
    cluster = ScriptedCluster(
        [topic_of("t", leaders)],
        {"InitProducerIdRequest": InitProducerIdResponse(producer_id=9, producer_epoch=2)},
        {int(name[1:]): node for name, node in nodes.items()},
    )
    return Writer(cluster, "t"), cluster


def send(writer: Writer, partition: int, count: int) -> None:
    body = records_of([b"v"] * count)

    def build(producer: Producer) -> bytearray:
        return build_batch(body, count, 1, 0, producer)

    writer.send(partition, count, build)


def sequences(node: ScriptedNode) -> list[tuple[int, int]]:
    """Partition and first sequence of each batch that was sent to a node."""
    found = []
    for request in node.sent:
        data = request.topic_data[0].partition_data[0]
        found.append((data.index, read_header(data.records).base_sequence))
    return found


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing.time, "sleep", lambda _: None)


def test_each_batch_to_its_leader() -> None:
    one, two = ScriptedNode([answer()] * 2), ScriptedNode([answer(46)])
    writer, _ = writer_on([1, 2], n1=one, n2=two)
    assert writer.partitions == 2
    send(writer, 0, 3)
    send(writer, 1, 4)
    send(writer, 0, 5)
    assert writer.acknowledged == 0
    writer.flush()
    assert sequences(one) == [(0, 0), (0, 3)] and sequences(two) == [(1, 0)]
    assert writer.acknowledged == 12
    assert (
        one.sent[0].acks == -1
        and read_header(one.sent[0].topic_data[0].partition_data[0].records).producer_id == 9
    )


def test_only_so_many_are_on_their_way() -> None:
    node = ScriptedNode([answer()] * 20)
    writer, _ = writer_on([1], n1=node)
    for _ in range(ON_THE_WAY_MAX + 3):
        send(writer, 0, 1)
        assert node.waiting <= ON_THE_WAY_MAX
    assert writer.acknowledged == 3


@pytest.mark.parametrize("failure", [ConnectionResetError("reset"), answer(MOVED)])
def test_what_is_not_acknowledged_goes_again_in_order(failure: Any) -> None:
    one = ScriptedNode([answer(), failure, *[answer()] * 3])
    writer, cluster = writer_on([1], n1=one)
    for _ in range(4):
        send(writer, 0, 1)
    writer.flush()
    assert sequences(one)[4:] == [(0, 1), (0, 2), (0, 3)]
    assert writer.acknowledged == 4 and cluster.dropped


def test_a_leader_that_moved() -> None:
    one, two = ScriptedNode([answer(MOVED)]), ScriptedNode([answer(), answer()])
    writer, cluster = writer_on([1], n1=one, n2=two)
    send(writer, 0, 2)
    cluster.known["t"] = topic_of("t", [2])
    writer.flush()
    send(writer, 0, 1)
    writer.flush()
    assert sequences(two) == [(0, 0), (0, 2)] and writer.acknowledged == 3


def test_a_batch_that_is_refused() -> None:
    for code, message, said in (
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, "Write on topic t"),
        (ErrorCode.MESSAGE_TOO_LARGE, None, "max.message.bytes"),
        (ErrorCode.INVALID_RECORD, "needs a key", r"needs a key \(0 records were written\)"),
    ):
        writer, _ = writer_on([1], n1=ScriptedNode([answer(code, message)]))
        send(writer, 0, 1)
        with pytest.raises(Refused, match=said):
            writer.flush()


def test_a_leader_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "WITHIN_S", -1)
    writer, _ = writer_on([1], n1=ScriptedNode([answer(MOVED)] * 3))
    send(writer, 0, 1)
    with pytest.raises(StartError, match="t-0 does not take records: NOT_LEADER"):
        writer.flush()


def test_who_may_not_write() -> None:
    refused = {"InitProducerIdRequest": InitProducerIdResponse(error_code=31)}
    with pytest.raises(Refused, match="Write on topic t"):
        Writer(ScriptedCluster([topic_of("t")], refused), "t")
    with pytest.raises(Refused, match="no topic u"):
        Writer(ScriptedCluster([topic_of("t")], refused), "u")
