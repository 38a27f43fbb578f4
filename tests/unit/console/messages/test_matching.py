"""What a search finds is what looking at each record finds, whatever the expression."""

from __future__ import annotations

import pytest

from console.messages.matching import BadPattern, Matcher, compiled, matcher_of, records_with
from protocol.record_batch import HEADER_SIZE, CorruptBatch, read_header
from protocol.records import Headers, Record, RecordBatchBuilder, iterate_records

RECORDS: list[tuple[bytes | None, bytes | None, Headers]] = [
    (b"k1", b"apple pie", ()),
    (b"k2", None, (("pie", None),)),
    (None, "Äpfel und 42".encode(), ()),
    (b"\xff\x00", b"", (("a", b"apple"),)),
    (b"k5", b"x" * 300 + b"42", ()),
    (b"apple", b"$.", ()),
    (b"k6", rb'{"city": "\u6771\u4eac", "name": "Bj\u00f6rn", "path": "a\/b"}', ()),
    (b"k7", b"\xc2\xff\xfe\xc3\xa9", ()),
    (b"k8", b"no JSON: \\u6771", ()),
]


@pytest.fixture(scope="module")
def batch() -> bytes:
    builder = RecordBatchBuilder(base_offset=10)
    for key, value, headers in RECORDS:
        builder.append(key, value, 1000, headers)
    return bytes(builder.build())


def found(matcher: Matcher, batch: bytes) -> list[int]:
    candidates = matcher.candidates(read_header(batch), batch[HEADER_SIZE:])
    return [record.offset - 10 for record in candidates if matcher.finds(record)]


@pytest.mark.parametrize(
    ("text", "how", "offsets"),
    [
        ("apple", {}, [0, 3, 5]),
        ("APPLE", {}, [0, 3, 5]),
        ("APPLE", {"with_case": True}, []),
        ("äpfel", {}, [2]),
        ("pie", {"parts": ("key",)}, []),
        ("pie", {"parts": ("headers",)}, [1]),
        ("apple", {"parts": ("key", "value")}, [0, 5]),
        ("$.", {}, [5]),
        ("^apple", {"is_regex": True}, [0, 3, 5]),
        ("^apple$", {"is_regex": True}, [3, 5]),
        (r"42\z", {"is_regex": True}, [2, 4]),
        (r"\bund\b.*\d+", {"is_regex": True}, [2]),
        (r"\Q$.\E", {"is_regex": True}, [5]),
        ("[^$]ie$", {"is_regex": True}, [0, 1]),
        (r"[\]$]\.", {"is_regex": True}, [5]),
        ("^*k5", {"is_regex": True}, [4]),
        ("^$", {"is_regex": True, "parts": ("value",)}, [3]),
        ("\u6771\u4eac", {}, [6]),
        ("BJ\u00d6RN", {}, [6]),
        ("BJ\u00d6RN", {"with_case": True}, []),
        ("a/b", {}, [6]),
        (r"\u6771", {}, [6, 8]),
        (r'"Bj.rn"', {"is_regex": True}, [6]),
        ("\u00c4PFEL", {}, [2]),
        (r"\xff\xfe", {"is_regex": True}, [7]),
        (r"\xff\xfe\xe9", {"is_regex": True}, []),
        (r"\x{e9}", {"is_regex": True}, [7]),
        (r"^k[\x80-\xff]", {"is_regex": True}, []),
        (r"\\xff", {"is_regex": True}, []),
    ],
)
def test_what_is_found(text: str, how: dict[str, object], offsets: list[int], batch: bytes) -> None:
    matcher = matcher_of(text, **how)  # type: ignore[arg-type]
    assert found(matcher, batch) == offsets
    each = [one.offset - 10 for one in iterate_records(batch) if matcher.finds(one)]
    assert each == offsets


def test_records_are_whole(batch: bytes) -> None:
    pattern = compiled("and 42|und 42", is_regex=True, with_case=False).loose
    (one,) = records_with(pattern, read_header(batch), batch[HEADER_SIZE:])
    assert one == Record(12, 1000, None, "Äpfel und 42".encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "enter a text"),
        ("a" * 1001, "at most 1000 characters"),
        ("a{0,1000}" * 100, "too large"),
        (r"\pL" * 300, "too large"),
        ("(", r"not a regular expression: missing \)"),
        (r"(?=a)", "not a regular expression"),
    ],
)
def test_what_is_none(text: str, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadPattern, match=reason):
        matcher_of(text, is_regex=True)
    assert capfd.readouterr().err == ""


def test_a_body_that_ends_within_a_record(batch: bytes) -> None:
    damaged = bytes([0x80]) + b"apple"[:0]
    with pytest.raises(CorruptBatch):
        list(matcher_of("x*", is_regex=True).candidates(read_header(batch), damaged))
