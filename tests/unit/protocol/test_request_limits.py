"""Frames with very many items or tagged fields are read, or refused, as a running Kafka did."""

from __future__ import annotations

import json

from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode_steps, read_request_header, skip_header_tags
from tests.golden.request_limit_cases import RECORDED, cases

ANSWERED: dict[str, bool] = json.loads(RECORDED.read_text())


def is_read(frame: memoryview) -> bool:
    try:
        key, version, _, _, pos = read_request_header(frame)
        request = messages_of(ApiKey(key)).request
        if version >= request.FLEXIBLE_FROM:
            pos = skip_header_tags(frame, pos)
        for _ in decode_steps(request, frame, pos, version):
            pass
    except ProtocolError:
        return False
    return True


def test_every_case_is_recorded() -> None:
    assert [name for name, _ in cases()] == list(ANSWERED)
    assert {*ANSWERED.values()} == {True, False}


def test_a_frame_is_read_where_kafka_answers() -> None:
    wrong = [name for name, frame in cases() if is_read(memoryview(frame)) is not ANSWERED[name]]
    assert wrong == []
