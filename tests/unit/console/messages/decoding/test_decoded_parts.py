"""Decoded parts as text: values that JSON has no form for."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from console.messages.decoding.decoded_parts import JsonText, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 11, 28, 18, 49, 42, 450_000, UTC), '"2026-11-28T18:49:42.450Z"'),
        (datetime(2026, 11, 28, 18, 49, 42, 450_001, UTC), '"2026-11-28T18:49:42.450001Z"'),
        (datetime(2026, 11, 28, 18, 49, 42), '"2026-11-28T18:49:42.000"'),
        (time(18, 49, 42), '"18:49:42.000"'),
        (time(18, 49, 42, 1), '"18:49:42.000001"'),
        (date(2026, 11, 28), '"2026-11-28"'),
        (Decimal("12.30"), '"12.30"'),
        (b"\xff\x00", '"0xff00"'),
        ({"at": [date(2026, 11, 28)]}, '{"at": ["2026-11-28"]}'),
        (JsonText('{"n": 1.10}'), '{"n": 1.10}'),
    ],
)
def test_texts(value: object, text: str) -> None:
    assert text_of(value) == text
