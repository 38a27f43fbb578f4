"""A filter selects records by their fields, exactly and without errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from console.messages.decoding.decoded_parts import DecodedParts, JsonText
from console.messages.filtering.condition import condition_of
from protocol.record_batch import HEADER_SIZE, read_header
from protocol.records import Record, RecordBatchBuilder

ORDER = {
    "status": "PAID",
    "amount": 120,
    "total": 0.5,
    "id": 9007199254740993,
    "note": None,
    "gift": True,
    "tags": ["a", "b"],
    "customer": {"city": "東京", "zip-code": "0123"},
    "lines": [{"sku": "A-1"}],
}
HEADERS = (("trace", b"1"), ("trace", b"2"), ("raw", b"\xff"), ("none", None))


def holds(text: str, value: bytes | None, key: bytes | None = b"k-7") -> bool:
    return condition_of(text).holds(3, Record(42, 1764144000000, key, value, HEADERS), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('value.status == "PAID" && value.amount > 100', True),
        ('value.status == "PAID" && value.amount > 120', False),
        ('value.status != "NEW" and not value.amount < 100', True),
        ('value.status in ["NEW", "PAID"]', True),
        ('"b" in value.tags', True),
        ('"c" in value.tags', False),
        ('"status" in value && "trace" in headers', True),
        ('value.tags == ["a", "b"]', True),
        ("value.id == 9007199254740993", True),
        ("value.id == 9007199254740992", False),
        ("value.total == 0.5 && value.total == 5e-1", True),
        ("value.amount == 120.0", True),
        ("value.note == null", True),
        ("value.note < 3", False),
        ("value.gift", True),
        ("value.gift == 1", False),
        ("value.status == 3", False),
        ("value.status > 3", False),
        ("!(value.status > 3)", False),
        ('value.customer.city.startsWith("東")', True),
        ('value.customer["zip-code"] == 123', True),
        ('value.customer["zip-code"] == "123"', False),
        ('value.lines[0].sku.contains("-")', True),
        ('value.lines[1].sku == "A-1"', False),
        ('value.lines[0].sku.endsWith("1")', True),
        ('value.lines[0].sku.matches("^a")', False),
        ('value.lines[0].sku.matches("(?i)^a")', True),
        (r'value.lines[0].sku.matches(r"\d$")', True),
        ("size(value.tags) == 2 && size(value.status) == 4", True),
        ("size > 100 && size < 1000", True),
        ("partition == 3 && offset >= 42", True),
        ('timestamp >= "2025-11-26" && timestamp < "2025-11-27"', True),
        ('key == "k-7"', True),
        ('key.contains("7")', True),
        ('headers.trace == "2" && headers["trace"] == 2', True),
        ("headers.none == null", True),
        ('headers.raw == "x"', False),
        # A record without the field matches neither a comparison nor its negation.
        ("value.missing == 1", False),
        ("value.missing != 1", False),
        ("!(value.missing == 1)", False),
        ("value.missing.deeper == null", False),
        ("value.note.deeper == null", False),
        ("has(value.missing)", False),
        ("has(value.note)", True),
        ("!has(value.missing)", True),
        ("value.missing == 1 || value.gift", True),
        ("value.missing == 1 && value.gift", False),
    ],
)
def test_a_json_value(text: str, expected: bool) -> None:
    assert holds(text, json.dumps(ORDER).encode()) is expected


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (None, "value == null", True),
        (None, "value.a == null", False),
        (b"", 'value == ""', True),
        (b"plain", 'value == "plain"', True),
        (b"plain", "value.a == 1", False),
        (b"12", "value > 11.5", True),
        (b'"quoted"', 'value == "quoted"', True),
        (b"\xff\x00", 'value == ""', False),
        (b"\xff\x00", "!(value == 1)", False),
        (b'{"a": 0.1000000000000000055}', "value.a == 0.1", False),
        (b'{"a": 0.1000000000000000055}', "value.a == 0.1000000000000000055", True),
        (b'{"a": 1e400}', "value.a > 1e399", True),
        (b'{"a": 1e99999999999999999999}', "value.a > 1", False),
        (b'{"a": 123456789012345678901}', "value.a == 123456789012345678901", True),
        (b'{"a": NaN}', "value.a > 1 || value.a < 1 || value.a == 1", False),
        (b'{"a": 1', "value.a == 1", False),
        (b"[" * 100_000, "value == 1", False),
        (b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", "value.a == value.a", True),
    ],
)
def test_other_values(value: bytes | None, text: str, expected: bool) -> None:
    assert holds(text, value) is expected


def test_a_json_key() -> None:
    assert holds("key.id == 7", None, b'{"id": 7}')
    assert not holds("key == 7", None, b"\xff")
    assert holds("key == null", None, None)


def test_decoded_parts() -> None:
    value = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "price": Decimal("12.30"),
        "double": 0.1,
        "nan": float("nan"),
        "bytes": b"\xff",
    }
    decoded = DecodedParts("s", JsonText('{"id": 0.10}'), value)
    record = Record(0, 0, b"\0key", b"\0value")
    for text in (
        'value.at == "2026-01-02T00:00:00.000Z"',
        "value.price == 12.3",
        "value.double == 0.1",
        'value.bytes == "0xff"',
        "key.id == 0.1",
    ):
        assert condition_of(text).holds(0, record, decoded), text
    assert not condition_of("value.nan == value.nan").holds(0, record, decoded)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('value.status == "PAID"', 1),
        ('value.n == 5 && value.status == "PAID"', 1),
        ('value.status.startsWith("PA")', 1),
        ('value.status != "NEW"', 50),
        ('value.status == "PAID" || value.n == 7', 50),
        ('value.status == "PAID" || value.id == 1005', 1),
        ('value.status in ["PAID", "LOST"]', 1),
        ("value.id == 1005", 1),
        ("value.id == 1005.0 && value.n > 1", 1),
        ('value.n == "5"', 50),
        ('value.status == "PAID" && value.n in [5, 6]', 1),
        ('value.status in ["PAID", null]', 50),
        ('value.status == "PA\\"ID"', 50),
        ('!(value.status == "PAID")', 50),
    ],
)
def test_batches_are_scanned_for_a_text_that_a_match_needs(text: str, number: int) -> None:
    builder = RecordBatchBuilder()
    for n in range(50):
        value = {"n": n, "id": 1000 + n, "status": "PAID" if n == 5 else "NEW"}
        builder.append(None, json.dumps(value).encode(), 0)
    data = bytes(builder.build())
    condition = condition_of(text)
    candidates = list(condition.candidates(read_header(data), data[HEADER_SIZE:]))
    assert len(candidates) == number
    if number == 1:
        assert condition.holds(0, candidates[0], None)


@pytest.mark.parametrize(
    "value", ["1200", "1200.0", "1.2e3", "12E+2", "120000e-2", '"1200"', '"01200.00"', '"1.2e3"']
)
@pytest.mark.parametrize("literal", ["1200", "1200.00", "1.2e3", "12e2"])
def test_each_form_of_a_number_is_found(value: str, literal: str) -> None:
    builder = RecordBatchBuilder()
    for data in (b'{"a": 1}', f'{{"a": {value}}}'.encode(), b"x"):
        builder.append(None, data, 0)
    batch = bytes(builder.build())
    condition = condition_of(f"value.a == {literal}")
    candidates = condition.candidates(read_header(batch), batch[HEADER_SIZE:])
    assert [one.offset for one in candidates if condition.holds(0, one, None)] == [1]


def test_escapes_of_json_are_no_obstacle() -> None:
    builder = RecordBatchBuilder()
    builder.append(None, rb'{"city": "\u6771\u4eac"}', 0)
    data = bytes(builder.build())
    condition = condition_of('value.city == "東京"')
    (record,) = condition.candidates(read_header(data), data[HEADER_SIZE:])
    assert condition.holds(0, record, None)


def test_the_texts_to_mark() -> None:
    condition = condition_of(
        'value.a == "A" && (key in ["B", "C"] || value.b.contains("D")) && value.c != "E"'
    )
    assert condition.texts == ("A", "B", "C", "D")
