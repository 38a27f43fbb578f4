"""Items of an array that are written before the message that they belong to.

An answer may have ten thousand items. Whoever makes it in slices gives each one to `Items`, which
keeps the first few as they are and from then on their bytes alone: so no answer is a million
objects, and none is written in one go. What was written once may also be in many answers.

Owns nothing of a message but that one array. Never knows which; never does I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

from protocol.message import Message
from protocol.primitives import MessageBuffer

M = TypeVar("M", bound=Message)

KEPT_PIECES = 128
"""An array of so many items, or fewer, stays one of messages."""
PART_BYTES = 64 * 1024
"""About what a part of a long array has."""


class EncodedItems(list[M]):
    """An array in a message that is to be written, in one version: so long, and these bytes.

    Its length is that of the items; what it gives out is one thing that writes them all.
    """

    __slots__ = ("_count", "_parts")

    def __init__(self, count: int, parts: Sequence[bytes]) -> None:
        super().__init__()
        self._count = count
        self._parts = parts

    @property
    def parts(self) -> Sequence[bytes]:
        """The bytes of the items."""
        return self._parts

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[M]:
        if self._count:
            yield cast(M, self)

    def write(self, out: MessageBuffer, _version: int) -> None:
        """All of them."""
        for part in self._parts:
            out.share(part)


def encoded(items: list[M], version: int) -> EncodedItems[M]:
    """These, written: for many answers, or many places of one."""
    out = MessageBuffer()
    item: Any
    for item in items:
        item.write(out, version)
    return EncodedItems(len(items), [out.joined()])


class Items(Generic[M]):
    """An array that grows: messages, or items that are written already, in any order."""

    __slots__ = ("_count", "_out", "_parts", "_version", "_waiting", "_waiting_pieces")

    def __init__(self, version: int) -> None:
        """`version`: that of the answer."""
        self._version = version
        self._waiting: list[M] = []
        self._waiting_pieces = 0
        self._parts: list[bytes] = []
        self._out: MessageBuffer | None = None
        """What follows the parts."""
        self._count = 0
        """Of those that are written."""

    def __len__(self) -> int:
        return self._count + len(self._waiting)

    @property
    def pieces(self) -> int:
        """Messages that the array is as it is now: none where it is written."""
        return self._waiting_pieces if self._out is None else 0

    def add(self, item: M, pieces: int = 1) -> None:
        """One more, which is not changed any more. `pieces`: messages that it is, those within it
        too, but for such as are written already."""
        self._waiting.append(item)
        self._waiting_pieces += pieces
        if self._waiting_pieces > KEPT_PIECES:
            self._write()

    def add_encoded(self, data: bytes, count: int = 1) -> None:
        """`count` more, as they are written."""
        out = self._write()
        self._count += count
        if len(data) < PART_BYTES:
            out += data
        else:
            self._end_part(out)
            self._parts.append(data)

    def join(self, others: Items[M]) -> None:
        """All of `others`, behind these."""
        array = others.array()
        if not isinstance(array, EncodedItems):
            for item in array:
                self.add(item)
            return
        self._end_part(self._write())
        self._count += len(array)
        self._parts += array.parts

    def array(self) -> list[M]:
        """What a message is to have as its array."""
        if self._out is None:
            return self._waiting
        self._end_part(self._write())
        return EncodedItems(self._count, self._parts)

    def _write(self) -> MessageBuffer:
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
        self._parts += [one if isinstance(one, bytes) else bytes(one) for one in _bytes_of(out)]
        self._out = MessageBuffer()
        return self._out


def _bytes_of(out: MessageBuffer) -> Iterator[bytes | memoryview]:
    for part in out.parts():
        yield part if isinstance(part, (bytes, memoryview)) else part.read()
