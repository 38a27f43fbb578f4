"""The base classes of the generated messages: equality and repr by their slots.

They are no dataclasses, because `dataclass` compiles several functions for each class at import,
which was half of a broker's start. Owns no state; never does I/O.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, ClassVar, Self, TypeVar

# Fields that allow a login, or from which a password can be guessed. No text shows them.
_SECRET = frozenset({"auth_bytes", "hmac", "salted_password", "server_key", "stored_key"})

# The default of a list or a struct, which becomes a new object in each message.
NEW: Any = object()


class Message:
    """A message, or a struct within one. Its fields are its slots, in the order of the wire."""

    __slots__: ClassVar[tuple[str, ...]] = ()
    __hash__ = None  # type: ignore[assignment]  # its fields change

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Self, int]:
        """Read the message at `pos`. Return it and the position after it.

        Raises ProtocolError, or another error of `protocol.frames.message_codec.DECODE_ERRORS`, if
        the bytes are malformed. Abstract: each generated class has its own.
        """
        raise NotImplementedError  # each class has its own

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        """Return the class name and all fields, with secrets hidden."""
        fields = ", ".join(f"{name}={self._shown(name)}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"

    def _shown(self, name: str) -> str:
        """Return the repr of the field `name`, or `[hidden]` for a secret."""
        return "[hidden]" if name in _SECRET else repr(getattr(self, name))


class SlicedMessage(Message):
    """A message that can be read in slices, because a client chooses the length of its arrays: a
    request with arrays, the response to a request that a broker forwards, or a struct of these."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read_steps(
        cls, buf: memoryview, pos: int, version: int, stop: int
    ) -> Generator[None, None, tuple[Self, int, int]]:
        """Read the message at `pos`, yielding whenever a slice of `buf` is read: first at the
        position `stop`, then after each `protocol.primitives.SLICE_BYTES`.

        The generator returns the message, the position after it, and the position at which the
        slice ends. Abstract: each generated class has its own.
        """
        raise NotImplementedError  # each class has its own

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Self, int]:
        """Read the message at `pos` in one go. Return it and the position after it. Raises as
        `read_steps` does if the bytes are malformed."""
        try:
            next(cls.read_steps(buf, pos, version, sys.maxsize))
        except StopIteration as end:
            message, pos, _ = end.value
            return message, pos
        raise AssertionError("a slice without an end has ended")


M = TypeVar("M", bound=Message)


def replace(message: M, **changes: Any) -> M:
    """Return a copy of `message` with the fields of `changes`. The other fields' values are shared
    with `message`, not copied."""
    fields = {name: getattr(message, name) for name in message.__slots__}
    return type(message)(**{**fields, **changes})


def as_dict(value: Any) -> Any:
    """Return a message as dicts and lists of plain values, to compare or print it, secrets
    included. Other values are returned as they are."""
    if isinstance(value, Message):
        return {name: as_dict(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, list):
        return [as_dict(item) for item in value]
    return value
