from __future__ import annotations

from typing import Any

import pytest

from ground.sliced_work import in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.frames import message_codec
from protocol.frames.message_codec import (
    decode,
    decode_response,
    decode_steps,
    encode_request,
    encode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.headers import RequestHeader
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.primitives import MessageBuffer


class Slice:
    """Records that stay in a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self) -> bytes:
        return self.data


def test_arrays_within_arrays_may_have_so_many_items_and_any_number_of_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CVE-2026-111108: three bytes of a request become an object of a hundred."""
    monkeypatch.setattr(message_codec, "SLICES_MAX", 10)

    def is_read(request: Any, version: int) -> bool:
        out = MessageBuffer()
        request.write(out, version)
        body = memoryview(out.joined())
        try:
            return in_one_go(decode_steps(type(request), body, 0, version)) == request
        except ProtocolError as error:
            assert str(error).endswith("has more than 10 slices")
            return False

    log_dirs = [AlterReplicaLogDir("/", [AlterReplicaLogDirTopic("", [])] * 6_000)]
    assert is_read(AlterReplicaLogDirsRequest(log_dirs), 2)
    assert not is_read(AlterReplicaLogDirsRequest(log_dirs * 20), 2)
    records = [PartitionProduceData(0, bytes(10_000))] * 100
    assert is_read(ProduceRequest(None, 1, 1, [TopicProduceData("t", partition_data=records)]), 9)


@pytest.mark.parametrize("version", [0, 4])
def test_a_request_frame_is_its_header_and_body(version: int) -> None:
    request = HeartbeatRequest("g", 3, "m")
    frame = encode_request(request, version, 7, "me")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    view = memoryview(frame)[4:]
    *head, pos = read_request_header(view)
    assert head == [12, version, 7, "me"]
    if version == 4:
        pos = skip_header_tags(view, pos)
    assert decode(HeartbeatRequest, view, pos, version) == request
    header, header_end = RequestHeader.read(view, 0, 2 if version == 4 else 1)
    assert (header.client_id, header_end) == ("me", pos)


def test_a_null_client_id_is_legal() -> None:
    frame = memoryview(encode_request(HeartbeatRequest(), 0, 7, None))[4:]
    assert read_request_header(frame) == (12, 0, 7, None, 10)


def test_api_versions_keeps_the_first_response_header() -> None:
    out = encode_response(ApiVersionsResponse(), 3, 5)
    plain = MessageBuffer()
    ApiVersionsResponse().write(plain, 3)
    assert bytes(out[8:]) == bytes(plain)
    assert decode_response(ApiKey.API_VERSIONS, memoryview(out)[4:], 3)[0] == 5


def test_slices_count_in_the_size_and_stay_apart() -> None:
    records = Slice(b"r" * 1000)
    partition = PartitionData(0, records=records)  # type: ignore[arg-type]
    response = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[partition])])
    out = encode_response(response, 12, 1)
    assert int.from_bytes(out[:4], "big") == out.total_size() - 4 == len(out) - 4 + 1000
    parts = out.parts()
    assert parts[1] is records
    _, read = decode_response(ApiKey.FETCH, memoryview(out.joined())[4:], 12)
    assert bytes(read.responses[0].partitions[0].records) == b"r" * 1000


def test_a_client_id_is_read_as_kafka_reads_it() -> None:
    head = b"\0\x12\0\0\0\0\0\x07"
    for client_id, length, data in (
        ("caf\ufffd", b"\0\x04", b"caf\xe9"),
        (None, b"\xff\xfe", b""),
        (None, b"\x80\0", b""),
    ):
        frame = memoryview(head + length + data + b"\0")
        assert read_request_header(frame) == (18, 0, 7, client_id, 10 + len(data))
        assert skip_header_tags(frame, 10 + len(data)) == len(frame)


def test_wrong_bytes_are_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="too short"):
        read_request_header(memoryview(b"123456789"))
    with pytest.raises(ProtocolError, match="header"):
        read_request_header(memoryview(b"12345678\0\5abc"))
    with pytest.raises(ProtocolError, match="header"):
        skip_header_tags(memoryview(b"12345678\0\0\1"), 10)
    with pytest.raises(ProtocolError, match="HeartbeatRequest v0 ends too soon"):
        decode(HeartbeatRequest, memoryview(b"\0\1g"), 0, 0)
    with pytest.raises(ProtocolError, match="too short"):
        decode_response(ApiKey.HEARTBEAT, memoryview(b"12"), 0)
