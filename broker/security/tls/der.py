"""A reader and writer of DER as certificates use it: one-byte tags and definite lengths.

With it the names in certificates can be read if no library for that is installed. Owns the encoding
of values; never knows what a certificate is (`peer_certificate`). Raises `DerError` for bytes that
are not DER.

Follows ITU-T X.690.
"""

from __future__ import annotations

from dataclasses import dataclass

OBJECT_IDENTIFIER = 0x06
SEQUENCE = 0x30
SET = 0x31

_LENGTH_BYTES_MAX = 4
_IDENTIFIER_BYTES_MAX = 128
"""The longest object identifier that is read. No real one is longer, and a longer one could have a
number of more digits than Python converts to text."""


class DerError(ValueError):
    """Bytes that are not DER, or a value of another kind than expected."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value: its tag and the bytes inside."""

    tag: int
    content: bytes

    def encoded(self) -> bytes:
        """Return the value with its tag and its length, in the shortest form."""
        count = len(self.content)
        if count < 0x80:
            return bytes((self.tag, count)) + self.content
        length = count.to_bytes((count.bit_length() + 7) // 8, "big")
        return bytes((self.tag, 0x80 | len(length))) + length + self.content

    def items(self, tag: int) -> list[Value]:
        """Return the values inside this one. Raises DerError if its tag is not `tag`."""
        if self.tag != tag:
            raise DerError(f"tag {self.tag:#x} where {tag:#x} is wanted")
        return values(self.content)


def values(data: bytes) -> list[Value]:
    """Return the consecutive values that fill `data`. Raises DerError."""
    parsed, at = [], 0
    while at < len(data):
        value, at = _value_at(data, at)
        parsed.append(value)
    return parsed


def _value_at(data: bytes, at: int) -> tuple[Value, int]:
    """Return the value that begins at `at`, and the offset of the next one. Raises DerError."""
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
    """Return an object identifier as digits and dots. Raises DerError."""
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
