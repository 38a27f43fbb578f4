"""A second, plain encoder of messages from Kafka's definitions, which records every length.

It shares no code with `protocol.generate`. `wrong_lengths` then yields the bytes with one length
replaced.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.messages.message_values import Case, Struct, covers

FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}


@dataclass(frozen=True, slots=True)
class Length:
    """A length field: its place in the message's structure and in its bytes, and its form."""

    path: str
    position: int
    size: int
    form: str  # int16, int32, or varint: compact lengths and counts, all unsigned


def uvarint(value: int) -> bytes:
    """Return `value` modulo 2^32 as an unsigned varint."""
    value &= 0xFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


class PlainEncoder:
    """An encoder of one message; `data` and `lengths` have the result."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.data = bytearray()
        self.lengths: list[Length] = []

    def struct(self, spec: Struct, message: Any, path: str) -> None:
        tagged = []
        for field, attribute in spec.at(self.version):
            where = f"{path}.{attribute}"
            if covers(field.get("taggedVersions"), self.version):
                tagged.append((field["tag"], field, attribute))
                continue
            self.field(spec, field, attribute, getattr(message, attribute), where)
        if self.flexible:
            self.tags(spec, message, sorted(tagged, key=lambda t: t[0]), path)

    def tags(self, spec: Struct, message: Any, tagged: list[Any], path: str) -> None:
        default = spec.cls()
        sent = []
        for tag, field, attribute in tagged:
            value = getattr(message, attribute)
            nullable = covers(field.get("nullableVersions"), self.version)
            unsent = value is None and not nullable
            if not unsent and value != getattr(default, attribute):
                sent.append((tag, field, attribute, value))
        self.length(f"{path} tags", len(sent), "varint")
        for tag, field, attribute, value in sent:
            self.data += uvarint(tag)
            inner = PlainEncoder(self.version, True)
            inner.field(spec, field, attribute, value, f"{path}.{attribute}")
            self.length(f"{path}.{attribute} size", len(inner.data), "varint")
            start = len(self.data)
            self.lengths += [
                Length(length.path, length.position + start, length.size, length.form)
                for length in inner.lengths
            ]
            self.data += inner.data

    def field(
        self, spec: Struct, field: dict[str, Any], attribute: str, value: Any, path: str
    ) -> None:
        kind = field["type"]
        compact = self.flexible and field.get("flexibleVersions") != "none"
        if kind.startswith("[]"):
            self.counted(None if value is None else len(value), "int32", compact, path)
            for item in value or []:
                self.one(spec, field, attribute, kind[2:], item, compact, path)
        elif kind[0].isupper() and covers(field.get("nullableVersions"), self.version):
            if "taggedVersions" in field:
                self.data += b"\0" if value is None else b"\1"
            else:
                self.data += b"\xff" if value is None else b"\1"
            if value is not None:
                self.one(spec, field, attribute, kind, value, compact, path)
        else:
            self.one(spec, field, attribute, kind, value, compact, path)

    def one(
        self,
        spec: Struct,
        field: dict[str, Any],
        attribute: str,
        kind: str,
        value: Any,
        compact: bool,
        path: str,
    ) -> None:
        if kind[0].isupper():
            self.struct(spec.nested(field, attribute), value, path)
        elif kind in FORMATS:
            self.data += struct.pack(">" + FORMATS[kind], value)
        else:
            data = value.encode() if isinstance(value, str) else value
            form = "int16" if kind == "string" else "int32"
            self.counted(None if data is None else len(data), form, compact, path)
            self.data += data or b""

    def counted(self, length: int | None, form: str, compact: bool, path: str) -> None:
        if compact:
            self.length(path, 0 if length is None else length + 1, "varint")
        else:
            self.length(path, -1 if length is None else length, form)

    def length(self, path: str, value: int, form: str) -> None:
        encoded = encode_length(value, form)
        self.lengths.append(Length(path, len(self.data), len(encoded), form))
        self.data += encoded


def encode_length(value: int, form: str) -> bytes:
    """Return `value` in a length's form, cut to the low bits that fit."""
    if form == "varint":
        return uvarint(value)
    size = 2 if form == "int16" else 4
    cut: bytes = (value & (256**size - 1)).to_bytes(size, "big")
    return cut


def plain_encoding(case: Case, message: Any, version: int) -> PlainEncoder:
    """Encode the message, and return the encoder with its bytes and lengths."""
    encoder = PlainEncoder(version, case.is_flexible(version))
    encoder.struct(case.struct, message, case.name)
    return encoder


def wrong_lengths(encoded: PlainEncoder) -> Iterator[tuple[str, bytes]]:
    """Yield the message with each length field set to −2³¹, −2, −1, remaining + 1, 2³¹ − 1 in turn.

    The text says which length is wrong. A compact length is written as length + 1, as in Kafka.
    """
    data = bytes(encoded.data)
    for length in encoded.lengths:
        end = length.position + length.size
        for wrong in (-(2**31), -2, -1, len(data) - end + 1, 2**31 - 1):
            value = wrong + 1 if length.form == "varint" else wrong
            replaced = encode_length(value, length.form)
            yield f"{length.path} = {wrong}", data[: length.position] + replaced + data[end:]
