"""A record that a search found says which of its texts matched, and where the first one is."""

from __future__ import annotations

from typing import Any

from console.answers import ABSENT
from console.messages.decoding.decoded_parts import DecodedParts
from console.messages.filtering.condition import condition_of
from console.messages.match_marks import TEXTS_MAX, match_of
from console.messages.matching import matcher_of
from console.messages.record_matching import RecordMatcher
from console.messages.shown import RecordMatch, record_shown
from protocol.records import Headers, Record


def matched(
    text: str | None,
    value: bytes | None,
    key: bytes | None = None,
    headers: Headers = (),
    decoded: DecodedParts | None = None,
    condition: str | None = None,
    **how: Any,
) -> RecordMatch:
    return match_of(
        None if text is None else matcher_of(text, **how),
        None if condition is None else condition_of(condition),
        Record(0, 0, key, value, headers),
        decoded,
    )


def test_each_form_of_the_text() -> None:
    assert matched("paid", b"PAID, paid, Paid, PAID") == RecordMatch(
        ["PAID", "paid", "Paid"], "value", 0
    )
    assert matched(r"\d+", b"a 12 b 3", is_regex=True) == RecordMatch(["12", "3"], "value", 2)


def test_keys_and_headers() -> None:
    found = matched("x", b"y", b"_X_", (("x", None), ("n", b"xX")))
    assert found == RecordMatch(["X", "x"], "key", 1)
    assert matched("x", b"x", b"x", parts=("key",)) == RecordMatch(["x"], "key", 0)
    assert matched("x", None, None, (("n", b"x"),)) == RecordMatch(["x"])


def test_a_match_far_inside_a_value() -> None:
    value = "é".encode() * 500_000 + b"needle" + b"-" * 1000
    found = matched("needle", value)
    assert (found.part, found.at) == ("value", 500_000)
    assert isinstance(found.around, str)
    assert found.around.startswith("é" * 8 + "needle-") and len(found.around) < 400


def test_texts_behind_escapes_are_shown_as_characters() -> None:
    found = matched("\u6771", rb'{"city": "\u6771\u4eac"}')
    assert found == RecordMatch(["\u6771"], "value", 10, '{"city": "\u6771\u4eac"}')


def test_decoded_values() -> None:
    decoded = DecodedParts("s", value={"status": "PAID"})
    assert matched("paid", b"\0\1", decoded=decoded) == RecordMatch(["PAID"], "value", 12)


def test_the_texts_of_a_filter() -> None:
    condition = 'value.status == "PAID" && value.n in ["a"]'
    found = matched(None, b'{"n": "a", "status": "PAID"}', condition=condition)
    assert found == RecordMatch(["PAID", "a"], "value", 22)
    assert matched(None, b"5", condition="offset >= 0") == RecordMatch([])


def test_bytes_are_not_marked_and_the_number_of_texts_is_limited() -> None:
    assert matched(r"\xff", b"\xff\xfe", is_regex=True) == RecordMatch([])
    numbers = " ".join(map(str, range(1000))).encode()
    assert len(matched(r"\d+", numbers, is_regex=True).texts) == TEXTS_MAX
    assert matched(".*", b"a" * 500, is_regex=True).texts == []
    assert matched("^", b"a", is_regex=True).texts == []


def test_a_shown_record_has_its_match() -> None:
    matcher = RecordMatcher(matcher_of("b"))
    shown = matcher.marked(record_shown)(0, Record(1, 2, None, b"abc"))
    assert shown.match == RecordMatch(["b"], "value", 1)
    assert record_shown(0, Record(1, 2, None, b"abc")).match is ABSENT
