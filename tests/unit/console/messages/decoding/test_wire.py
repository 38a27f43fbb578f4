"""The id of a schema before a value, and which message of it, as serializers write them."""

from __future__ import annotations

import pytest

from console.messages.decoding.wire import Framed, Undecodable, framed, message_indexes


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\0\0\0\1\x02abc", Framed(258, b"abc")),
        (b"\0\xff\xff\xff\xffx", Framed(0xFFFFFFFF, b"x")),
        (b"\1\0\0\1\x02abc", None),
        (b"\0\0\0\1\x02", None),
        (b"{}", None),
        (b"", None),
    ],
)
def test_the_id(data: bytes, found: Framed | None) -> None:
    assert framed(data) == found


@pytest.mark.parametrize(
    ("payload", "indexes"), [(b"\0rest", (0,)), (b"\2\2rest", (1,)), (b"\4\0\4rest", (0, 2))]
)
def test_the_message(payload: bytes, indexes: tuple[int, ...]) -> None:
    assert message_indexes(payload) == (indexes, b"rest")


@pytest.mark.parametrize("payload", [b"", b"\4\0", b"\xff", b"\1", b"\x7e" + b"\0" * 99])
def test_what_names_none(payload: bytes) -> None:
    with pytest.raises(Undecodable, match="message of the schema"):
        message_indexes(payload)
