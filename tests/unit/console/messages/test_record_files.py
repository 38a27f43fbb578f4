"""Parts of records as files: exact bytes, and JSON of which `ottla produce` makes the same."""

from __future__ import annotations

import json

import pytest

from client.records.batching import parse_json
from console.endpoints import NotHere
from console.messages.record_files import HEADERS, KEY, RECORD, VALUE, check_part, file_of
from protocol.records import Headers, Record

HEADERS_OF_ALL_KINDS: Headers = (
    ("", b"empty name"),
    ("twice", b"1"),
    ("twice", None),
    ("bytes", b"\xff\x00"),
    ("lines", b"a\r\nb"),
    ("empty", b""),
)


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"k", b"v"), (None, None), (b"", b""), (b"\xff", b"\x80\r\n"), (b"'$(x)`", b'{"a": 1.10}')],
)
def test_produce_makes_the_same_record_of_the_json(key: bytes | None, value: bytes | None) -> None:
    record = Record(7, 1000, key, value, HEADERS_OF_ALL_KINDS)
    file = file_of("t", 2, record, RECORD)
    assert file.name == "t-2-7.json"
    assert file.data.count(b"\n") == 1
    assert json.loads(file.data)["partition"] == 2
    made = parse_json(file.data)
    assert (made.key, made.value, made.headers, made.timestamp) == (
        key,
        value,
        HEADERS_OF_ALL_KINDS,
        1000,
    )


def test_headers_are_those_of_the_records_json() -> None:
    record = Record(7, 1000, None, b"v", HEADERS_OF_ALL_KINDS)
    file = file_of("t", 2, record, HEADERS)
    assert file.name == "t-2-7.headers.json"
    assert json.loads(file.data) == json.loads(file_of("t", 2, record, RECORD).data)["headers"]
    assert file_of("t", 2, record._replace(headers=()), HEADERS).data == b"[]\n"


def test_key_and_value_are_their_bytes() -> None:
    record = Record(7, 1000, b"\xff", None, ())
    assert file_of("t", 2, record, KEY).data == b"\xff"
    with pytest.raises(NotHere, match="the value of this record is null"):
        file_of("t", 2, record, VALUE)
    with pytest.raises(NotHere, match="no other: ask for its key, value, headers or record"):
        check_part("other")
