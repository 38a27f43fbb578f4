"""What every generated message class is: slots that compare and show themselves.

Plain classes on purpose: `dataclass` compiles several functions for each class as its module is
imported, which made up half of a broker's start. Owns no state; does no I/O.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, ClassVar, Self, TypeVar

# Fields that let somebody log in, or that a password can be guessed from: nobody sees them.
_SECRET = frozenset({"auth_bytes", "hmac", "salted_password", "server_key", "stored_key"})

# The default of a list or a struct: stands for a new one in each message.
NEW: Any = object()


class Message:
    """A message, or a struct within one. Its fields are its slots, in the order of the wire."""

    __slots__: ClassVar[tuple[str, ...]] = ()
    __hash__ = None  # type: ignore[assignment]  # its fields change

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Self, int]:
        """Read the message at `pos`. Return it and the position after it.

        Raises ProtocolError, or what `protocol.frames.message_codec.DECODE_ERRORS` names, where the
        bytes are none.
        """
        raise NotImplementedError  # each class has its own

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self._shown(name)}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"

    def _shown(self, name: str) -> str:
        return "[hidden]" if name in _SECRET else repr(getattr(self, name))


class SlicedMessage(Message):
    """A request that holds arrays, a response to one that a broker passes on, or a struct of them:
    it can be read in slices, since a client chooses how long the arrays are."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read_steps(
        cls, buf: memoryview, pos: int, version: int, stop: int
    ) -> Generator[None, None, tuple[Self, int, int]]:
        """Read the message at `pos`, yielding whenever a slice of `buf` is read: first at the
        position `stop`, then after each `protocol.primitives.SLICE_BYTES`.

        Return the message, the position after it, and where the slice under way ends.
        """
        raise NotImplementedError  # each class has its own

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Self, int]:
        """Read the message at `pos` in one go. Return it and the position after it."""
        try:
            next(cls.read_steps(buf, pos, version, sys.maxsize))
        except StopIteration as end:
            message, pos, _ = end.value
            return message, pos
        raise AssertionError("a slice without an end has ended")


M = TypeVar("M", bound=Message)


def replace(message: M, **changes: Any) -> M:
    """A copy of `message` with some fields set otherwise; what they hold is shared."""
    fields = {name: getattr(message, name) for name in message.__slots__}
    return type(message)(**{**fields, **changes})


def as_dict(value: Any) -> Any:
    """A message as dicts and lists of plain values, for comparing and showing."""
    if isinstance(value, Message):
        return {name: as_dict(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, list):
        return [as_dict(item) for item in value]
    return value
