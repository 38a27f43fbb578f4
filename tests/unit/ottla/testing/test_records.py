"""Records as a test writes and reads them."""

from __future__ import annotations

import pytest

from ottla.testing.errors import Misuse
from ottla.testing.records import (
    Content,
    Message,
    Record,
    content,
    message_of,
)

RECORD = Record("t", 1, 7, 17, b"k", b'{"id": 1}', (("h", b"1"), ("h", b"2"), ("n", None)))


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (None, None),
        (b"x", b"x"),
        (bytearray(b"x"), b"x"),
        ("ü", "ü".encode()),
        ({"id": 1}, b'{"id": 1}'),
        ([1, None], b"[1, null]"),
        (3, b"3"),
    ],
)
def test_contents_are_bytes_text_or_json(given: Content, data: bytes | None) -> None:
    assert content(given) == data


def test_what_is_none_of_these_is_refused() -> None:
    with pytest.raises(Misuse, match="neither bytes nor text, nor can JSON say it"):
        content(object())


def test_messages_are_values_pairs_or_more() -> None:
    assert message_of(b"v") == Message(b"v")
    assert message_of(("k", "v")) == Message("v", "k")
    assert message_of(("k", "v", {"h": "1"})) == Message("v", "k", {"h": "1"})
    assert message_of(RECORD) == Message(RECORD.value, b"k", RECORD.headers, 17)
    with pytest.raises(Misuse, match="a tuple is"):
        message_of((1, 2, 3, 4))


def test_a_record_reads_its_value() -> None:
    assert RECORD.json() == {"id": 1}
    assert RECORD.text() == '{"id": 1}'
    assert (RECORD.header("h"), RECORD.header("n"), RECORD.header("x")) == (b"2", None, None)
    odd = Record("t", 0, 0, 0, None, b"\xff")
    with pytest.raises(AssertionError, match=r"the value of t-0@0 .* is no JSON"):
        odd.json()
    with pytest.raises(AssertionError, match="is no UTF-8"):
        odd.text()


def test_a_record_shows_where_it_is_and_not_all_of_it() -> None:
    assert str(RECORD).startswith("t-1@7 key=b'k' value=b'{\"id\": 1}' headers={")
    assert str(Record("t", 0, 1, 0, None, bytes(500))).endswith("… (500 bytes)")
    assert "key=null" in str(Record("t", 0, 1, 0, None, b""))
