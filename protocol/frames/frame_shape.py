"""Repeated requests and responses as fixed bytes with holes, which saves parsing them.

A client that repeats a request sends the same bytes except for a few: the correlation id, an
offset, the records. The same holds for the responses. A `Shape` has the positions of these holes in
one kind of request, and splits a frame into its fixed bytes and the values in the holes. A
`ReplyFrame` puts values into the holes of a response. Two frames with the same shape and the same
fixed bytes are the same request except for the values.

In a request's header, the API key, the version and the client id are holes without a value, because
the caller reads the header itself.

Owns nothing, and never knows what the bytes mean. Never does I/O. The generated classes remain the
definition of all messages; the modules of single messages (`protocol.frames.produce_codec`,
`protocol.frames.fetch_codec`) have the positions of their holes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct, calcsize
from typing import TypeAlias

from protocol.primitives import uvarint

Holes: TypeAlias = Sequence[tuple[int, str]]
"""The position and the `struct` code of each hole, in rising order of positions."""
Fixed: TypeAlias = bytes | tuple[bytes, ...]
Values: TypeAlias = tuple[int, ...]
"""The values in the holes, the correlation id first."""

# The greatest sizes of a compact length and its bytes together, for a length of 1 to 4 bytes.
_MOST_1, _MOST_2, _MOST_3, _MOST_4 = 0x7F, 0x3FFF + 1, 0x1FFFFF + 2, 0xFFFFFFF + 3
_CODES = {1: "B", 2: "H", 3: "3s", 4: "4s"}


def _form(start: int, size: int, holes: Holes) -> str:
    """Return the `struct` format from `start` to `size`: fixed bytes and holes in turn, with fixed
    bytes, perhaps none, at both ends."""
    form, at = "", start
    for position, code in holes:
        form += f"{position - at}s{code}"
        at = position + calcsize(f">{code}")
    return f"{form}{size - at}s"


def header_bytes(frame: memoryview) -> int:
    """Return the offset at which a request's client id ends."""
    length = int.from_bytes(frame[8:10], signed=True)
    return 10 + max(length, 0)


class Shape:
    """The shape of requests of one size that differ only in their header and some numbers. Shapes
    are equal if their holes are."""

    __slots__ = ("_layout", "_unpack", "size")

    def __init__(self, size: int, header: int, holes: Holes = ()) -> None:
        """`size` is the frame's, without its size prefix; `header` is that of `header_bytes`."""
        self.size = size
        self._layout: tuple[object, ...] = (size, header, *holes)
        self._unpack = Struct(f">4xi{header - 8}x{_form(header, size, holes)}").unpack_from

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._layout == other._layout

    def __hash__(self) -> int:
        return hash(self._layout)

    def match(self, frame: memoryview) -> tuple[Fixed, Values] | None:
        """Return the fixed bytes and the values in the holes; None: the frame has another shape."""
        if len(frame) != self.size:
            return None
        parts = self._unpack(frame)
        return parts[1::2], parts[::2]


class RecordsShape(Shape):
    """The shape of requests of any size that differ only in their header and in their records, with
    their length. The values are the correlation id and the offsets at which the records start and
    end."""

    __slots__ = ("_around", "_before", "_by_width", "_compact", "_end", "_form", "_head",
                 "_length", "_same_size", "_start", "_tail", "_tail_at", "_tail_bytes",
                 "_unpack_same")  # fmt: skip

    def __init__(self, head: int, header: int, compact: bool, tail: bytes) -> None:
        """`head` is the offset of the records' length: an unsigned varint of length + 1 if
        `compact`, else an int32. `tail` has the bytes after the records."""
        super().__init__(head, header)
        self._layout = (head, header, compact, tail)
        self._head = head
        self._around = head + len(tail)
        self._compact = compact
        self._form = form = f">4xi{header - 8}x{head - header}s"
        codes = _CODES if compact else {4: "i"}
        self._by_width = {width: Struct(form + code).unpack_from for width, code in codes.items()}
        # Many producers send batches of one size; then one `struct` call splits the frame.
        self._before = self._same_size = -1
        self._unpack_same = self._unpack
        self._length: int | bytes = 0
        self._start = self._end = 0
        self._tail = tail
        self._tail_bytes = len(tail)
        self._tail_at = Struct(f"{len(tail)}s").unpack_from  # quicker than a view to compare

    def match(self, frame: memoryview) -> tuple[Fixed, Values] | None:
        """Return the frame's fixed values, and its correlation id and span of records.

        Returns None if the frame has another shape.
        """
        size = len(frame)
        if size != self._same_size:
            return self._match_any_size(frame, size)
        correlation_id, head, length, tail = self._unpack_same(frame)
        if length != self._length or tail != self._tail:
            return None
        return head, (correlation_id, self._start, self._end)

    def _match_any_size(self, frame: memoryview, size: int) -> tuple[Fixed, Values] | None:
        """Return the result of `match` for a frame of any size.

        After two frames of equal size in a row, prepare the faster match of that size.
        """
        both = size - self._around  # the bytes of the length and of the records
        length: int | bytes
        if not self._compact:
            width, length = 4, both - 4
        elif both <= _MOST_1:
            width, length = 1, both
        elif both <= _MOST_2:
            width, low = 2, both - 1 & 0x7F | 0x80
            if frame[self._head] != low:  # this byte alone excludes most of the other shapes
                return None
            length = (low << 8) + (both - 1 >> 7)
        elif both <= _MOST_4:
            width = 3 if both <= _MOST_3 else 4
            length = uvarint(both - width + 1)
        else:
            return None
        if both < width:
            return None
        correlation_id, head, actual_length = self._by_width[width](frame)
        end = size - self._tail_bytes
        if actual_length != length or self._tail_at(frame, end) != (self._tail,):
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


class ReplyFrame:
    """The frame of responses that differ only in some numbers."""

    __slots__ = ("_pack", "_parts", "size")

    def __init__(self, frame: bytes, holes: Holes) -> None:
        """Take the fixed bytes from `frame`, any of the responses, with its size prefix. The values
        in its holes are ignored."""
        form = Struct(f">{_form(0, len(frame), holes)}")
        self.size = len(frame)
        self._pack: Callable[..., bytes] = form.pack
        self._parts: list[bytes | int] = list(form.unpack(frame))

    def fill(self, *values: int) -> bytes:
        """Return the response with these values in its holes, in their order."""
        parts = self._parts.copy()
        parts[1::2] = values
        return self._pack(*parts)
