"""Arrays whose items are encoded before the message that they belong to.

A response may have ten thousand items. A handler that makes it in slices adds each item to `Items`,
which keeps the first few as objects and encodes the others at once. So no response consists of a
million objects, or is encoded in one go. Encoded items may also be used in many responses.

Owns one array of a message. Does not know the message; never does I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

from protocol.message import Message
from protocol.primitives import MessageBuffer

M = TypeVar("M", bound=Message)

KEPT_PIECES = 128
"""The number of messages up to which an array keeps its items as objects."""
PART_BYTES = 64 * 1024
"""The approximate size of a part of a long array."""


class EncodedItems(list[M]):
    """An array of encoded items, in one version, that stands in a message to be written.

    Its length is the number of items; iterating yields one object, whose `write` writes them all.
    """

    __slots__ = ("_count", "_parts")

    def __init__(self, count: int, parts: Sequence[bytes]) -> None:
        super().__init__()
        self._count = count
        self._parts = parts

    @property
    def parts(self) -> Sequence[bytes]:
        """The bytes of the items, in parts."""
        return self._parts

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[M]:
        """Yield this array itself once, unless it is empty; its `write` writes all items."""
        if self._count:
            yield cast(M, self)

    def write(self, out: MessageBuffer, _version: int) -> None:
        """Write all items to `out`."""
        for part in self._parts:
            out.share(part)


def encoded(items: list[M], version: int) -> EncodedItems[M]:
    """Return `items`, encoded in this version, for use in many responses, or in many places of one
    response."""
    out = MessageBuffer()
    item: Any
    for item in items:
        item.write(out, version)
    return EncodedItems(len(items), [out.joined()])


class Items(Generic[M]):
    """An array that grows, by messages and by encoded items, in any order."""

    __slots__ = ("_count", "_out", "_parts", "_version", "_waiting", "_waiting_pieces")

    def __init__(self, version: int) -> None:
        """Begin empty; `version` is the version of the response."""
        self._version = version
        self._waiting: list[M] = []
        self._waiting_pieces = 0
        self._parts: list[bytes] = []
        self._out: MessageBuffer | None = None
        """The encoded bytes after the last part; None: nothing is encoded yet."""
        self._count = 0
        """The number of encoded items."""

    def __len__(self) -> int:
        return self._count + len(self._waiting)

    @property
    def pieces(self) -> int:
        """The number of message objects in the array; 0 if it is encoded."""
        return self._waiting_pieces if self._out is None else 0

    def add(self, item: M, pieces: int = 1) -> None:
        """Add an item, which must not change any more. `pieces` is the number of message objects
        that it consists of, itself included, encoded ones not.

        Above KEPT_PIECES objects, encode all items that are not encoded yet.
        """
        self._waiting.append(item)
        self._waiting_pieces += pieces
        if self._waiting_pieces > KEPT_PIECES:
            self._write_waiting()

    def add_encoded(self, data: bytes, count: int = 1) -> None:
        """Add `count` items whose encoded bytes are `data`, and encode the items before them."""
        out = self._write_waiting()
        self._count += count
        if len(data) < PART_BYTES:
            out += data
        else:
            self._end_part(out)
            self._parts.append(data)

    def join(self, others: Items[M]) -> None:
        """Add all items of `others` at the end."""
        array = others.array()
        if not isinstance(array, EncodedItems):
            for item in array:
                self.add(item)
            return
        self._end_part(self._write_waiting())
        self._count += len(array)
        self._parts += array.parts

    def array(self) -> list[M]:
        """Return the array for the message's field: a list of the items if none is encoded, else an
        EncodedItems of all."""
        if self._out is None:
            return self._waiting
        self._end_part(self._write_waiting())
        return EncodedItems(self._count, self._parts)

    def _write_waiting(self) -> MessageBuffer:
        """Encode the waiting items, and return the buffer that holds them.

        Before that, begin a new part if the current one is full.
        """
        out = self._out
        if out is None:
            out = self._out = MessageBuffer()
        elif out.total_size() >= PART_BYTES:
            out = self._end_part(out)
        item: Any
        for item in self._waiting:
            item.write(out, self._version)
        self._count += len(self._waiting)
        self._waiting = []
        self._waiting_pieces = 0
        return out

    def _end_part(self, out: MessageBuffer) -> MessageBuffer:
        """Append the bytes of `out` to the parts. Return the empty buffer of the next part."""
        self._parts += [part if isinstance(part, bytes) else bytes(part) for part in _bytes_of(out)]
        self._out = MessageBuffer()
        return self._out


def _bytes_of(out: MessageBuffer) -> Iterator[bytes | memoryview]:
    """Yield the parts of `out`, with a copy of the bytes for each record slice."""
    for part in out.parts():
        yield part if isinstance(part, (bytes, memoryview)) else part.read()
