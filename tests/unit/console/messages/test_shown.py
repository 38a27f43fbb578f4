"""Bytes come as text or base64, cut between characters, and never raw."""

from __future__ import annotations

import json

import pytest

from console.messages.shown import (
    LISTED,
    OPENED,
    bytes_shown,
    headers_shown,
    record_shown,
    text_shown,
)
from protocol.records import Record
from tests.unit.console.one_console import plain


@pytest.mark.parametrize(
    ("data", "most", "shown"),
    [
        (None, 9, None),
        (b"", 9, {"text": "", "size": 0}),
        ("grün".encode(), 9, {"text": "grün", "size": 5}),
        ("grün".encode(), 3, {"text": "gr", "size": 5, "cut": True}),
        ("€€".encode(), 4, {"text": "€", "size": 6, "cut": True}),
        (b"\x00\x01\xff", 9, {"base64": "AAH/", "size": 3}),
        (b"\xff" * 9, 3, {"base64": "////", "size": 9, "cut": True}),
        (b"a\xff", 9, {"base64": "Yf8=", "size": 2}),
    ],
)
def test_bytes(data: bytes | None, most: int, shown: object) -> None:
    assert plain(bytes_shown(data, most)) == shown


def test_text_that_was_decoded() -> None:
    assert plain(text_shown("abc", 2)) == {"text": "abc", "size": 2}
    assert plain(text_shown("abc", 2, 1)) == {"text": "a", "size": 2, "cut": True}


def test_headers_of_any_name_are_json() -> None:
    name = b"\xff".decode("utf-8", "surrogateescape")
    shown = plain(headers_shown(((name, None), ("a", b"1"))))
    assert json.loads(json.dumps(shown)) == [["\\xff", None], ["a", {"text": "1", "size": 1}]]


def test_a_listed_record_is_cut_and_an_opened_one_is_whole() -> None:
    headers = (("h", b"v" * (LISTED.header_bytes + 1)),) * (LISTED.headers + 3)
    record = Record(7, 1000, b"k" * (LISTED.data_bytes + 1), None, headers)
    shown = plain(record_shown(2, record))
    assert shown["partition"] == 2
    assert shown["offset"] == 7
    assert shown["timestamp"] == 1000
    assert shown["key"] == {
        "text": "k" * LISTED.data_bytes,
        "size": LISTED.data_bytes + 1,
        "cut": True,
    }
    assert shown["value"] is None
    assert len(shown["headers"]) == LISTED.headers
    assert shown["headers"][0][1]["cut"] is True
    assert shown["more_headers"] == 3
    assert shown["size"] == LISTED.data_bytes + 1 + len(headers) * (LISTED.header_bytes + 2)

    shown = plain(record_shown(2, record, OPENED))
    assert "cut" not in shown["key"]
    assert [len(value["text"]) for _, value in shown["headers"]] == [1025] * 103
    assert "more_headers" not in shown
