"""A record's key and value after decoding, and their form as text.

Pure: `decoding` chooses the decoders.
"""

from __future__ import annotations

import json
from datetime import datetime, time
from typing import NamedTuple

from console.answers import ABSENT, Absent


class JsonText(str):
    """JSON as the producer wrote it, so that its numbers and the order of its members are kept."""

    __slots__ = ()


class DecodedParts(NamedTuple):
    """The decoded key and value of a record. A part that no decoder applies to is ABSENT.

    `problem` says why a decoder that applies to the value failed.
    """

    schema: str | Absent = ABSENT
    key: object = ABSENT
    value: object = ABSENT
    problem: str | Absent = ABSENT


def text_of(value: object) -> str:
    """Return a decoded part as the page shows it: JSON, in which bytes are hexadecimal."""
    if isinstance(value, JsonText):
        return value
    return _ENCODER.encode(value)


def plain(value: object) -> str:
    """Return the text of a value that JSON has no form for: bytes, a date, a decimal."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return _iso_text(value) if isinstance(value, datetime | time) else str(value)


def _iso_text(at: datetime | time) -> str:
    """Return a time in the form of ISO 8601, with milliseconds, or microseconds if it has them.

    A time in UTC ends with Z: `2026-11-28T18:49:42.450Z`.
    """
    digits = "microseconds" if at.microsecond % 1000 else "milliseconds"
    return at.isoformat(timespec=digits).replace("+00:00", "Z")


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=plain)
