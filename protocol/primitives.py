"""The primitive types of Kafka's wire protocol over memoryviews, and the buffer that messages
are written to.

Readers take `(buf, pos)` and return `(value, pos after it)`. They compare a length with the bytes
that remain before they allocate, and raise `ProtocolError` if it is wrong. Compact forms are those
of flexible versions (KIP-482): length + 1 as an unsigned varint, 0 for null.

As in Kafka (`Readable`), bytes of a string that are not UTF-8 are replaced, and every negative
length means null. That includes an unsigned varint above 2^31, because Kafka reads it as an int.

Owns no state; never does I/O.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Generator, Sequence
from struct import Struct
from typing import Any, Protocol, TypeAlias, TypeVar

from protocol.errors import ProtocolError
from protocol.malformed_text import REPLACED

ZERO_UUID = bytes(16)

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_ONE_BYTE = tuple(bytes([n]) for n in range(128))
SHARED_BYTES = 16 * 1024
"""The size from which bytes are shared instead of copied; an additional part of a response costs as
much as the copy of that many bytes."""
T = TypeVar("T")
ReadSteps: TypeAlias = Generator[None, None, tuple[T, int, int]]
"""A generator that reads a value in slices. It returns the value, the position after it, and the
position at which the slice ends."""
SLICE_BYTES = 8 * 1024
"""The bytes of a request that are read in one go: some four milliseconds if each byte is an
item."""
ARRAY_LENGTH_MAX = 1_000_000
"""The greatest number of items of an array, as in Kafka from 4.4 on
(`MessageUtil.MAX_ARRAY_LENGTH`)."""
TAGGED_FIELDS_MAX = 10_000
"""The greatest number of tagged fields in one place, as in Kafka from 4.4 on
(`MessageUtil.MAX_TAGGED_FIELD_COUNT`). Negative numbers are excluded."""
NUMBERS_BYTES = 32 * 1024
"""The bytes of an array of numbers that are read in one go, because one call unpacks them."""
SLICES_MAX = 2_048
"""The greatest number of slices of one request: 16 MiB of names and numbers, bytes and records not
counted. As objects they take some forty times as much; arrays within arrays would take gigabytes.
Kafka has no such limit."""
_MOST_INT16 = 0x7FFF
# The greatest compact length that is not null: length - 1 of a greater one is negative as an int.
_MOST_COMPACT = 0x80000000


class RecordSlice(Protocol):
    """Records that stay in their file until the network sends them
    (`storage.log.file_records`)."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def read(self) -> bytes:
        """Return a copy of the bytes."""


Records = bytes | bytearray | memoryview | RecordSlice


class SharedBytes:
    """Bytes that many messages share, and that are sent without a copy."""

    __slots__ = ("data", "size")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read(self) -> bytes:
        """Return the bytes, without a copy."""
        return self.data


class MessageBuffer(bytearray):
    """The bytes of a message that is written, without its record slices, which sendfile sends."""

    # Every response is such a buffer and most have no slice, so no list is made before a slice.
    slices: Sequence[tuple[int, RecordSlice]] = ()
    _spliced_bytes = 0

    def splice(self, records: RecordSlice) -> None:
        """Append `records` without copying them."""
        if isinstance(self.slices, list):
            self.slices.append((len(self), records))
        else:
            self.slices = [(len(self), records)]
        self._spliced_bytes += records.size

    def share(self, data: bytes) -> None:
        """Append `data`; it is not copied if it has `SHARED_BYTES` or more."""
        if len(data) >= SHARED_BYTES:
            self.splice(SharedBytes(data))
        else:
            self += data

    def total_size(self) -> int:
        """Return the number of bytes on the wire, with those of the slices."""
        return len(self) + self._spliced_bytes

    def parts(self) -> list[bytes | memoryview | RecordSlice]:
        """Return the parts to be sent, in order: written bytes, shared bytes and slices."""
        view = memoryview(self)
        parts: list[bytes | memoryview | RecordSlice] = []
        start = 0
        for position, records in self.slices:
            if position > start:
                parts.append(view[start:position])
            parts.append(records.data if isinstance(records, SharedBytes) else records)
            start = position
        if start < len(view):
            parts.append(view[start:])
        return parts

    def joined(self) -> bytes:
        """Return all bytes, with copies of the slices: for tests, forwarding and embedded
        messages."""
        if not self.slices:
            return bytes(self)
        parts = self.parts()
        return b"".join(p if isinstance(p, (bytes, memoryview)) else p.read() for p in parts)


def uuid_to_string(uuid: bytes) -> str:
    """Return Kafka's text form of a UUID: base64url of its 16 bytes, unpadded, 22 characters."""
    return urlsafe_b64encode(uuid)[:22].decode()


