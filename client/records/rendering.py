"""Records as bytes for standard output: a value on each line, with keys and headers, or JSON.

Owns the choice of a batch's records and their format. Values alone, keys with values, and JSON are
rendered a batch at once, which is fast; all else record by record. Never reads a partition or
writes to a file.

Text for a terminal has no control characters, because a record must not move the cursor.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from json.encoder import encode_basestring as _quoted
from typing import NamedTuple

from client.records.decoding import HasHeadersError, values_of
from client.records.reading import Batch
from ground.printable import printable, with_json_escapes
from protocol.record_batch import LOG_APPEND_TIME_FLAG
from protocol.records import Headers, Record, iterate_records

NULL = b"null"
"""The text of a null key or value, as in Kafka's console consumer."""

Matches = Callable[[bytes], object]
"""A function that returns whether bytes match a search (any true object)."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The options that choose and format the records to show."""

    as_json: bool = False
    keys: bool = False
    headers: bool = False
    where: bool = False
    """Whether topic, partition, offset and timestamp stand before the record."""
    separator: bytes = b"\t"
    matches: Matches | None = None
    """The search, in the key, the value or a header's value; None: show every record."""
    for_terminal: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether lines have only values, or keys and values, as the records have them."""
        return not (
            self.as_json
            or self.headers
            or self.where
            or self.for_terminal
            or self.matches is not None
        )


class Rendered(NamedTuple):
    """The lines of a batch, the number of records in them, and the offset `end` to continue at."""

    data: bytes
    records: int
    end: int


def render(batch: Batch, view: RenderOptions, most: int | None) -> Rendered:
    """Return the lines of a batch's wanted records, of at most `most` records (None: all).

    Raises CorruptBatch, DecompressionLimit.
    """
    end = min(batch.header.next_offset, batch.stop)
    is_all_shown = most is None or batch.header.record_count <= most
    if view.is_plain and batch.is_whole and is_all_shown:
        lines = _plain_lines(batch, view)
    elif view.as_json and view.matches is None and batch.is_whole and is_all_shown:
        lines = _json_lines(batch)
    else:
        lines = []
        for record in _matching_records(batch, view):
            if len(lines) == most:
                end = record.offset
                break
            lines.append(as_json(batch, record) if view.as_json else _as_text(batch, record, view))
    if not lines:
        return Rendered(b"", 0, end)
    if view.as_json and view.for_terminal:
        lines = [with_json_escapes(line.decode()).encode() for line in lines]
    lines.append(b"")
    return Rendered(b"\n".join(lines), len(lines) - 1, end)


def _plain_lines(batch: Batch, view: RenderOptions) -> list[bytes]:
    """Return a line, without its line break, for each record of the batch, whatever its offset."""
    keys: list[bytes | None] | None = [] if view.keys else None
    stored_values = values_of(batch.unpacked(), batch.header.record_count, keys)
    values = [NULL if value is None else value for value in stored_values]
    if keys is None:
        return values
    between = view.separator
    return [
        (NULL if key is None else key) + between + value
        for key, value in zip(keys, values, strict=True)
    ]


def _matching_records(batch: Batch, view: RenderOptions) -> Iterator[Record]:
    """Yield the batch's records that lie in its offsets and match the view's pattern."""
    for record in iterate_records(batch.data, batch.pos):
        if batch.first <= record.offset < batch.stop and (
            view.matches is None or _is_match(record, view.matches)
        ):
            yield record


def _is_match(record: Record, matches: Matches) -> bool:
    """Return whether the value, the key or a header's value matches."""
    if record.value is not None and matches(record.value):
        return True
    if record.key is not None and matches(record.key):
        return True
    return any(value is not None and matches(value) for _, value in record.headers)


