"""Records as a file: NDJSON that `ottla produce --json` reads back, or CSV for tables.

NDJSON has a record as it is in the log, in a line as `ottla consume --json` prints it. CSV has key
and value as the page shows them. A field of CSV that begins like a formula is in quotation marks,
and not altered. Owns the formats and the limits; the records come by argument.

Follows RFC 4180 (CSV).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from client.records.rendering import headers_as_json, record_as_json
from console.answers import ABSENT, Absent
from console.messages.decoding.decoded_parts import DecodedParts, text_of
from protocol.records import Record

RECORDS_MAX = 100_000
BYTES_MAX = 256 * 1024 * 1024
PIECE_BYTES = 64 * 1024
_CSV_HEAD = b"partition,offset,timestamp,key,value,headers,key_base64,value_base64\r\n"

Found: TypeAlias = tuple[int, Record] | None
"""A partition and its record; None: time has passed without a record."""
Decode: TypeAlias = Callable[[Record], DecodedParts | None]
Line: TypeAlias = Callable[[int, Record], bytes]


@dataclass(slots=True)
class ExportStatus:
    """The progress of an export. `ended`: "limit" if the file may lack records, because it has
    reached `records_max` or `bytes_max`."""

    records: int = 0
    bytes: int = 0
    records_max: int = RECORDS_MAX
    bytes_max: int = BYTES_MAX
    ended: Literal["end", "limit", "failed"] | Absent = ABSENT
    error: str | Absent = ABSENT

    def fail(self, reason: str) -> None:
        """Note why the export stopped, unless it has ended before."""
        if self.ended is ABSENT:
            self.ended, self.error = "failed", reason


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files: the line of a record, and what stands before the first one."""

    media_type: str
    line: Line
    head: bytes = b""


def ndjson(topic: str) -> Format:
    """Return the format of a JSON object a line."""
    return Format(
        "application/x-ndjson",
        lambda partition, record: record_as_json(topic, partition, record) + b"\n",
    )


def csv(decode: Decode | None) -> Format:
    """Return the format of comma-separated values; `decode` None: no record is decoded."""
    return Format(
        "text/csv; charset=utf-8",
        lambda partition, record: _csv_line(partition, record, decode),
        _CSV_HEAD,
    )


def pieces(records: Iterable[Found], form: Format, status: ExportStatus) -> Iterator[bytes]:
    """Yield a file in pieces, up to the limits of `status`, which counts what is written.

    A piece without bytes says that time has passed.
    """
    piece = bytearray(form.head)
    for row in records:
        if row is None:
            yield bytes(piece)
            piece.clear()
            continue
        line = form.line(*row)
        if status.records >= status.records_max or status.bytes + len(line) > status.bytes_max:
            status.ended = "limit"
            break
        status.records += 1
        status.bytes += len(line)
        piece += line
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    else:
        status.ended = "end"
    if piece:
        yield bytes(piece)


def _csv_line(partition: int, record: Record, decode: Decode | None) -> bytes:
    decoded = None if decode is None else decode(record)
    parts = DecodedParts() if decoded is None else decoded
    key, key_base64 = _csv_fields(record.key, parts.key)
    value, value_base64 = _csv_fields(record.value, parts.value)
    headers = headers_as_json(record.headers).decode() if record.headers else None
    fields = (
        str(record.offset),
        str(record.timestamp),
        key,
        value,
        _quoted(headers),
        key_base64,
        value_base64,
    )
    return f"{partition},{','.join(fields)}\r\n".encode("utf-8", "replace")


def _csv_fields(data: bytes | None, decoded: object) -> tuple[str, str]:
    """Return a key or value as text, or else in base64. Null is an empty field without quotation
    marks."""
    if data is None:
        return "", ""
    if decoded is not ABSENT:
        return _quoted(text_of(decoded)), ""
    try:
        return _quoted(data.decode()), ""
    except UnicodeDecodeError:
        return "", b64encode(data).decode()


def _quoted(text: str | None) -> str:
    return "" if text is None else '"' + text.replace('"', '""') + '"'
