"""The places of the lengths in a message's bytes, and the false lengths of a hostile peer.

`recorded(message, version)` writes a message with patched primitives, and returns its bytes with
every length of a string, of bytes, of an array, and every count and size of tagged fields.
`lies(data, field)` yields the bytes with that length replaced. For tests of the decoder and of a
running broker. Owns no process and no connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from protocol import primitives
from protocol.primitives import MessageBuffer, uvarint

MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LengthField:
    """A length of `width` bytes at `position`; `form` is int16, int32 or uvarint.

    A uvarint is a length + 1, or a count.
    """

    position: int
    width: int
    form: str


class _Marked(bytes):
    """Bytes that begin with a length of this form."""

    form: str


def _marked(data: bytes, form: str) -> _Marked:
    marked = _Marked(data)
    marked.form = form
    return marked


class LengthRecorder(MessageBuffer):
    """A buffer that records where a length is written into it."""

    __slots__ = ("fields",)

    def __init__(self) -> None:
        super().__init__()
        self.fields: list[LengthField] = []

    def __iadd__(self, data: Any) -> LengthRecorder:  # type: ignore[misc]
        position = len(self)
        if isinstance(data, LengthRecorder):
            for each in data.fields:
                field = LengthField(position + each.position, each.width, each.form)
                self.fields.append(field)
        elif isinstance(data, _Marked):
            self.fields.append(LengthField(position, _width(data), data.form))
        elif data == b"\0":
            # A count of zero tagged fields in most places; it may also be a null or a false.
            self.fields.append(LengthField(position, 1, "uvarint"))
        self.extend(data)
        return self


def _width(data: _Marked) -> int:
    if data.form == "int16":
        return 2
    if data.form == "int32":
        return 4
    return next(index for index, byte in enumerate(data) if byte < 0x80) + 1


def _watched(name: str, form: str) -> Any:
    real: Callable[..., bytes] = getattr(primitives, name)

    def writer(*args: Any) -> _Marked:
        return _marked(real(*args), form)

    return patch.object(primitives, name, writer)


def _write_records(out: MessageBuffer, value: Any) -> None:
    data = b"" if value is None else bytes(value)
    length = -1 if value is None else len(data)
    out += _marked(length.to_bytes(4, signed=True), "int32")
    out += data


def _write_compact_records(out: MessageBuffer, value: Any) -> None:
    data = b"" if value is None else bytes(value)
    out += _marked(uvarint(0 if value is None else len(data) + 1), "uvarint")
    out += data


def recorded(message: Any, version: int) -> tuple[bytes, list[LengthField]]:
    """Return the message's bytes, and the lengths in them, in order."""
    out = LengthRecorder()
    with ExitStack() as stack:
        for name, form in (
            ("string", "int16"),
            ("nullable_string", "int16"),
            ("compact_string", "uvarint"),
            ("compact_nullable_string", "uvarint"),
            ("array_length", "int32"),
            ("uvarint", "uvarint"),
        ):
            stack.enter_context(_watched(name, form))
        stack.enter_context(patch.object(primitives, "write_records", _write_records))
        compact = patch.object(primitives, "write_compact_records", _write_compact_records)
        stack.enter_context(compact)
        stack.enter_context(patch.object(primitives, "MessageBuffer", LengthRecorder))
        message.write(out, version)
    return bytes(out), out.fields


def lies(data: bytes, field: LengthField) -> Iterator[bytes]:
    """Yield `data` with this length replaced by each false value.

    The values are -2^31, -2, -1, one more than the bytes that follow, 2^31 - 1, and the greatest
    number of the form.
    """
    start, end = field.position, field.position + field.width
    one_too_many = len(data) - end + 1
    for value in _encodings(field.form, one_too_many):
        if value != data[start:end]:
            yield data[:start] + value + data[end:]


def _encodings(form: str, one_too_many: int) -> Iterator[bytes]:
    if form == "uvarint":
        for raw in (0, one_too_many + 1, MOST + 1, 2**32 - 1):
            yield uvarint(raw)
        yield b"\x80\x80\x80\x80\x80"  # longer than a varint of 32 bits
        return
    size, most = (2, 2**15 - 1) if form == "int16" else (4, MOST)
    for length in (-most - 1, -2, -1, min(one_too_many, most), most):
        yield length.to_bytes(size, signed=True)
