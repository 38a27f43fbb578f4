"""A record's key and value after decoding, and their form as text.

Pure: `decoding` chooses the decoders.
"""

from __future__ import annotations

import json
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
    """Return the text of a value that JSON has no form for, such as bytes or a date."""
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=plain)
