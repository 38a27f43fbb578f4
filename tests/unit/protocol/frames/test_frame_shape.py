"""A frame is the same request as another one exactly where its fixed bytes are the same."""

from __future__ import annotations

import pytest

from protocol.frames.frame_shape import RecordsShape, ReplyFrame, Shape, header_bytes
from protocol.primitives import uvarint


def test_a_frame_is_taken_apart_into_fixed_bytes_and_values() -> None:
    shape = Shape(27, 12, ((14, "q"),))
    frame = b"head" + (7).to_bytes(4) + b"\0\2me" + b"ab" + (1 << 40).to_bytes(8) + b"ended"
    assert shape.match(memoryview(frame)) == ((b"ab", b"ended"), (7, 1 << 40))
    other = b"HEAD" + frame[4:8] + b"\0\2MY" + frame[12:]
    assert shape.match(memoryview(other)) == shape.match(memoryview(frame))
    assert shape.match(memoryview(frame + b"x")) is None
    assert shape.match(memoryview(frame[:-1])) is None


def test_shapes_are_equal_where_their_holes_are() -> None:
    one = Shape(27, 12, ((14, "q"),))
    assert one == Shape(27, 12, ((14, "q"),)) and len({one, Shape(27, 12, ((14, "q"),))}) == 1
    assert one not in (Shape(28, 12, ((14, "q"),)), Shape(27, 10, ((14, "q"),)), Shape(27, 12), "")
    records = RecordsShape(21, 12, True, b"tail")
    assert records == RecordsShape(21, 12, True, b"tail")
    others = (
        Shape(21, 12),
        RecordsShape(21, 12, False, b"tail"),
        RecordsShape(21, 12, True, b"tale"),
        RecordsShape(20, 12, True, b"tail"),
        RecordsShape(21, 10, True, b"tail"),
    )
    assert records not in others


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("tail", [b"", b"\0\0\0"])
@pytest.mark.parametrize(
    "size", [1, 126, 127, 128, 16_381, 16_382, 16_383, 2_097_150, 2_097_151, 3_000_000]
)
@pytest.mark.parametrize("again", [True, False])
def test_records_of_any_size_are_found(compact: bool, tail: bytes, size: int, again: bool) -> None:
    """`again`: as the ones before were, which is told in another way."""
    shape = RecordsShape(14, 10, compact, tail)
    length = uvarint(size + 1) if compact else size.to_bytes(4)
    head = b"head" + (7).to_bytes(4) + b"\0\0rest"
    frame = head + length + b"r" * size + tail
    start = len(head) + len(length)
    for _ in range(2 if again else 0):
        assert shape.match(memoryview(frame)) is not None
    assert shape.match(memoryview(frame)) == (b"rest", (7, start, start + size))
    if tail:
        assert shape.match(memoryview(frame[:-1] + b"\1")) is None
    for other in (frame + b"x", frame[:-1], head, b""):
        assert shape.match(memoryview(other)) is None
    for position in range(len(head), start):
        for bit in range(8):
            changed = bytearray(frame)
            changed[position] ^= 1 << bit
            assert shape.match(memoryview(changed)) is None, (position, bit)


def test_a_frame_of_no_length_at_all_is_of_no_such_shape() -> None:
    for compact in (True, False):
        shape = RecordsShape(12, 10, compact, bytes(3))
        assert all(shape.match(memoryview(bytes(size))) is None for size in range(15))


def test_an_answer_is_the_same_but_for_its_holes() -> None:
    frame = b"size" + bytes(4) + b"-" + bytes(8) + b"end"
    reply = ReplyFrame(frame, ((4, "i"), (9, "q")))
    assert reply.fill(5, -1) == b"size\0\0\0\5-" + b"\xff" * 8 + b"end"
    assert reply.fill(0, 0) == frame
    assert reply.size == len(frame)


@pytest.mark.parametrize(("client_id", "end"), [(b"\0\2me", 12), (b"\0\0", 10), (b"\xff\xff", 10)])
def test_a_header_ends_behind_the_client_id(client_id: bytes, end: int) -> None:
    assert header_bytes(memoryview(b"\0\0\0\x0c\0\0\0\1" + client_id + b"rest")) == end
