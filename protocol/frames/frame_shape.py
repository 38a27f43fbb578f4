"""Frames as fixed bytes with holes: a request that is repeated, and an answer that is.

A client that asks the same again and again sends the same bytes, but for a few of them: the
correlation id, where it is, its records. So does whoever answers. A `Shape` says where the holes of
a kind of request are, and takes a frame apart into its fixed bytes and what is in the holes. A
`Reply` puts values into the holes of an answer. Neither knows what the bytes mean: two frames with
the same shape and the same fixed bytes are the same request, but for those values.

Owns nothing. Never does I/O. The generated classes stay the definition of all messages; what knows
a message (`protocol.frames.produce_codec`, `protocol.frames.fetch_codec`) says where its holes are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct, calcsize
from typing import Any, TypeAlias

from protocol.primitives import uvarint

Holes: TypeAlias = Sequence[tuple[int, str]]
"""Where each one is, in rising order, and its `struct` code."""
Fixed: TypeAlias = tuple[bytes, ...]
Values: TypeAlias = tuple[Any, ...]
"""Numbers, but for a client id."""

# Of a compact length and what it counts together: the most that two, three and four bytes are for.
_MOST_1, _MOST_2, _MOST_3, _MOST_4 = 0x7F, 0x3FFF + 1, 0x1FFFFF + 2, 0xFFFFFFF + 3
_CODES = {1: "B", 2: "H", 3: "3s", 4: "4s"}


def _form(size: int, holes: Holes) -> str:
    """Fixed bytes and holes in turn, beginning and ending with fixed bytes, which may be none."""
    form, at = ">", 0
    for position, code in holes:
        form += f"{position - at}s{code}"
        at = position + calcsize(f">{code}")
    return f"{form}{size - at}s"


class Shape:
    """Requests of one size, the same but for some numbers. Equal where the holes are."""

    __slots__ = ("_layout", "_unpack", "size")

    def __init__(self, size: int, holes: Holes) -> None:
        """`size`: of the frame, without the four bytes that say it."""
        self.size = size
        self._layout: tuple[object, ...] = (size, *holes)
        self._unpack = Struct(_form(size, holes)).unpack_from

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._layout == other._layout

    def __hash__(self) -> int:
        return hash(self._layout)

    def match(self, frame: memoryview) -> tuple[Fixed, Values] | None:
        """The fixed bytes, and what is in the holes; None for a frame of another shape."""
        if len(frame) != self.size:
            return None
        parts = self._unpack(frame)
        return parts[::2], parts[1::2]


class RecordsShape(Shape):
    """Requests of any size, the same but for some numbers and, behind them, a batch of records with
    its length: two more values, where the batch starts and where it ends."""

    __slots__ = ("_around", "_by_width", "_compact", "_head_bytes", "_tail", "_tail_bytes")

    def __init__(self, head_bytes: int, holes: Holes, compact: bool, tail_bytes: int) -> None:
        """`head_bytes`: up to the length, which is an unsigned varint of one more where it is
        `compact`, else an int32. `tail_bytes`: behind the records."""
        super().__init__(head_bytes, holes)
        self._layout = (head_bytes, compact, tail_bytes, *holes)
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._around = head_bytes + tail_bytes
        self._compact = compact
        form = _form(head_bytes, holes)
        codes = _CODES if compact else {4: "i"}
        self._by_width = {width: Struct(form + code).unpack_from for width, code in codes.items()}
        self._tail = Struct(f"{tail_bytes}s").unpack_from

    def match(self, frame: memoryview) -> tuple[Fixed, Values] | None:
        size = len(frame)
        both = size - self._around  # the length and the records
        length: int | bytes
        if not self._compact:
            width, length = 4, both - 4
        elif both <= _MOST_1:
            width, length = 1, both
        elif both <= _MOST_2:
            width, low = 2, both - 1 & 0x7F | 0x80
            if frame[self._head_bytes] != low:  # of many shapes nearly all are told by this
                return None
            length = (low << 8) + (both - 1 >> 7)
        elif both <= _MOST_4:
            width = 3 if both <= _MOST_3 else 4
            length = uvarint(both - width + 1)
        else:
            return None
        if both < width:
            return None
        parts = self._by_width[width](frame)
        if parts[-1] != length:
            return None
        end = size - self._tail_bytes
        fixed = parts[:-1:2] + self._tail(frame, end)
        return fixed, parts[1:-1:2] + (self._head_bytes + width, end)


class Reply:
    """Answers that are the same but for some numbers."""

    __slots__ = ("_pack", "_parts", "size")

    def __init__(self, frame: bytes, holes: Holes) -> None:
        """`frame` is one of them, its size first, whatever is in its holes."""
        form = Struct(_form(len(frame), holes))
        self.size = len(frame)
        self._pack: Callable[..., bytes] = form.pack
        self._parts: list[bytes | int] = list(form.unpack(frame))

    def fill(self, *values: int) -> bytes:
        """The answer with these values in its holes."""
        parts = self._parts.copy()
        parts[1::2] = values
        return self._pack(*parts)


def client_id_hole(frame: memoryview) -> tuple[int, str]:
    """The client id of a request, its length first: a hole, for whose request it is does not say
    what it is."""
    length = int.from_bytes(frame[8:10], signed=True)
    return 8, f"{2 + max(length, 0)}s"
