"""The holes of a Produce and of its answer are where the generated classes put them."""

from __future__ import annotations

import pytest

from protocol.frames.message_codec import encode_request, encode_response
from protocol.frames.produce_codec import produce_reply, produce_shape
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

TOPIC_ID = bytes(range(16))
VERSIONS = range(7, 14)


def frame(
    version: int, records: bytes, correlation_id: int = 9, client_id: str | None = "me"
) -> memoryview:
    topic = TopicProduceData("topic", TOPIC_ID, [PartitionProduceData(7, records)])
    request = ProduceRequest(None, 1, 1000, [topic])
    return memoryview(encode_request(request, version, correlation_id, client_id))[4:]


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("size", [61, 126, 127, 16_382, 16_383, 2_100_000])
def test_a_request_has_one_shape_whatever_its_records(version: int, size: int) -> None:
    records = bytes(range(61)) + b"r" * (size - 61)
    one = frame(version, records)
    shape = produce_shape(one, version, memoryview(records))
    assert shape is not None
    fixed, (correlation_id, start, end) = shape.match(one) or (b"", (0, 0, 0))
    assert (correlation_id, bytes(one[start:end])) == (9, records)
    other = shape.match(frame(version, b"x" * 200, 10))
    assert other is not None and (other[0], other[1][0]) == (fixed, 10)
    assert produce_shape(frame(version, b"y" * 300), version, memoryview(b"y" * 300)) == shape


def test_what_is_no_single_batch_in_its_place_has_no_shape() -> None:
    records = bytes(range(100))
    one = frame(12, records)
    view = memoryview(records)
    assert produce_shape(one, 12, view) is not None
    assert produce_shape(frame(12, records[:60]), 12, view[:60]) is None
    assert produce_shape(one, 12, view[:99]) is None
    assert produce_shape(one, 12, memoryview(bytes(100))) is None
    tagged = bytes(one)[:-1] + b"\1\0\0"
    assert produce_shape(memoryview(tagged), 12, view) is None


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("name", ["t", "a longer name", "é" * 100, "n" * 249])
def test_an_answer_is_filled_as_the_generated_class_writes_it(version: int, name: str) -> None:
    reply = produce_reply(version, name, TOPIC_ID, 7)
    if version not in VERSIONS:
        assert reply is None
        return
    one = PartitionProduceResponse(7, 0, 123_456, -1, 9)
    response = ProduceResponse([TopicProduceResponse(name, TOPIC_ID, [one])])
    assert reply is not None
    assert reply.fill(5, 123_456, 9) == encode_response(response, version, 5).joined()
