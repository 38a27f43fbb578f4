"""Items of an array that are written before the message that they belong to.

An answer may have ten thousand items. Whoever makes it in slices gives each one to `Items`, which
keeps the first few as they are and from then on their bytes alone: so no answer is a million
objects, and none is written in one go. What was written once may also be in many answers.

Owns nothing of a message but that one array. Never knows which; never does I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar, cast

from protocol.message import Message
from protocol.primitives import MessageBuffer

M = TypeVar("M", bound=Message)

KEPT_ITEMS = 256
"""An array of so many items, or fewer, stays one of messages."""


class EncodedItems(list[M]):
    """An array in a message that is to be written, in one version: so long, and these bytes.

    Its length is that of the items; what it gives out is one thing that writes them all.
    """

    __slots__ = ("_count", "_data")

    def __init__(self, count: int, data: bytes) -> None:
        super().__init__()
        self._count = count
        self._data = data

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[M]:
        if self._count:
            yield cast(M, self)

    def write(self, out: MessageBuffer, _version: int) -> None:
        """All of them."""
        out.share(self._data)


def encoded(items: list[M], version: int) -> EncodedItems[M]:
    """These, written: for many answers, or many places of one."""
    out = MessageBuffer()
    item: Any
    for item in items:
        item.write(out, version)
    return EncodedItems(len(items), out.joined())


class Items(Generic[M]):
    """An array that grows: messages, or items that are written already, in any order."""

    __slots__ = ("_count", "_out", "_version", "_waiting")

    def __init__(self, version: int) -> None:
        """`version`: that of the answer."""
        self._version = version
        self._waiting: list[M] = []
        self._out: MessageBuffer | None = None
        self._count = 0
        """Of those that are written."""

    def __len__(self) -> int:
        return self._count + len(self._waiting)

    def add(self, item: M) -> None:
        """One more, which is not changed any more."""
        self._waiting.append(item)
        if len(self._waiting) > KEPT_ITEMS:
            self._write()

    def add_encoded(self, data: bytes, count: int = 1) -> None:
        """`count` more, as they are written."""
        out = self._write()
        out += data
        self._count += count

    def array(self) -> list[M]:
        """What a message is to have as its array."""
        if self._out is None:
            return self._waiting
        out = self._write()
        return EncodedItems(self._count, out.joined())

    def _write(self) -> MessageBuffer:
        out = self._out
        if out is None:
            out = self._out = MessageBuffer()
        item: Any
        for item in self._waiting:
            item.write(out, self._version)
        self._count += len(self._waiting)
        self._waiting = []
        return out
