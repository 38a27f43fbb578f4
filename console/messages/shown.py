"""Bytes and records as the page gets them: as JSON, cut if they are long.

UTF-8 stays text, whatever characters it has: the page makes them visible. Other bytes are in
base64. Pure.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from console.answers import ABSENT, Absent
from protocol.records import Headers, Record


class Limits(NamedTuple):
    """How much of a record the page gets: the most bytes of its key and its value, the most
    headers, and the most bytes of a header's value."""

    data_bytes: int
    headers: int
    header_bytes: int


LISTED = Limits(data_bytes=4 * 1024, headers=100, header_bytes=1024)
"""The limits of a record in a list."""
OPENED = Limits(data_bytes=4 * 1024 * 1024, headers=20_000, header_bytes=256 * 1024)
"""The limits of an opened record."""


@dataclass(frozen=True, slots=True)
class BytesShown:
    """Bytes as `text` if they are UTF-8, else as `base64`. `size` is in bytes; `cut` is true if
    this is only the beginning."""

    size: int
    text: str | Absent = ABSENT
    base64: str | Absent = ABSENT
    cut: bool | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """The key and value of a record as a schema decodes them, or the reason why it does not."""

    schema: str | Absent = ABSENT
    key: BytesShown | Absent = ABSENT
    value: BytesShown | Absent = ABSENT
    problem: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """The `texts` of a record that matched a search, to be marked. The first one is `at` this
    character of the `part`; `around` is the text there, if a row would not show it."""

    texts: list[str]
    part: Literal["key", "value"] | Absent = ABSENT
    at: int | Absent = ABSENT
    around: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class RecordShown:
    """A record; `size` is that of key, value and headers together. A search adds `match`."""

    partition: int
    offset: int
    timestamp: int
    size: int
    key: BytesShown | None
    value: BytesShown | None
    headers: list[tuple[str, BytesShown | None]]
    more_headers: int | Absent = ABSENT
    decoded: DecodedRecord | Absent = ABSENT
    match: RecordMatch | Absent = ABSENT


def bytes_shown(data: bytes | None, most: int = LISTED.data_bytes) -> BytesShown | None:
    """Return at most this many bytes, as text if they are UTF-8."""
    if data is None:
        return None
    is_cut = len(data) > most
    part = data[:most]
    text = _text_of(part, is_cut=is_cut)
    cut = True if is_cut else ABSENT
    if text is None:
        return BytesShown(len(data), base64=b64encode(part).decode(), cut=cut)
    return BytesShown(len(data), text, cut=cut)


def text_shown(text: str, size: int, most: int = LISTED.data_bytes) -> BytesShown:
    """Return at most this many characters of a decoded text; `size` is that of the encoded
    bytes."""
    return BytesShown(size, text[:most], cut=True if len(text) > most else ABSENT)


def headers_shown(headers: Headers, limits: Limits = LISTED) -> list[tuple[str, BytesShown | None]]:
    """Return the names and values of the first headers."""
    return [
        (_name(name), bytes_shown(value, limits.header_bytes))
        for name, value in headers[: limits.headers]
    ]


def record_shown(partition: int, record: Record, limits: Limits = LISTED) -> RecordShown:
    """Return a record, not decoded."""
    more = len(record.headers) - limits.headers
    return RecordShown(
        partition=partition,
        offset=record.offset,
        timestamp=record.timestamp,
        size=size_of(record),
        key=bytes_shown(record.key, limits.data_bytes),
        value=bytes_shown(record.value, limits.data_bytes),
        headers=headers_shown(record.headers, limits),
        more_headers=more if more > 0 else ABSENT,
    )


def size_of(record: Record) -> int:
    """Return the size of key, value and headers in bytes."""
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
    """Return a header's name; JSON cannot hold the bytes of a name that is not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
