"""What a search finds is what looking at each record finds, whatever the expression."""

from __future__ import annotations

import pytest

from console.messages.matching import BadPattern, Matcher, matcher_of
from protocol.record_batch import HEADER_SIZE, CorruptBatch, read_header
from protocol.records import Headers, Record, RecordBatchBuilder, iterate_records

RECORDS: list[tuple[bytes | None, bytes | None, Headers]] = [
    (b"k1", b"apple pie", ()),
    (b"k2", None, (("pie", None),)),
    (None, "Äpfel und 42".encode(), ()),
    (b"\xff\x00", b"", (("a", b"apple"),)),
    (b"k5", b"x" * 300 + b"42", ()),
    (b"apple", b"$.", ()),
]


@pytest.fixture(scope="module")
def batch() -> bytes:
    builder = RecordBatchBuilder(base_offset=10)
    for key, value, headers in RECORDS:
        builder.append(key, value, 1000, headers)
    return bytes(builder.build())


def found(matcher: Matcher, batch: bytes) -> list[int]:
    body = batch[HEADER_SIZE:]
    return [one.offset - 10 for one in matcher.found_in(read_header(batch), body)]


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
    ],
)
def test_what_is_found(text: str, how: dict[str, object], offsets: list[int], batch: bytes) -> None:
    matcher = matcher_of(text, **how)  # type: ignore[arg-type]
    assert found(matcher, batch) == offsets
    each = [one.offset - 10 for one in iterate_records(batch) if matcher.finds(one)]
    assert each == offsets


def test_records_are_whole(batch: bytes) -> None:
    (one,) = matcher_of("and 42|und 42", is_regex=True).found_in(
        read_header(batch), batch[HEADER_SIZE:]
    )
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
        list(matcher_of("x*", is_regex=True).found_in(read_header(batch), damaged))
