from __future__ import annotations

from typing import Any

import pytest

from protocol import produce_codec
from protocol.errors import ProtocolError
from protocol.message_codec import decode, encode_response
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.primitives import MessageBuffer
from protocol.produce_codec import answer_template, encode, layout_of, read_one, read_request

VERSIONS = range(3, 14)
FLEXIBLE = range(9, 14)
TOPIC_ID = bytes(range(16))


def written(request: ProduceRequest, version: int) -> bytes:
    out = MessageBuffer()
    request.write(out, version)
    return bytes(out)


def one(records: Any = b"r" * 170, name: str = "topic", index: int = 7) -> ProduceRequest:
    data = [TopicProduceData(name, TOPIC_ID, [PartitionProduceData(index, records)])]
    return ProduceRequest(None, -1, 30_000, data)


def plain(request: ProduceRequest) -> tuple[Any, ...]:
    """Records as bytes: views of one buffer compare equal to nothing else."""
    topics = [
        (
            topic.name,
            topic.topic_id,
            [
                (data.index, None if data.records is None else bytes(data.records))  # type: ignore[arg-type]
                for data in topic.partition_data
            ],
        )
        for topic in request.topic_data
    ]
    return request.transactional_id, request.acks, request.timeout_ms, topics


REQUESTS = {
    "one partition": one(),
    "a record of one byte": one(b"r"),
    "a large batch": one(b"r" * 70_000),
    "the largest length of two bytes": one(b"r" * 16_382),
    "a name of 126 bytes": one(name="é" * 63),
    "a name of 127 bytes": one(name="n" * 127),
    "a name of 249 bytes": one(name="n" * 249),
    "an empty name": one(name=""),
    "empty records": one(b""),
    "null records": one(None),
    "a transactional id": ProduceRequest("t", -1, 1, one().topic_data),
    "no topic": ProduceRequest(None, 1, 1, []),
    "no partition": ProduceRequest(None, 1, 1, [TopicProduceData("t", TOPIC_ID, [])]),
    "two topics": ProduceRequest(None, 1, 1, one().topic_data * 2),
    "two partitions": ProduceRequest(
        None,
        1,
        1,
        [TopicProduceData("t", TOPIC_ID, [PartitionProduceData(i, b"r") for i in (0, 1)])],
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_request_reads_as_the_generated_class_reads_it(
    request_: ProduceRequest, version: int
) -> None:
    frame = memoryview(bytearray(b"head" + written(request_, version)))
    expected = decode(ProduceRequest, frame, 4, version)
    assert plain(read_request(frame, 4, version)) == plain(expected)


@pytest.mark.parametrize("version", FLEXIBLE)
def test_one_partition_goes_the_short_way_and_its_records_are_no_copy(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produce_codec, "_read_any", None)
    buffer = bytearray(written(one(), version))
    request = read_request(memoryview(buffer), 0, version)
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is buffer


@pytest.mark.parametrize("version", VERSIONS)
def test_bytes_that_end_too_soon_are_refused(version: int) -> None:
    for request in (one(b"r" * 20), one(b"r" * 200)):
        whole = written(request, version)
        for end in range(len(whole)):
            with pytest.raises(ProtocolError):
                read_request(memoryview(whole[:end]), 0, version)


@pytest.mark.parametrize("version", FLEXIBLE)
def test_every_changed_byte_reads_as_the_generated_class_reads_it(version: int) -> None:
    whole = written(one(b"r" * 130, "abc"), version)
    for position in range(len(whole)):
        for value in (0, 1, 2, 3, 0x7F, 0x80, 0xFF):
            frame = bytearray(whole)
            frame[position] = value
            view = memoryview(frame)
            try:
                expected = plain(decode(ProduceRequest, view, 0, version))
            except ProtocolError:
                with pytest.raises(ProtocolError):
                    read_request(view, 0, version)
                continue
            assert plain(read_request(view, 0, version)) == expected


@pytest.mark.parametrize("version", FLEXIBLE)
def test_tagged_fields_and_what_follows_are_passed_over(version: int) -> None:
    whole = written(one(), version)
    for frame in (whole[:-1] + b"\1\5\2xx", whole[:-2] + b"\1\5\2xx\0", whole + b"more"):
        assert plain(read_request(memoryview(frame), 0, version)) == plain(
            decode(ProduceRequest, memoryview(whole), 0, version)
        )


def answer(name: str = "topic", **fields: Any) -> ProduceResponse:
    partition = PartitionProduceResponse(7, base_offset=123_456, log_start_offset=9)
    for field, value in fields.items():
        setattr(partition, field, value)
    return ProduceResponse([TopicProduceResponse(name, TOPIC_ID, [partition])], 11)


RESPONSES = {
    "one partition": answer(),
    "an append time": answer(log_append_time_ms=1_700_000_000_000),
    "a name of 126 bytes": answer("n" * 126),
    "a name of 127 bytes": answer("n" * 127),
    "an error": answer(error_code=3, base_offset=-1),
    "an error message": answer(error_code=87, error_message="no"),
    "a message without an error": answer(error_message=""),
    "record errors": answer(record_errors=[BatchIndexAndErrorMessage(0, "bad")]),
    "a new leader": answer(error_code=6, current_leader=LeaderIdAndEpoch(2, 5)),
    "no topic": ProduceResponse(),
    "no partition": ProduceResponse([TopicProduceResponse("t", TOPIC_ID, [])]),
    "two topics": ProduceResponse(answer().responses * 2),
    "an endpoint": ProduceResponse(answer().responses, 0, [NodeEndpoint(2, "host", 9092)]),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_an_answer_is_written_as_the_generated_class_writes_it(
    response: ProduceResponse, version: int
) -> None:
    frame = encode(response, version, 5)
    assert isinstance(frame, (bytes, bytearray))
    assert bytes(frame) == encode_response(response, version, 5).joined()


@pytest.mark.parametrize("version", FLEXIBLE)
def test_one_partition_is_answered_the_short_way(version: int) -> None:
    assert type(encode(answer(), version, 5)) is bytes


@pytest.mark.parametrize("version", range(7, 14))
@pytest.mark.parametrize("name", ["t", "a longer name", "é" * 100, "n" * 249])
def test_a_template_makes_the_answers_that_the_generated_class_writes(
    version: int, name: str
) -> None:
    pack, size, before, after = answer_template(version, name, TOPIC_ID, 7)
    one = PartitionProduceResponse(7, 0, 123_456, -1, 9)
    response = ProduceResponse([TopicProduceResponse(name, TOPIC_ID, [one])])
    expected = encode_response(response, version, 5).joined()
    assert pack(size, 5, before, 123_456, -1, 9, after) == bytes(expected)


@pytest.mark.parametrize("version", range(7, 14))
@pytest.mark.parametrize("size", [1, 126, 127, 16_382, 16_383])
def test_a_layout_says_where_the_parts_of_a_request_lie(version: int, size: int) -> None:
    frame = memoryview(bytearray(b"12345678" + b"client" + written(one(b"r" * size), version)))
    found = read_one(frame, 14, version)
    assert found is not None
    layout = layout_of(frame, version, found[-1])
    if layout is None:
        assert size == 16_383 and version >= 9
        return
    assert layout.version == version
    start = 8 + layout.head_bytes + layout.length_bytes
    assert frame[start : start + size] == b"r" * size
    assert frame[start + size :] == layout.tail
    other = memoryview(bytearray(b"12345678" + b"client" + written(one(b"r" * 50), version)))
    assert other[: 8 + layout.head_bytes] == frame[: 8 + layout.head_bytes]
