"""DER, as far as a certificate needs it: values of one-byte tags and definite lengths.

Reads and writes bytes, knows no certificate (`peer_certificate`). So names can be read from
certificates where no library for it is installed. Bytes that are no DER are a `DerError`.

Follows ITU-T X.690.
"""

from __future__ import annotations

from dataclasses import dataclass

OBJECT_IDENTIFIER = 0x06
SEQUENCE = 0x30
SET = 0x31

_LENGTH_BYTES_MAX = 4
_IDENTIFIER_BYTES_MAX = 128
"""Longer ones name nothing, and their numbers would be too long to write down."""


class DerError(ValueError):
    """These bytes are no DER, or not the value that is wanted."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its tag and the bytes inside."""

    tag: int
    content: bytes

    def encoded(self) -> bytes:
        """The value with its tag, and its length in the shortest form."""
        count = len(self.content)
        if count < 0x80:
            return bytes((self.tag, count)) + self.content
        length = count.to_bytes((count.bit_length() + 7) // 8, "big")
        return bytes((self.tag, 0x80 | len(length))) + length + self.content

    def items(self, tag: int) -> list[Value]:
        """The values inside this one, which must have `tag`."""
        if self.tag != tag:
            raise DerError(f"tag {self.tag:#x} where {tag:#x} is wanted")
        return values(self.content)


def values(data: bytes) -> list[Value]:
    """The values that lie one after the other in `data`, which they fill."""
    found, at = [], 0
    while at < len(data):
        value, at = _value_at(data, at)
        found.append(value)
    return found


def _value_at(data: bytes, at: int) -> tuple[Value, int]:
    """The value that begins at `at`, and where the next one begins."""
    if at + 2 > len(data):
        raise DerError("a value is cut off")
    tag, length = data[at], data[at + 1]
    if tag & 0x1F == 0x1F:
        raise DerError("a tag of more than one byte")
    at += 2
    if length >= 0x80:
        count = length & 0x7F
        if not 0 < count <= _LENGTH_BYTES_MAX or at + count > len(data):
            raise DerError("a length that cannot be read")
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    end = at + length
    if end > len(data):
        raise DerError("a value is cut off")
    return Value(tag, data[at:end]), end


def object_identifier(value: Value) -> str:
    """An object identifier as digits and dots."""
    content = value.content
    if value.tag != OBJECT_IDENTIFIER or not content or content[-1] & 0x80:
        raise DerError("no object identifier")
    if len(content) > _IDENTIFIER_BYTES_MAX:
        raise DerError("an object identifier that is too long")
    parts, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            parts.append(number)
            number = 0
    first = min(parts[0] // 40, 2)
    return ".".join(map(str, (first, parts[0] - 40 * first, *parts[1:])))
