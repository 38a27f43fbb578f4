"""The texts in a record that match a search or a filter, for the page to mark. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from console.answers import ABSENT, Absent
from console.messages.decoding.decoded_parts import DecodedParts, text_of
from console.messages.filtering.condition import Condition
from console.messages.json_escapes import has_escapes, unescaped
from console.messages.matching import HEADERS, Matcher
from console.messages.shown import RecordMatch
from protocol.records import Record

TEXTS_MAX = 20
"""The number of different texts that the page marks in a record."""
_TEXT_BYTES_MAX = 200
_MATCHES_MAX = 1000
"""The number of matches in a part among which different texts are looked for."""
_NEAR_BYTES = 60
"""The distance from the start up to which a row shows a match anyway."""
_BEFORE_BYTES, _AFTER_BYTES = 16, 300


class _Part(NamedTuple):
    """A key or a value as the page shows it; `is_row_alike`: a row shows the same text."""

    name: Literal["key", "value"]
    data: bytes
    is_row_alike: bool


def match_of(
    text: Matcher | None, condition: Condition | None, record: Record, decoded: DecodedParts | None
) -> RecordMatch:
    """Return the texts to mark in a record that matches, and the place of the first one."""
    marked: dict[str, None] = {}
    first: tuple[_Part, int] | None = None
    for part in _parts(record, decoded):
        for start, end in islice(_matches(part, text, condition), _MATCHES_MAX):
            if first is None:
                first = (part, start)
            _mark(marked, part.data[start:end])
    if text is not None and HEADERS in text.parts:
        for data in _header_parts(record):
            for start, end in islice(text.spans(data), _MATCHES_MAX):
                _mark(marked, data[start:end])
    if first is None:
        return RecordMatch(list(marked))
    part, start = first
    at = len(part.data[:start].decode("utf-8", "replace"))
    around: str | Absent = ABSENT
    if start > _NEAR_BYTES or not part.is_row_alike:
        excerpt = part.data[max(start - _BEFORE_BYTES, 0) : start + _AFTER_BYTES]
        around = excerpt.decode("utf-8", "ignore")
    return RecordMatch(list(marked), part.name, at, around)


def _mark(marked: dict[str, None], data: bytes) -> None:
    if data and len(data) <= _TEXT_BYTES_MAX and len(marked) < TEXTS_MAX:
        try:
            marked[data.decode()] = None
        except UnicodeDecodeError:
            return  # the page shows such bytes as numbers


def _parts(record: Record, decoded: DecodedParts | None) -> Iterator[_Part]:
    """Yield the value and the key as the page shows them, except for those that are not text."""
    parts: Iterable[tuple[Literal["key", "value"], bytes | None, object]] = (
        ("value", record.value, ABSENT if decoded is None else decoded.value),
        ("key", record.key, ABSENT if decoded is None else decoded.key),
    )
    for name, data, decoded_part in parts:
        if data is None:
            continue
        if decoded_part is not ABSENT:
            yield _Part(name, text_of(decoded_part).encode("utf-8", "surrogatepass"), True)
        elif _is_text(data):
            escapes = has_escapes(data)
            yield _Part(name, unescaped(data) if escapes else data, not escapes)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _header_parts(record: Record) -> Iterator[bytes]:
    for name, value in record.headers:
        yield name.encode("utf-8", "surrogateescape")
        if value is not None:
            yield value


def _matches(
    part: _Part, text: Matcher | None, condition: Condition | None
) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match in a key or value."""
    if text is not None and part.name in text.parts:
        yield from text.spans(part.data)
    for sought in () if condition is None else condition.texts:
        data = sought.encode("utf-8", "surrogatepass")
        start = part.data.find(data)
        while start >= 0:
            yield start, start + len(data)
            start = part.data.find(data, start + len(data))