def _as_text(batch: Batch, record: Record, view: RenderOptions) -> bytes:
    """Return the line of a record: place, headers, key and value, as far as the view shows them."""
    parts = []
    if view.where:
        place = f"{batch.topic}-{batch.partition} {record.offset} {record.timestamp}"
        parts.append(place.encode())
    if view.headers:
        pairs = [
            key.encode("utf-8", "surrogateescape") + b"=" + (NULL if value is None else value)
            for key, value in record.headers
        ]
        parts.append(b",".join(pairs))
    if view.keys:
        parts.append(NULL if record.key is None else record.key)
    parts.append(NULL if record.value is None else record.value)
    line = view.separator.join(parts)
    return _printable_line(line) if view.for_terminal else line


def _printable_line(line: bytes) -> bytes:
    """Return the line with invisible characters shown as code points, except tabs."""
    text = line.decode("utf-8", "backslashreplace")
    return "\t".join(map(printable, text.split("\t"))).encode()


def as_json(batch: Batch, record: Record) -> bytes:
    """Return a record as a JSON object; data that is not UTF-8 is in members `…_base64`."""
    return record_as_json(batch.topic, batch.partition, record)


def record_as_json(topic: str, partition: int, record: Record) -> bytes:
    """Return a record of a topic's partition as a JSON object, such as `ottla consume --json`
    prints; `ottla produce --json` makes the same record of it."""
    return _object(_json_place(topic, partition), record).encode("utf-8", "backslashreplace")


def headers_as_json(headers: Headers) -> bytes:
    """Return headers as the JSON list that is in the JSON object of a record."""
    return _headers(headers).encode("utf-8", "backslashreplace")


def _json_lines(batch: Batch) -> list[bytes]:
    """Return the JSON lines of all records of a batch.

    The text of all lines is encoded at once, which is faster.
    """
    place, header = _json_place(batch.topic, batch.partition), batch.header
    keys: list[bytes | None] = []
    times: list[int] = []
    body = batch.unpacked()
    try:
        if header.record_count != header.last_offset - header.base_offset + 1:
            raise HasHeadersError  # offsets with gaps: each record is decoded for its offset
        values = values_of(body, header.record_count, keys, times)
    except HasHeadersError:
        lines = [_object(place, record) for record in iterate_records(batch.data, batch.pos)]
    else:
        since = header.base_timestamp
        if header.attributes & LOG_APPEND_TIME_FLAG:
            since, times = header.max_timestamp, [0] * len(values)
        records = zip(count(header.base_offset), times, keys, values, strict=False)
        lines = [
            f'{place}{offset}, "timestamp": {since + time}, '
            f"{_json_member('key', key)}, {_json_member('value', value)}}}"
            for offset, time, key, value in records
        ]
    return "\n".join(lines).encode("utf-8", "backslashreplace").split(b"\n") if lines else []


def _json_place(topic: str, partition: int) -> str:
    """Return the beginning of a record's JSON object, up to the offset's value."""
    return f'{{"topic": {_quoted(topic)}, "partition": {partition}, "offset": '


def _object(place: str, record: Record) -> str:
    """Return a record's JSON object, which begins with `place`. The text equals that of
    `json.dumps`, in a tenth of the time: only texts are quoted."""
    offset, timestamp, key, value, headers = record
    ending = f', "headers": {_headers(headers)}}}' if headers else "}"
    shown = f"{_json_member('key', key)}, {_json_member('value', value)}"
    return f'{place}{offset}, "timestamp": {timestamp}, {shown}{ending}'


def _headers(headers: Headers) -> str:
    pairs = [
        f'{{"key": {_quoted(name)}, {_json_member("value", value)}}}' for name, value in headers
    ]
    return f"[{', '.join(pairs)}]"


def _json_member(name: str, data: bytes | None) -> str:
    """Return a JSON member with the data as text, or as `NAME_base64` if the data is not UTF-8."""
    if data is None:
        return f'"{name}": null'
    try:
        return f'"{name}": {_quoted(data.decode())}'
    except UnicodeDecodeError:
        return f'"{name}_base64": "{b64encode(data).decode()}"'
