"""What may be sent; that it is sent, `tests/compat/console/test_record_flow.py` shows."""

from __future__ import annotations

from typing import Any

import pytest

from console.endpoints import BadAsk
from console.flow.sending import VALUE_MAX_BYTES, RecordToSend, record_of


def test_what_is_asked_for() -> None:
    assert record_of({"topic": "t"}) == RecordToSend("t", 0, -1, b"")
    body = {"topic": "t", "partition": 2, "acks": "1", "value": "\u00e9"}
    assert record_of(body) == RecordToSend("t", 2, 1, b"\xc3\xa9")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (None, "choose a topic"),
        ({"topic": ""}, "choose a topic"),
        ({"topic": ["t"]}, "choose a topic"),
        ({"topic": "t", "partition": -1}, "whole number"),
        ({"topic": "t", "partition": True}, "whole number"),
        ({"topic": "t", "acks": "2"}, "acks must be 0, 1 or all"),
        ({"topic": "t", "value": "x" * (VALUE_MAX_BYTES + 1)}, "more than"),
    ],
)
def test_what_cannot_be(body: Any, why: str) -> None:
    with pytest.raises(BadAsk, match=why):
        record_of(body)
