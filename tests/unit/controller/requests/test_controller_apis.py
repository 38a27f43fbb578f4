"""`controller_apis`: the answers that Apache Kafka gave to the same requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.message_codec import decode_response, encode_response
from tests.golden.controller_cases import RECORDED, cases, comparable, sorted_answer
from tests.unit.controller.controller_fixture import OneNode

EXPECTED = json.loads(RECORDED.read_text())


def as_sent(answer: Any, request: Any, version: int) -> Any:
    """The answer as it comes out of the wire."""
    frame = encode_response(answer, version, 7).joined()[4:]
    return decode_response(ApiKey(request.API_KEY), memoryview(frame), version)[1]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    node = OneNode().start()
    node.register()
    return {
        name: sorted_answer(comparable(as_sent(node.call(request, version), request, version)))
        for name, request, version in cases()
    }


@pytest.mark.parametrize("name", [name for name, _, _ in cases()])
def test_answers_as_kafka_does(name: str, answers: dict[str, Any]) -> None:
    assert answers[name] == EXPECTED[name]
