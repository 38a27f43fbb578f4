"""The contents of a batch: pages of its records, and the bytes of its header or records by field.

The records are decoded like those of `ottla dump-log`. A value that it hides is hidden here too, as
text and as bytes. Owns no state. A batch is decompressed in memory, and a batch of more than
`BATCH_BYTES_MAX` is rejected.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from client.records.metadata_records import replacement_text
from console.answers import ABSENT
from console.segments.files.header_walk import Batch
from console.segments.meaning.anatomy import Field, header_fields, record_fields
from console.segments.meaning.answers import (
    BatchRecord,
    BatchShown,
    BitsShown,
    BytesNamed,
    Content,
    ControlShown,
    FieldShown,
    RecordsPage,
)
from console.segments.meaning.field_notes import VARINT, note_on
from log_format.files import Read
from protocol.compression import Codec, decompress
from protocol.record_batch import HEADER_SIZE, CorruptBatch, RecordBatchHeader, crc_is_valid
from protocol.record_scan import read_varint, scan_records
from protocol.records import Record, headers_at
from storage.dump_log import Decode, DumpEntry, record_entry

BATCH_BYTES_MAX = 64 * 1024 * 1024
"""The limit of a batch in the file, and of its decompressed body."""
PREVIEW_BYTES = 4096
"""The longest preview of a key, value or header."""
HEX_BYTES = 4096
"""The most bytes of a record in an answer."""
HEADERS_SHOWN_MAX = 50
RECORDS_MAX = 200
_EXACT_MAX = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch with its bytes in the file, and its decompressed body."""

    batch: Batch
    data: bytes
    body: bytes
    crc_is_right: bool
    damage: str | None
    """The reason why the body could not be decompressed, else None."""

    @property
    def header(self) -> RecordBatchHeader:
        """The header of the batch."""
        return self.batch.header


def open_batch(read: Read, batch: Batch) -> OpenBatch:
    """Read and decompress a batch. Raises CorruptBatch if it is too large, or if the file ends."""
    header = batch.header
    if header.size_in_bytes > BATCH_BYTES_MAX:
        raise CorruptBatch(
            f"the batch has {header.size_in_bytes} bytes, too many for this page: "
            "print it with ottla dump-log --records"
        )
    data = read(header.size_in_bytes, batch.position)
    if len(data) < header.size_in_bytes:
        raise CorruptBatch("the file ends inside the batch")
    damage, body = None, b""
    try:
        body = decompress(header.compression, memoryview(data)[HEADER_SIZE:], BATCH_BYTES_MAX)
    except CorruptBatch as error:
        damage = str(error)
    return OpenBatch(batch, data, body, crc_is_valid(data, 0, header), damage)


# --- records --------------------------------------------------------------------------------------


def _located(opened: OpenBatch) -> Iterator[tuple[int, int, Record]]:
    """Yield (start, end, record) for each record; start and end are positions in the body.

    Raises CorruptBatch after the records that precede damage.
    """
    header, body, start = opened.header, opened.body, 0
    for scanned in scan_records(header, body):
        if scanned is None:
            continue
        offset, timestamp, key_length, key_end, value_length, value_end = scanned
        key = None if key_length < 0 else body[key_end - key_length : key_end]
        value = None if value_length < 0 else body[value_end - value_length : value_end]
        end = _record_end(body, start)
        headers = headers_at(body, value_end) if body[value_end] else ()
        yield start, end, Record(offset, timestamp, key, value, headers)
        start = end


def _record_end(body: bytes, start: int) -> int:
    length, at = read_varint(body, start)
    return at + length


def records_page(opened: OpenBatch, first: int, limit: int, decode: Decode) -> RecordsPage:
    """Return the records from number `first` on, at most `limit` and RECORDS_MAX.

    Damage is in the answer, after the records that precede it.
    """
    rows: list[BatchRecord] = []
    damage = opened.damage
    try:
        if damage is None:
            some = islice(_located(opened), first, first + min(limit, RECORDS_MAX))
            for number, (start, end, record) in enumerate(some, first):
                rows.append(_row(opened.header, number, start, end, record, decode))
    except CorruptBatch as error:
        damage = str(error)
    return RecordsPage(
        first=first,
        count=opened.header.record_count,
        records=rows,
        damage=damage,
        unpacked=len(opened.body),
    )


def _row(
    header: RecordBatchHeader, number: int, start: int, end: int, record: Record, decode: Decode
) -> BatchRecord:
    row = BatchRecord(
        number=number,
        start=start,
        size=end - start,
        offset=record.offset,
        timestamp=record.timestamp,
        headers=[
            (preview(key.encode("utf-8", "surrogateescape")), preview(value))
            for key, value in record.headers[:HEADERS_SHOWN_MAX]
        ],
        headersCount=len(record.headers),
        key=preview(record.key),
        value=preview(record.value),
    )
    if header.is_control:
        facts: dict[str, Any] = dict(record_entry(header, record, decode).facts)
        names = ("endTxnMarker", "coordinatorEpoch", "controlType", "damaged")
        control = ControlShown(*(facts.get(name, ABSENT) for name in names))
        return replace(row, control=control)
    shown = decode(record)
    if shown is None:
        return row
    return replace(row, key=_content(shown.key), value=_content(shown.value))


