"""Bytes and records as the page gets them: as JSON, cut where they are long.

Text stays text, whatever characters are in it: the page makes those visible. What is not UTF-8 is
in base64. Pure.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from console.answers import ABSENT, Absent
from protocol.records import Headers, Record

PREVIEW_BYTES = 4 * 1024
"""The size up to which a list of records has keys and values."""
WHOLE_BYTES = 4 * 1024 * 1024
"""The size up to which an opened record has keys and values."""
HEADERS_MAX = 100
_HEADER_BYTES = 1024


@dataclass(frozen=True, slots=True)
class BytesShown:
    """`text` or else `base64`, with `size` in bytes, and `cut` where there is more."""

    size: int
    text: str | Absent = ABSENT
    base64: str | Absent = ABSENT
    cut: bool | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """What a schema says of a record; or the problem with that."""

    schema: str | Absent = ABSENT
    key: BytesShown | Absent = ABSENT
    value: BytesShown | Absent = ABSENT
    problem: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class RecordShown:
    """A record; `size` is that of key, value and headers together."""

    partition: int
    offset: int
    timestamp: int
    size: int
    key: BytesShown | None
    value: BytesShown | None
    headers: list[tuple[str, BytesShown | None]]
    more_headers: int | Absent = ABSENT
    decoded: DecodedRecord | Absent = ABSENT


def bytes_shown(data: bytes | None, most: int = PREVIEW_BYTES) -> BytesShown | None:
    """Return bytes as text where they are UTF-8."""
    if data is None:
        return None
    is_cut = len(data) > most
    part = data[:most]
    text = _text_of(part, is_cut=is_cut)
    cut = True if is_cut else ABSENT
    if text is None:
        return BytesShown(len(data), base64=b64encode(part).decode(), cut=cut)
    return BytesShown(len(data), text, cut=cut)


def text_shown(text: str, size: int, most: int = PREVIEW_BYTES) -> BytesShown:
    """The same of something decoded to text; `size` is that of the bytes it was made of."""
    return BytesShown(size, text[:most], cut=True if len(text) > most else ABSENT)


def headers_shown(headers: Headers) -> list[tuple[str, BytesShown | None]]:
    """Pairs of a name and a value, so many at most."""
    return [
        (_name(name), bytes_shown(value, _HEADER_BYTES)) for name, value in headers[:HEADERS_MAX]
    ]


def record_shown(partition: int, record: Record, most: int = PREVIEW_BYTES) -> RecordShown:
    """Return one record, not decoded."""
    more = len(record.headers) - HEADERS_MAX
    return RecordShown(
        partition=partition,
        offset=record.offset,
        timestamp=record.timestamp,
        size=size_of(record),
        key=bytes_shown(record.key, most),
        value=bytes_shown(record.value, most),
        headers=headers_shown(record.headers),
        more_headers=more if more > 0 else ABSENT,
    )


def size_of(record: Record) -> int:
    """Bytes of key, value and headers."""
    parts: Sequence[bytes | None] = (record.key, record.value, *(one for _, one in record.headers))
    names = sum(len(name) for name, _ in record.headers)
    return names + sum(len(one) for one in parts if one is not None)


def _text_of(part: bytes, *, is_cut: bool) -> str | None:
    try:
        return part.decode()
    except UnicodeDecodeError as error:
        if is_cut and error.reason == "unexpected end of data":
            return part[: error.start].decode()  # the cut went through a character
        return None


def _name(name: str) -> str:
    """A header's name; JSON cannot hold the bytes of one that is not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
