"""Frames of real clients and of Apache Kafka: read, written again, equal byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol.api_keys import ApiKey, messages_of
from protocol.frames.message_codec import (
    decode,
    decode_response,
    encode_request,
    encode_response,
    read_request_header,
    skip_header_tags,
)

HERE = Path(__file__).resolve().parent
REQUESTS = sorted(HERE.glob("*/*_request.bin"))
RESPONSES = sorted(HERE.glob("*/*_response.bin"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def api_of(path: Path) -> tuple[ApiKey, int]:
    found = re.fullmatch(r"(\w+)_v(\d+)_(?:request|response)", path.stem)
    assert found
    return ApiKey[found[1].upper()], int(found[2])


def test_there_is_traffic_of_every_client() -> None:
    clients = {path.parent.name for path in REQUESTS}
    assert clients >= {"aiokafka", "apache-kafka", "java", "kafka-python", "librdkafka"}
    assert len(REQUESTS) == len(RESPONSES) > 90


@pytest.mark.parametrize("path", REQUESTS, ids=name_of)
def test_requests(path: Path) -> None:
    frame = memoryview(path.read_bytes())
    key, version = api_of(path)
    *api, correlation_id, client_id, pos = read_request_header(frame)
    assert api == [key, version]
    message = messages_of(key).request
    if version >= message.FLEXIBLE_FROM:
        pos = skip_header_tags(frame, pos)
    request = decode(message, frame, pos, version)
    again = encode_request(request, version, correlation_id, client_id)
    assert again[4:] == frame
    assert int.from_bytes(again[:4]) == len(frame)


@pytest.mark.parametrize("path", RESPONSES, ids=name_of)
def test_responses(path: Path) -> None:
    frame = memoryview(path.read_bytes())
    key, version = api_of(path)
    correlation_id, response = decode_response(key, frame, version)
    assert encode_response(response, version, correlation_id).joined()[4:] == frame