def uuid_from_string(text: str) -> bytes:
    """Return the 16 bytes of a UUID in Kafka's text form. Raises ValueError if `text` is none."""
    uuid = urlsafe_b64decode(text + "==")
    if len(uuid) != 16:
        raise ValueError(f"{text!r} is not a UUID of 16 bytes in base64url")
    return uuid


# --- varints -----------------------------------------------------------------------------------


def read_uvarint(buf: memoryview, pos: int) -> tuple[int, int]:
    """Return the unsigned varint of 32 bits at `pos`, and its end. Higher bits of its fifth byte
    are ignored. Raises ProtocolError if it has more than 5 bytes, IndexError if it is cut off."""
    byte = buf[pos]
    if byte < 0x80:
        return byte, pos + 1
    second = buf[pos + 1]
    if second < 0x80:  # up to 16,383, as most varints of more than one byte
        return byte & 0x7F | second << 7, pos + 2
    value = byte & 0x7F | (second & 0x7F) << 7
    pos += 2
    shift = 14
    while True:
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise ProtocolError("unsigned varint is longer than 5 bytes")
    return value & 0xFFFFFFFF, pos


def uvarint(value: int) -> bytes:
    """Return `value` (0 to 2^32 - 1) as an unsigned varint."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# --- strings, bytes and records ----------------------------------------------------------------


class StringTooLong(ValueError):
    """A string that is too long for any reader. A peer can cause one: bytes that are not UTF-8 grow
    when they are replaced, and names are joined."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"a string of {size_bytes} bytes is too long: at most {_MOST_INT16}")


def _slice_end(buf: memoryview, pos: int, length: int) -> int:
    """Return the end of `length` bytes at `pos`. Raises ProtocolError if the length is negative or
    exceeds the buffer."""
    end = pos + length
    if length < 0 or end > len(buf):
        raise ProtocolError(f"length {length} with {len(buf) - pos} bytes remaining")
    return end


def read_string(buf: memoryview, pos: int) -> tuple[str, int]:
    """Return an INT16-length string and its end. Raises ProtocolError if it is null or cut off."""
    (length,) = _INT16.unpack_from(buf, pos)
    pos += 2
    end = pos + length
    if length < 0 or end > len(buf):
        raise ProtocolError(f"string length {length} with {len(buf) - pos} bytes remaining")
    return str(buf[pos:end], "utf-8", REPLACED), end


def read_nullable_string(buf: memoryview, pos: int) -> tuple[str | None, int]:
    """Return an INT16-length string, or None, and its end.

    Raises ProtocolError if it is cut off.
    """
    (length,) = _INT16.unpack_from(buf, pos)
    pos += 2
    if length < 0:
        return None, pos
    end = pos + length
    if end > len(buf):
        raise ProtocolError(f"string length {length} with {len(buf) - pos} bytes remaining")
    return str(buf[pos:end], "utf-8", REPLACED), end


def read_compact_string(buf: memoryview, pos: int) -> tuple[str, int]:
    """Return a varint-length string and its end.

    Raises ProtocolError if it is null, cut off or over 32,767 bytes.
    """
    length = buf[pos]
    pos += 1
    if length > 0x7F:
        length, pos = read_uvarint(buf, pos - 1)
    end = pos + length - 1
    if not 0 < length <= 0x8000 or end > len(buf):
        raise ProtocolError(f"string length {length - 1} with {len(buf) - pos} bytes remaining")
    return str(buf[pos:end], "utf-8", REPLACED), end


def read_compact_nullable_string(buf: memoryview, pos: int) -> tuple[str | None, int]:
    """Return a varint-length string, or None, and its end.

    Raises ProtocolError if it is cut off or over 32,767 bytes.
    """
    length = buf[pos]
    pos += 1
    if length > 0x7F:
        length, pos = read_uvarint(buf, pos - 1)
        if length > _MOST_COMPACT:
            return None, pos
    if length == 0:
        return None, pos
    end = pos + length - 1
    # Kafka rejects longer strings in either form, and so does this reader.
    if length > 0x8000 or end > len(buf):
        raise ProtocolError(f"string length {length - 1} with {len(buf) - pos} bytes remaining")
    return str(buf[pos:end], "utf-8", REPLACED), end


def string(value: str) -> bytes:
    """Return an INT16 length and the UTF-8 of `value`. Raises StringTooLong above 32,767 bytes."""
    data = value.encode()
    if len(data) > _MOST_INT16:
        raise StringTooLong(len(data))
    return _INT16.pack(len(data)) + data


def nullable_string(value: str | None) -> bytes:
    """Return an INT16 length and the UTF-8 of `value`; None has the length -1. Raises StringTooLong
    above 32,767 bytes."""
    return b"\xff\xff" if value is None else string(value)


