"""A Produce that wants no answer: whatever is refused closes its connection, at once or later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from broker.apis.produce.answers import end_without_answer, refuse_produce, refused_whole
from broker.network.server.request_channel import ConnectionContext
from protocol.compression import Codec
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.apis.produce.produce_fixture import Broker, Produce, request
from tests.unit.broker.network.conftest import Client, Rig, until
from tests.unit.broker.replica_fixture import topic_id_of

UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


def of_topic(*data: PartitionProduceData, topic: str = "t") -> ProduceRequest:
    return ProduceRequest(None, 0, 1000, [TopicProduceData(topic, topic_id_of(topic), [*data])])


@pytest.fixture
def produce(tmp_path: Path) -> Produce:
    made = Produce(tmp_path)
    made.replicas.create("t", partitions=2)
    return made


def test_nothing_is_answered_and_an_error_closes(produce: Produce) -> None:
    produce.send(of_topic(PartitionProduceData(0, produce.replicas.batch(b"x"))))
    assert produce.answers == [None]
    assert produce.replicas.partition("t").log.log_end_offset == 1
    produce.send(of_topic(PartitionProduceData(0, produce.replicas.batch(b"x")), topic="none"))
    assert UNKNOWN in produce.refusal()


def test_readers_hear_of_what_was_appended_beside_an_error(produce: Produce) -> None:
    partition = produce.replicas.partition("t")
    heard: list[object] = []

    class Listener:
        def partition_changed(self, changed: object) -> None:
            heard.append(changed)

    partition.listeners[Listener()] = None
    numbers = (0, 9)
    produce.send(
        of_topic(*[PartitionProduceData(n, produce.replicas.batch(b"x")) for n in numbers])
    )
    assert UNKNOWN in produce.refusal()
    assert heard == [partition]


@pytest.mark.parametrize("count", [2, 1_000])
def test_a_long_request_closes_when_all_of_it_was_tried(produce: Produce, count: int) -> None:
    batches = [produce.replicas.batch(b"x") for _ in range(count)]
    data = [PartitionProduceData(count - 1 - n, records) for n, records in enumerate(batches)]
    produce.send(of_topic(*data), long=True)
    assert not produce.answers
    produce.turns.run()
    ends = [produce.replicas.partition("t", index).log.log_end_offset for index in (0, 1)]
    assert ends == [1, 1]
    assert produce.answers == [None] if count == 2 else UNKNOWN in produce.refusal()


def test_a_look_that_takes_long_closes_as_well(produce: Produce) -> None:
    produce.replicas.create("c", cleanup_policy="compact")
    records = [Record(-1, 1_700_000_000_000, None, bytes(3_000_000))]
    batch = memoryview(build_batch(records, compression=Codec.GZIP))
    produce.send(of_topic(PartitionProduceData(0, batch), topic="c"))
    assert not produce.answers
    produce.replicas.scheduler.run_until(lambda: bool(produce.answers), 60_000)
    assert "INVALID_RECORD" in produce.refusal()


def test_a_failure_of_ours_closes() -> None:
    refused = refuse_produce(of_topic(PartitionProduceData(0)), ErrorCode.UNKNOWN_SERVER_ERROR)
    assert isinstance(refused, ProtocolError) and "UNKNOWN_SERVER_ERROR" in str(refused)


def test_one_error_among_many_partitions_closes() -> None:
    answers: list[Any] = []
    response = refused_whole(of_topic(*map(PartitionProduceData, range(3))), ErrorCode.NONE)
    end_without_answer(answers.append, response)
    response.responses[0].partition_responses[2].error_code = ErrorCode.CORRUPT_MESSAGE
    end_without_answer(answers.append, response)
    assert answers[0] is None and "CORRUPT_MESSAGE" in str(answers[1])


# --- over sockets -------------------------------------------------------------------------------


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    yield made
    await made.close()


async def connected(rig: Rig, broker: Broker) -> Client:
    broker.replicas.create("t")
    broker.handler.slice_by(broker.turns.answers)

    def handle(context: ConnectionContext, frame: memoryview, respond: Any) -> None:
        broker.handler.handle(context, frame, respond)

    server = await rig.serve(handle, at_once=broker.handler.handle_at_once)
    return await rig.client(server)


@pytest.mark.parametrize("prepares", [False, True])
async def test_the_connection_of_a_refused_request_ends(
    rig: Rig, tmp_path: Path, prepares: bool
) -> None:
    broker = Broker(tmp_path, prepares)
    client = await connected(rig, broker)
    records = bytes(broker.replicas.batch(b"x"))
    client.send(*[request(records, acks=0)] * 2, request(records, acks=0, topic="none"))
    assert await client.closed_by_server()
    assert broker.replicas.partition("t").log.log_end_offset == 2


async def test_the_connection_of_a_long_request_ends_too(rig: Rig, tmp_path: Path) -> None:
    broker = Broker(tmp_path, True)
    client = await connected(rig, broker)
    data = [PartitionProduceData(n, bytes(broker.replicas.batch(b"x"))) for n in range(2_000)]
    client.send(encode_request(of_topic(*data), 12, 9, "me")[4:])
    await until(lambda: bool(broker.turns.soon))
    broker.turns.run()
    assert await client.closed_by_server()
    assert broker.replicas.partition("t").log.log_end_offset == 1
