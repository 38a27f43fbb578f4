"""The fields of a record, as a filter reads them: JSON is parsed when a field of it is needed.

Numbers keep all their digits: decimals of JSON are Decimal. Pure.
"""

from __future__ import annotations

from decimal import Decimal
from json import JSONDecoder

from console.answers import ABSENT
from console.messages.decoding.decoded_parts import DecodedParts, JsonText
from console.messages.shown import size_of
from protocol.records import Record

PARSED_BYTES_MAX = 1024 * 1024
"""The size of the largest key or value whose fields are read."""
_UNREAD = object()
_JSON_STARTS = ("{", "[", '"')

_DECODER = JSONDecoder(parse_float=Decimal)
"""One decoder for all records: `json.loads` would make one for each."""


class RecordFields:
    """The fields of one record. A field that the record lacks is ABSENT."""

    __slots__ = ("_decoded", "_key", "_partition", "_record", "_value")

    def __init__(self, partition: int, record: Record, decoded: DecodedParts | None) -> None:
        self._partition = partition
        self._record = record
        self._decoded = decoded
        self._value: object = _UNREAD
        self._key: object = _UNREAD

    def value(self) -> object:
        """Return the decoded value, else its JSON, else its text; ABSENT for other bytes."""
        if self._value is _UNREAD:
            decoded = ABSENT if self._decoded is None else self._decoded.value
            self._value = _content(self._record.value, decoded)
        return self._value

    def key(self) -> object:
        """Return the decoded key, else its JSON, else its text; ABSENT for other bytes."""
        if self._key is _UNREAD:
            decoded = ABSENT if self._decoded is None else self._decoded.key
            self._key = _content(self._record.key, decoded)
        return self._key

    def headers(self) -> object:
        """Return the text of each header by its name; of headers with one name, the last."""
        return {name: _text(value) for name, value in self._record.headers}

    def partition(self) -> object:
        """Return the partition."""
        return self._partition

    def offset(self) -> object:
        """Return the offset."""
        return self._record.offset

    def timestamp(self) -> object:
        """Return the timestamp in milliseconds since 1970."""
        return self._record.timestamp

    def size(self) -> object:
        """Return the bytes of key, value and headers."""
        return size_of(self._record)


def _content(data: bytes | None, decoded: object) -> object:
    if data is None:
        return None
    if isinstance(decoded, JsonText):
        return _parsed(decoded, ABSENT)
    if decoded is not ABSENT:
        return decoded
    if len(data) > PARSED_BYTES_MAX:
        return ABSENT
    text = _text(data)
    if not isinstance(text, str):
        return text
    return _parsed(text, text) if text.lstrip().startswith(_JSON_STARTS) else text


def _parsed(text: str, otherwise: object) -> object:
    try:
        return _DECODER.decode(text)
    except (ValueError, ArithmeticError, RecursionError):
        return otherwise


def _text(data: bytes | None) -> object:
    """Return bytes as text: ABSENT if they are not UTF-8, None for null."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return ABSENT