def compact_string(value: str) -> bytes:
    """Return length + 1 as a varint and the UTF-8 of `value`. Raises StringTooLong above 32,767
    bytes."""
    data = value.encode()
    if len(data) > _MOST_INT16:
        raise StringTooLong(len(data))
    return uvarint(len(data) + 1) + data


def compact_nullable_string(value: str | None) -> bytes:
    """Return length + 1 as a varint and the UTF-8 of `value`; a byte 0 for None. Raises
    StringTooLong above 32,767 bytes."""
    return b"\0" if value is None else compact_string(value)


def read_nullable_records(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
    """Return INT32-length records and their end; None stands for null. The records are a view,
    valid as long as `buf` is. Raises ProtocolError if they are cut off."""
    (length,) = _INT32.unpack_from(buf, pos)
    pos += 4
    if length < 0:
        return None, pos
    end = _slice_end(buf, pos, length)
    return buf[pos:end], end


def read_compact_nullable_records(buf: memoryview, pos: int) -> tuple[memoryview | None, int]:
    """Return varint-length records and their end; None stands for null. The records are a view,
    valid as long as `buf` is. Raises ProtocolError if they are cut off."""
    length = buf[pos]
    pos += 1
    if length > 0x7F:
        length, pos = read_uvarint(buf, pos - 1)
        if length > _MOST_COMPACT:
            return None, pos
    if length == 0:
        return None, pos
    end = pos + length - 1
    if end > len(buf):
        raise ProtocolError(f"length {length - 1} with {len(buf) - pos} bytes remaining")
    return buf[pos:end], end


def _not_null(view: memoryview | None) -> memoryview:
    """Return the view. Raises ProtocolError if it is None."""
    if view is None:
        raise ProtocolError("bytes that may not be null are null")
    return view


def read_records(buf: memoryview, pos: int) -> tuple[memoryview, int]:
    """Return INT32-length records, as a view of `buf`, and their end. Raises ProtocolError if they
    are null or cut off."""
    view, pos = read_nullable_records(buf, pos)
    return _not_null(view), pos


def read_compact_records(buf: memoryview, pos: int) -> tuple[memoryview, int]:
    """Return varint-length records, as a view of `buf`, and their end. Raises ProtocolError if they
    are null or cut off."""
    view, pos = read_compact_nullable_records(buf, pos)
    return _not_null(view), pos


def read_nullable_bytes(buf: memoryview, pos: int) -> tuple[bytes | None, int]:
    """Return a copy of INT32-length bytes, or None, and their end. Raises ProtocolError if they are
    cut off."""
    view, pos = read_nullable_records(buf, pos)
    return None if view is None else bytes(view), pos


def read_compact_nullable_bytes(buf: memoryview, pos: int) -> tuple[bytes | None, int]:
    """Return a copy of varint-length bytes, or None, and their end. Raises ProtocolError if they
    are cut off."""
    view, pos = read_compact_nullable_records(buf, pos)
    return None if view is None else bytes(view), pos


def read_bytes(buf: memoryview, pos: int) -> tuple[bytes, int]:
    """Return a copy of INT32-length bytes and their end. Raises ProtocolError if they are null or
    cut off."""
    view, pos = read_nullable_records(buf, pos)
    return bytes(_not_null(view)), pos


def read_compact_bytes(buf: memoryview, pos: int) -> tuple[bytes, int]:
    """Return a copy of varint-length bytes and their end. Raises ProtocolError if they are null or
    cut off."""
    view, pos = read_compact_nullable_records(buf, pos)
    return bytes(_not_null(view)), pos


def unread_bytes(value: object) -> int:
    """Return the size of a field of bytes or records, whose content is not read with its message; 0
    for null."""
    return len(value) if isinstance(value, (bytes, memoryview)) else 0


def write_records(out: MessageBuffer, value: Records | None) -> None:
    """Append the length in 4 bytes, -1 for None, then the records: bytes are copied, a slice is
    spliced."""
    if value is None:
        out += b"\xff\xff\xff\xff"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        out += _INT32.pack(len(value))
        out += value
    else:
        out += _INT32.pack(value.size)
        out.splice(value)


def write_compact_records(out: MessageBuffer, value: Records | None) -> None:
    """Append length + 1 as a varint, 0 for None, then the records: bytes are copied, a slice is
    spliced."""
    if value is None:
        out += b"\0"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        out += uvarint(len(value) + 1)
        out += value
    else:
        out += uvarint(value.size + 1)
        out.splice(value)


# --- arrays ------------------------------------------------------------------------------------


def _check_array_length(buf: memoryview, pos: int, length: int, item_size: int) -> None:
    """Raise ProtocolError above ARRAY_LENGTH_MAX, or if the buffer is too short for the items."""
    if length > ARRAY_LENGTH_MAX:
        raise ProtocolError(f"array length {length} is over the limit of {ARRAY_LENGTH_MAX}")
    if length * item_size > len(buf) - pos:
        raise ProtocolError(f"array length {length} with {len(buf) - pos} bytes remaining")


def read_array_length(buf: memoryview, pos: int, item_size: int) -> tuple[int, int]:
    """Return the INT32 number of items, negative for null, and the position after it.

    `item_size` is the least size of an item. Raises ProtocolError above ARRAY_LENGTH_MAX, or if
    `buf` is too short for the items.
    """
    (length,) = _INT32.unpack_from(buf, pos)
    pos += 4
    _check_array_length(buf, pos, length, item_size)
    return length, pos


def read_compact_array_length(buf: memoryview, pos: int, item_size: int) -> tuple[int, int]:
    """Return the number of items, read from a varint, -1 for null, and the position after it.

    `item_size` is the least size of an item. Raises ProtocolError above ARRAY_LENGTH_MAX, or if
    `buf` is too short for the items.
    """
    length = buf[pos]
    pos += 1
    if length > 0x7F:
        length, pos = read_uvarint(buf, pos - 1)
        if length > _MOST_COMPACT:
            length = 0
    length -= 1
    _check_array_length(buf, pos, length, item_size)
    return length, pos


def read_numbers(
    buf: memoryview, pos: int, count: int, code: str, size: int, stop: int
) -> ReadSteps[list[Any]]:
    """Read `count` numbers of `size` bytes, whose `struct` code is `code`, and yield after every
    NUMBERS_BYTES. The generator returns the numbers, their end, and the end of the slice, which is
    `stop` if it did not yield."""
    slice_count = NUMBERS_BYTES // size
    if count <= slice_count:
        return list(Struct(f">{count}{code}").unpack_from(buf, pos)), pos + count * size, stop
    numbers: list[Any] = []
    end = pos + count * size
    while pos < end:
        yield
        n = min(slice_count, (end - pos) // size)
        numbers += Struct(f">{n}{code}").unpack_from(buf, pos)
        pos += n * size
    return numbers, pos, pos + SLICE_BYTES


def refuse_null_array() -> None:
    """Raise ProtocolError for a null array that may not be null."""
    raise ProtocolError("an array that may not be null is null")


def array_length(length: int) -> bytes:
    """Return an array's length as INT32; -1 stands for null."""
    return _INT32.pack(length)


# --- tagged fields (KIP-482) -------------------------------------------------------------------


def read_tag(buf: memoryview, pos: int) -> tuple[int, int, int]:
    """Read the head of a tagged field. Return its tag, the position of its value, and its size in
    bytes.

    A caller that knows the tag reads the value, whatever its size; any other calls `skip_tag`.
    """
    tag = buf[pos]
    pos += 1
    if tag > 0x7F:
        tag, pos = read_uvarint(buf, pos - 1)
    size = buf[pos]
    pos += 1
    if size > 0x7F:
        size, pos = read_uvarint(buf, pos - 1)
    return tag, pos, size


def skip_tag(buf: memoryview, pos: int, size: int) -> int:
    """Return the position after the value of an unknown tagged field. Raises ProtocolError if it is
    cut off."""
    return _slice_end(buf, pos, size)


def read_tag_count(buf: memoryview, pos: int) -> tuple[int, int]:
    """Return the number of tagged fields, and the position after it. Raises ProtocolError above
    TAGGED_FIELDS_MAX, and for a number that is negative as an int."""
    count, pos = read_uvarint(buf, pos)
    if count > TAGGED_FIELDS_MAX:
        raise ProtocolError(f"{count} tagged fields are over the limit of {TAGGED_FIELDS_MAX}")
    return count, pos


def skip_tagged_fields(buf: memoryview, pos: int) -> int:
    """Return the position after tagged fields that are all unknown, as newer peers may send. Raises
    ProtocolError if they are cut off or too many."""
    count, pos = read_tag_count(buf, pos)
    end = len(buf)
    for _ in range(count):  # up to 10,000 times, so the usual varints are read without a call
        if buf[pos] < 0x80:
            pos += 1
        elif buf[pos + 1] < 0x80:
            pos += 2
        else:
            _, pos = read_uvarint(buf, pos)
        size = buf[pos]
        pos += 1
        if size > 0x7F:
            size, pos = read_uvarint(buf, pos - 1)
        pos += size
        if pos > end:
            raise ProtocolError(f"a tagged field of {size} bytes ends {pos - end} bytes too late")
    return pos


def write_tagged_fields(out: MessageBuffer, tagged: list[tuple[int, MessageBuffer]]) -> None:
    """Append the number of tagged fields, then each tag, size and value. The fields are given in
    rising order of tags."""
    out += uvarint(len(tagged))
    for tag, value in tagged:
        out += uvarint(tag)
        out += uvarint(len(value))
        out += value