def _content(value: object) -> Content | None:
    """Return the preview of a decoded key or value.

    Bytes become a preview of bytes, and a text of the decoder stays a text. Other values become
    JSON, or a cut text of it if they are long.
    """
    if value is None or isinstance(value, bytes):
        return preview(value)
    if isinstance(value, str):
        return Content(words=value)
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > PREVIEW_BYTES:
        return Content(len(text), cut=True, words=text[:PREVIEW_BYTES])
    return Content(len(text), json=value)


def preview(data: bytes | None) -> Content | None:
    """Return the first PREVIEW_BYTES of `data`, as text if they are UTF-8, else as base64."""
    if data is None:
        return None
    shown = data[:PREVIEW_BYTES]
    content = Content(len(data), cut=True if len(data) > PREVIEW_BYTES else ABSENT)
    try:
        return replace(content, text=shown.decode())
    except UnicodeDecodeError as error:
        # A cut may go through the middle of a character.
        if len(data) > PREVIEW_BYTES and error.start > PREVIEW_BYTES - 4:
            return replace(content, text=shown[: error.start].decode())
    return replace(content, base64=b64encode(shown).decode())


# --- bytes ----------------------------------------------------------------------------------------


def header_bytes(opened: OpenBatch) -> BytesNamed:
    """Return the 61 bytes of a batch's header with their fields."""
    data = opened.data[:HEADER_SIZE]
    return BytesNamed(
        what="header",
        at=opened.batch.position,
        size=HEADER_SIZE,
        from_=0,
        base64=b64encode(data).decode(),
        fields=[_shown(field) for field in header_fields(data, opened.header)],
        crcIsRight=opened.crc_is_right,
        varint=VARINT,
    )


def record_bytes(opened: OpenBatch, number: int, begin: int) -> BytesNamed:
    """Return at most HEX_BYTES bytes of record `number`, from its byte `begin` on, with all fields.

    A value that dump-log hides is zeroed. Raises CorruptBatch if the batch has no such record, and
    for damage.
    """
    if opened.damage is not None:
        raise CorruptBatch(opened.damage)
    located = next(islice(_located(opened), number, None), None)
    if located is None:
        raise CorruptBatch(f"the batch has no record number {number}")
    start, end, record = located
    begin = min(max(begin, 0), end - start)
    shown = bytearray(opened.body[start + begin : min(end, start + begin + HEX_BYTES)])
    fields = [_shown(field) for field in record_fields(opened.body, start, opened.header)]
    if (
        record.key is None
        and record.value is not None
        and replacement_text(record.value) is not None
    ):
        fields = [
            _hidden(field, shown, begin) if field.name == "value" else field for field in fields
        ]
    is_packed = opened.header.compression != Codec.NONE
    place = start if is_packed else opened.batch.position + HEADER_SIZE + start
    return BytesNamed(
        what="record",
        at=place,
        inUnpacked=is_packed,
        size=end - start,
        from_=begin,
        base64=b64encode(shown).decode(),
        fields=fields,
        offset=record.offset,
        varint=VARINT,
    )


def _hidden(field: FieldShown, shown: bytearray, begin: int) -> FieldShown:
    """Overwrite a field in `shown` with zeros, and return the field marked as hidden.

    `shown` are the record's bytes from byte `begin` on.
    """
    low, high = (min(max(at - begin, 0), len(shown)) for at in (field.start, field.end))
    shown[low:high] = bytes(high - low)
    meaning = "hidden, because it may contain a secret. Zeros replace its bytes."
    return replace(field, hidden=True, meaning=meaning)


def _shown(field: Field) -> FieldShown:
    value = field.value
    if isinstance(value, int) and abs(value) > _EXACT_MAX:
        value = str(value)
    return FieldShown(
        name=field.name,
        type=field.type,
        start=field.start,
        end=field.end,
        value=value,
        meaning=field.meaning,
        time_ms=field.time_ms,
        bits=[
            BitsShown(part.bits, part.name, part.value, part.raw, note_on(part.name, ""))
            for part in field.bits
        ],
        zigzag=field.zigzag,
        note=note_on(field.name, field.type),
    )


def batch_shown(entry: DumpEntry) -> BatchShown:
    """Return an entry of `storage.dump_log` as an answer.

    The entry has the largest timestamp under the name of its type; the answer has both.
    """
    facts: dict[str, Any] = dict(entry.facts)
    kind: Literal["CreateTime", "LogAppendTime"] = "CreateTime"
    if "LogAppendTime" in facts:
        kind = "LogAppendTime"
    return BatchShown(maxTimestamp=facts.pop(kind), timestampType=kind, **facts)
