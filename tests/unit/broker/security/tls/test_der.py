"""DER: values that are whole, and bytes that are none."""

from __future__ import annotations

import pytest

from broker.security.tls.der import SEQUENCE, DerError, Value, object_identifier, values


def test_values_lie_one_after_the_other_and_in_each_other() -> None:
    inner = Value(0x0C, b"x" * 300)
    outer = Value(SEQUENCE, inner.encoded() + Value(2, b"\x05").encoded())
    assert values(outer.encoded()) == [outer]
    assert outer.items(SEQUENCE) == [inner, Value(2, b"\x05")]


@pytest.mark.parametrize("count", [0, 127, 128, 255, 256, 70_000])
def test_a_length_is_written_as_it_is_read(count: int) -> None:
    value = Value(4, bytes(count))
    assert values(value.encoded()) == [value]


def test_a_longer_form_of_a_length_is_read_and_written_short() -> None:
    assert values(b"\x0c\x81\x02ab")[0].encoded() == b"\x0c\x02ab"


@pytest.mark.parametrize(
    "data",
    [
        b"\x30",
        b"\x30\x05abc",
        b"\x30\x80ab\0\0",
        b"\x30\x85\0\0\0\0\1a",
        b"\x30\x82\1",
        b"\x1f\x01a",
        b"\x30\x84\xff\xff\xff\xff",
    ],
    ids=["cut", "short", "indefinite", "five", "cut length", "long tag", "huge"],
)
def test_what_is_no_der_is_refused(data: bytes) -> None:
    with pytest.raises(DerError):
        values(data)


def test_another_tag_than_the_wanted_is_refused() -> None:
    with pytest.raises(DerError):
        Value(4, b"").items(SEQUENCE)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("550403", "2.5.4.3"),
        ("0992268993f22c640101", "0.9.2342.19200300.100.1.1"),
        ("883701", "2.999.1"),
        ("2a03", "1.2.3"),
    ],
)
def test_object_identifiers(content: str, text: str) -> None:
    assert object_identifier(Value(6, bytes.fromhex(content))) == text


@pytest.mark.parametrize(
    "value",
    [
        Value(6, b""),
        Value(6, b"\x55\x84"),
        Value(4, b"\x55\x04"),
        Value(6, b"\xff" * 5000 + b"\x01"),
    ],
    ids=["empty", "cut", "octets", "endless"],
)
def test_what_is_no_object_identifier_is_refused(value: Value) -> None:
    with pytest.raises(DerError):
        object_identifier(value)
