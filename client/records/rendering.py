"""Records as bytes for standard output: values a line, with keys and headers, or JSON.

Owns which records of a batch are wanted and what each looks like. Values alone, keys with values
and JSON go the quick way, a batch at once; all else record by record. Never: reads a partition or
writes to a file.

What a terminal is shown has no control characters: a record must not move its cursor.
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
from protocol.records import Record, iterate_records

NULL = b"null"
"""What stands for no key or no value, as in Kafka's console consumer."""

Matches = Callable[[bytes], object]
"""Whether some bytes hold what is looked for."""


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a record."""

    as_json: bool = False
    keys: bool = False
    headers: bool = False
    where: bool = False
    """Topic, partition, offset and time before the record."""
    separator: bytes = b"\t"
    matches: Matches | None = None
    """Of key, value or a header's value; None: every record is wanted."""
    for_terminal: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether values are printed as they are, or keys and values, and nothing else."""
        return not (
            self.as_json
            or self.headers
            or self.where
            or self.for_terminal
            or self.matches is not None
        )


class Rendered(NamedTuple):
    """The lines of a batch, how many records they show, and the offset behind those looked at."""

    data: bytes
    records: int
    end: int


def render(batch: Batch, view: View, most: int | None) -> Rendered:
    """What is shown of a batch, `most` records of it. Raises CorruptBatch, DecompressionLimit."""
    end = min(batch.header.next_offset, batch.stop)
    few = most is None or batch.header.record_count <= most
    if view.is_plain and batch.is_whole and few:
        lines = _plain_lines(batch, view)
    elif view.as_json and view.matches is None and batch.is_whole and few:
        lines = _json_lines(batch)
    else:
        lines = []
        for record in _wanted(batch, view):
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


def _plain_lines(batch: Batch, view: View) -> list[bytes]:
    keys: list[bytes | None] | None = [] if view.keys else None
    found = values_of(batch.unpacked(), batch.header.record_count, keys)
    values = [NULL if one is None else one for one in found]
    if keys is None:
        return values
    between = view.separator
    return [
        (NULL if key is None else key) + between + value
        for key, value in zip(keys, values, strict=True)
    ]


def _wanted(batch: Batch, view: View) -> Iterator[Record]:
    for record in iterate_records(batch.data, batch.pos):
        if batch.first <= record.offset < batch.stop and (
            view.matches is None or _found(record, view.matches)
        ):
            yield record


def _found(record: Record, matches: Matches) -> bool:
    if record.value is not None and matches(record.value):
        return True
    if record.key is not None and matches(record.key):
        return True
    return any(value is not None and matches(value) for _, value in record.headers)


def _as_text(batch: Batch, record: Record, view: View) -> bytes:
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
    return _harmless(line) if view.for_terminal else line


def _harmless(line: bytes) -> bytes:
    text = line.decode("utf-8", "backslashreplace")
    return "\t".join(map(printable, text.split("\t"))).encode()


def as_json(batch: Batch, record: Record) -> bytes:
    """One object: what is not text is in base64, under a name that says so."""
    return _object(_json_place(batch), record).encode("utf-8", "backslashreplace")


def _json_lines(batch: Batch) -> list[bytes]:
    """All records of a batch; their text becomes bytes at once."""
    place, header = _json_place(batch), batch.header
    keys: list[bytes | None] = []
    times: list[int] = []
    body = batch.unpacked()
    try:
        if header.record_count != header.last_offset - header.base_offset + 1:
            raise HasHeadersError  # offsets with gaps: each record is asked for its own
        values = values_of(body, header.record_count, keys, times)
    except HasHeadersError:
        lines = [_object(place, one) for one in iterate_records(batch.data, batch.pos)]
    else:
        since = header.base_timestamp
        if header.attributes & LOG_APPEND_TIME_FLAG:
            since, times = header.max_timestamp, [0] * len(values)
        records = zip(count(header.base_offset), times, keys, values, strict=False)
        lines = [
            f'{place}{offset}, "timestamp": {since + time}, '
            f"{_named('key', key)}, {_named('value', value)}}}"
            for offset, time, key, value in records
        ]
    return "\n".join(lines).encode("utf-8", "backslashreplace").split(b"\n") if lines else []


def _json_place(batch: Batch) -> str:
    return f'{{"topic": {_quoted(batch.topic)}, "partition": {batch.partition}, "offset": '


def _object(place: str, record: Record) -> str:
    """What `json.dumps` would write, in a tenth of the time: nothing but texts need quoting."""
    offset, timestamp, key, value, headers = record
    if headers:
        pairs = [f'{{"key": {_quoted(name)}, {_named("value", one)}}}' for name, one in headers]
        behind = f', "headers": [{", ".join(pairs)}]}}'
    else:
        behind = "}"
    shown = f"{_named('key', key)}, {_named('value', value)}"
    return f'{place}{offset}, "timestamp": {timestamp}, {shown}{behind}'


def _named(name: str, data: bytes | None) -> str:
    if data is None:
        return f'"{name}": null'
    try:
        return f'"{name}": {_quoted(data.decode())}'
    except UnicodeDecodeError:
        return f'"{name}_base64": "{b64encode(data).decode()}"'
