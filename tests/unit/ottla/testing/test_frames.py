"""Frames: cut at any place they are the same messages, and what is none is told."""

from __future__ import annotations

import pytest

from ottla.testing.frames import (
    FRAME_BYTES_MAX,
    HELLO,
    BrokenFrame,
    JsonFrameReader,
    check_hello,
    encode,
)

MESSAGES = [
    HELLO,
    {"id": 1, "op": "seed", "args": {"key": b"\x00\xff", "value": None, "text": "ä", "n": [1.5]}},
    {"id": 2, "result": {"b64": b"", "more": 1}},
]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_messages_come_out_as_they_went_in(size: int) -> None:
    data = b"".join(map(encode, MESSAGES))
    reader, found = JsonFrameReader(), []
    for start in range(0, len(data), size):
        found += reader.feed(data[start : start + size])
    assert found == MESSAGES


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ((FRAME_BYTES_MAX + 1).to_bytes(4, "big"), "bytes"),
        (b"\x00\x00\x00\x01{", "no JSON:"),
        (b"\x00\x00\x00\x02[]", "no JSON object"),
        (b"\x00\x00\x00\x02\xff\xff", "no JSON:"),
    ],
)
def test_what_is_no_frame_is_told(data: bytes, why: str) -> None:
    with pytest.raises(BrokenFrame, match=why):
        list(JsonFrameReader().feed(data))


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="set cannot go over the control channel"):
        encode({"id": {1}})


@pytest.mark.parametrize("hello", [{"version": 2}, {"id": 1}])
def test_another_version_is_told(hello: dict[str, int]) -> None:
    check_hello(HELLO)
    with pytest.raises(BrokenFrame, match="two installations of Ottla are mixed"):
        check_hello(hello)
