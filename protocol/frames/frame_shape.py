"""Frames as fixed bytes with holes: a request that is repeated, and an answer that is.

A client that asks the same again and again sends the same bytes, but for a few of them: the
correlation id, where it is, its records. So does whoever answers. A `Shape` says where the holes of
a kind of request are, and takes a frame apart into its fixed bytes and what is in the holes. A
`Reply` puts values into the holes of an answer. Neither knows what the bytes mean: two frames with
the same shape and the same fixed bytes are the same request, but for those values.

A request's header is the caller's: its API key and version and its client id are holes without a
value, for who asks, and by which API, is not what is asked.

Owns nothing. Never does I/O. The generated classes stay the definition of all messages; what knows
a message (`protocol.frames.produce_codec`, `protocol.frames.fetch_codec`) says where its holes are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct, calcsize
from typing import TypeAlias

from protocol.primitives import uvarint

Holes: TypeAlias = Sequence[tuple[int, str]]
"""Where each one is, in rising order, and its `struct` code."""
Fixed: TypeAlias = bytes | tuple[bytes, ...]
Values: TypeAlias = tuple[int, ...]
"""The correlation id first."""

# Of a compact length and what it counts together: the most that two, three and four bytes are for.
_MOST_1, _MOST_2, _MOST_3, _MOST_4 = 0x7F, 0x3FFF + 1, 0x1FFFFF + 2, 0xFFFFFFF + 3
_CODES = {1: "B", 2: "H", 3: "3s", 4: "4s"}


def _form(start: int, size: int, holes: Holes) -> str:
    """Fixed bytes and holes in turn, beginning and ending with fixed bytes, which may be none."""
    form, at = "", start
    for position, code in holes:
        form += f"{position - at}s{code}"
        at = position + calcsize(f">{code}")
    return f"{form}{size - at}s"


def header_bytes(frame: memoryview) -> int:
    """Where a request's client id ends."""
    length = int.from_bytes(frame[8:10], signed=True)
    return 10 + max(length, 0)


class Shape:
    """Requests of one size, the same but for their header and some numbers. Equal where the holes
    are."""

    __slots__ = ("_layout", "_unpack", "size")

    def __init__(self, size: int, header: int, holes: Holes = ()) -> None:
        """`size`: of the frame, without the four bytes that say it; `header`: `header_bytes`."""
        self.size = size
        self._layout: tuple[object, ...] = (size, header, *holes)
        self._unpack = Struct(f">4xi{header - 8}x{_form(header, size, holes)}").unpack_from

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._layout == other._layout

    def __hash__(self) -> int:
        return hash(self._layout)

    def match(self, frame: memoryview) -> tuple[Fixed, Values] | None:
        """The fixed bytes, and what is in the holes; None for a frame of another shape."""
        if len(frame) != self.size:
            return None
        parts = self._unpack(frame)
        return parts[1::2], parts[::2]


class RecordsShape(Shape):
    """Requests of any size, the same but for their header and, behind `head` bytes, a batch of
    records with its length. Its values: the correlation id, where the batch starts and ends."""

    __slots__ = ("_around", "_before", "_by_width", "_compact", "_end", "_form", "_head",
                 "_length", "_same_size", "_start", "_tail", "_tail_at", "_tail_bytes",
                 "_unpack_same")  # fmt: skip

    def __init__(self, head: int, header: int, compact: bool, tail: bytes) -> None:
        """`head`: up to the length, which is an unsigned varint of one more where it is `compact`,
        else an int32. `tail`: what is behind the records."""
        super().__init__(head, header)
        self._layout = (head, header, compact, tail)
        self._head = head
        self._around = head + len(tail)
        self._compact = compact
        self._form = form = f">4xi{header - 8}x{head - header}s"
        codes = _CODES if compact else {4: "i"}
        self._by_width = {width: Struct(form + code).unpack_from for width, code in codes.items()}
        # Many producers send batches of one size, which is then taken apart in one go.
        self._before = self._same_size = -1
        self._unpack_same = self._unpack
        self._length: int | bytes = 0
        self._start = self._end = 0
        self._tail = tail
        self._tail_bytes = len(tail)
        self._tail_at = Struct(f"{len(tail)}s").unpack_from  # quicker than a view to compare

    def match(self, frame: memoryview) -> tuple[Fixed, Values] | None:
        size = len(frame)
        if size != self._same_size:
            return self._match(frame, size)
        correlation_id, head, length, tail = self._unpack_same(frame)
        if length != self._length or tail != self._tail:
            return None
        return head, (correlation_id, self._start, self._end)

    def _match(self, frame: memoryview, size: int) -> tuple[Fixed, Values] | None:
        both = size - self._around  # the length and the records
        length: int | bytes
        if not self._compact:
            width, length = 4, both - 4
        elif both <= _MOST_1:
            width, length = 1, both
        elif both <= _MOST_2:
            width, low = 2, both - 1 & 0x7F | 0x80
            if frame[self._head] != low:  # of many shapes nearly all are told by this
                return None
            length = (low << 8) + (both - 1 >> 7)
        elif both <= _MOST_4:
            width = 3 if both <= _MOST_3 else 4
            length = uvarint(both - width + 1)
        else:
            return None
        if both < width:
            return None
        correlation_id, head, found = self._by_width[width](frame)
        end = size - self._tail_bytes
        if found != length or self._tail_at(frame, end) != (self._tail,):
            return None
        start = self._head + width
        if size == self._before:
            self._same_size = size
            code = _CODES[width] if self._compact else "i"
            form = f"{self._form}{code}{end - start}x{self._tail_bytes}s"
            self._unpack_same = Struct(form).unpack_from
            self._length, self._start, self._end = length, start, end
        self._before = size
        return head, (correlation_id, start, end)


class Reply:
    """Answers that are the same but for some numbers."""

    __slots__ = ("_pack", "_parts", "size")

    def __init__(self, frame: bytes, holes: Holes) -> None:
        """`frame` is one of them, its size first, whatever is in its holes."""
        form = Struct(f">{_form(0, len(frame), holes)}")
        self.size = len(frame)
        self._pack: Callable[..., bytes] = form.pack
        self._parts: list[bytes | int] = list(form.unpack(frame))

    def fill(self, *values: int) -> bytes:
        """The answer with these values in its holes."""
        parts = self._parts.copy()
        parts[1::2] = values
        return self._pack(*parts)
