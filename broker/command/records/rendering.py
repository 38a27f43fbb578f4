"""Records as bytes for standard output: values a line, with keys and headers, or JSON.

Owns which records of a batch are wanted and what each looks like. Values alone go the quick way,
a batch at once; all else record by record. Never: reads a partition or writes to a file.

What a terminal is shown has no control characters: a record must not move its cursor.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from broker.command.records.decoding import values_of
from broker.command.records.reading import Batch
from protocol.compression import decompress
from protocol.record_batch import HEADER_SIZE
from protocol.records import UNPACKED_LIMIT_BYTES, Record, iterate_records

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
    else:
        lines = []
        for record in _wanted(batch, view):
            if len(lines) == most:
                end = record.offset
                break
            lines.append(as_json(batch, record) if view.as_json else _as_text(batch, record, view))
    if not lines:
        return Rendered(b"", 0, end)
    lines.append(b"")
    return Rendered(b"\n".join(lines), len(lines) - 1, end)


def _plain_lines(batch: Batch, view: View) -> list[bytes]:
    header = batch.header
    packed = batch.data[batch.pos + HEADER_SIZE : batch.pos + header.size_in_bytes]
    if header.compression:
        body = decompress(header.compression, packed, UNPACKED_LIMIT_BYTES)
    else:
        body = bytes(packed)
    keys: list[bytes | None] | None = [] if view.keys else None
    values = [NULL if one is None else one for one in values_of(body, header.record_count, keys)]
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
    if text.isprintable():
        return text.encode()
    shown = (one if one.isprintable() or one == "\t" else ascii(one)[1:-1] for one in text)
    return "".join(shown).encode()


def as_json(batch: Batch, record: Record) -> bytes:
    """One object: what is not text is in base64, under a name that says so."""
    found: dict[str, object] = {
        "topic": batch.topic,
        "partition": batch.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
    }
    _put(found, "key", record.key)
    _put(found, "value", record.value)
    if record.headers:
        found["headers"] = [_header(key, value) for key, value in record.headers]
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _header(key: str, value: bytes | None) -> dict[str, object]:
    found: dict[str, object] = {"key": key}
    _put(found, "value", value)
    return found


def _put(found: dict[str, object], name: str, data: bytes | None) -> None:
    if data is None:
        found[name] = None
        return
    try:
        found[name] = data.decode()
    except UnicodeDecodeError:
        found[f"{name}_base64"] = b64encode(data).decode()
