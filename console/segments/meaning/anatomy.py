"""The fields of a batch's header and of a record, as ranges of bytes.

A field has a name, a type, a value and its encoding: the bits of attributes, the zigzag number of a
varint. The ranges of a header or record are adjacent, so each byte belongs to one field. The names
are those of Kafka's `DefaultRecordBatch` and `DefaultRecord`; `field_notes` explains them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from protocol.compression import Codec
from protocol.record_batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    TRANSACTIONAL_FLAG,
    Bytes,
    CorruptBatch,
    RecordBatchHeader,
)
from protocol.record_scan import read_varint, read_varlong

HEADERS_SHOWN_MAX = 100
"""The most headers of a record with fields of their own; the rest is one range."""

_HEADER_FIELDS = (
    ("baseOffset", "int64", "q"),
    ("batchLength", "int32", "i"),
    ("partitionLeaderEpoch", "int32", "i"),
    ("magic", "int8", "b"),
    ("crc", "uint32", "I"),
    ("attributes", "int16", "h"),
    ("lastOffsetDelta", "int32", "i"),
    ("baseTimestamp", "int64", "q"),
    ("maxTimestamp", "int64", "q"),
    ("producerId", "int64", "q"),
    ("producerEpoch", "int16", "h"),
    ("baseSequence", "int32", "i"),
    ("recordsCount", "int32", "i"),
)
_TIMES = ("baseTimestamp", "maxTimestamp")


@dataclass(frozen=True, slots=True)
class Bits:
    """A part of an attributes field: the numbers of its bits, of which 0 is the lowest."""

    bits: str
    name: str
    value: str
    raw: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field: the bytes from `start` up to but without `end` of a header or record."""

    name: str
    type: str
    start: int
    end: int
    value: int | str | None
    """The number of the field; None for keys, values and other bytes."""
    meaning: str = ""
    """A value derived from this and other fields, in words: an absolute offset, a sum."""
    time_ms: int | None = None
    """The time that the field stands for, in ms since the epoch; None if it is not a time."""
    bits: tuple[Bits, ...] = ()
    zigzag: int | None = None
    """The unsigned number in the bytes of a varint, before the zigzag decoding; else None."""


# --- a batch's header -----------------------------------------------------------------------------


def header_fields(data: Bytes, header: RecordBatchHeader) -> list[Field]:
    """Return the fields of the 61 bytes of `header`, with which `data` begins."""
    fields, at = [], 0
    for name, kind, code in _HEADER_FIELDS:
        entry = Struct(f">{code}")
        (value,) = entry.unpack_from(data, at)
        end = at + entry.size
        time = value if name in _TIMES and value >= 0 else None
        bits = attribute_bits(value) if name == "attributes" else ()
        meaning = _meaning(name, header)
        fields.append(Field(name, kind, at, end, value, meaning, time, bits))
        at = end
    return fields


def _meaning(name: str, header: RecordBatchHeader) -> str:
    if name == "batchLength":
        return f"{LOG_OVERHEAD} + {header.batch_length} = {header.size_in_bytes} bytes in total"
    if name == "lastOffsetDelta":
        return (
            f"last offset {header.base_offset} + {header.last_offset_delta} = {header.last_offset}"
        )
    if name == "crc":
        return f"0x{header.crc:08x}"
    if name == "baseTimestamp" and header.delete_horizon_ms is not None:
        return "the delete horizon of the batch"
    if name == "producerId" and not header.has_producer_id:
        return "none: the producer is not idempotent"
    if name == "baseSequence" and header.base_sequence >= 0:
        return f"last sequence {header.last_sequence}"
    if name == "recordsCount" and header.record_count != header.last_offset_delta + 1:
        gone = header.last_offset_delta + 1 - header.record_count
        return f"compaction removed {gone} of {header.last_offset_delta + 1} records"
    return ""


def attribute_bits(attributes: int) -> tuple[Bits, ...]:
    """Return the parts of the 16 bits of a batch's attributes."""
    codec = attributes & CODEC_MASK
    name = Codec(codec).name.lower() if codec in tuple(Codec) else f"unknown ({codec})"
    return (
        Bits("0–2", "compression", name, f"{codec:03b}"),
        _bit(3, "timestampType", attributes & LOG_APPEND_TIME_FLAG, "LogAppendTime", "CreateTime"),
        _bit(4, "isTransactional", attributes & TRANSACTIONAL_FLAG),
        _bit(5, "isControl", attributes & CONTROL_FLAG),
        _bit(6, "hasDeleteHorizon", attributes & DELETE_HORIZON_FLAG),
        Bits("7–15", "unused", "", f"{attributes >> 7 & 0x1FF:09b}"),
    )


def _bit(number: int, name: str, is_set: int, yes: str = "yes", no: str = "no") -> Bits:
    return Bits(str(number), name, yes if is_set else no, "1" if is_set else "0")


# --- a record -------------------------------------------------------------------------------------


def record_fields(body: Bytes, start: int, header: RecordBatchHeader) -> list[Field]:
    """Return the fields of the record at byte `start` of the decompressed body of a batch.

    The ranges of the fields count from `start`.

    Raises CorruptBatch.
    """
    try:
        return list(_record_fields(body, start, header))
    except IndexError:
        raise CorruptBatch("the bytes end inside the record") from None


def _record_fields(body: Bytes, start: int, header: RecordBatchHeader) -> Iterator[Field]:
    length, at = read_varint(body, start)
    end = at + length
    if length < 0 or end > len(body):
        raise CorruptBatch(f"record of {length} bytes, {len(body) - at} remain")
    yield _varint("length", start, start, at, length, f"the record ends at byte {end - start}")
    attributes = body[at]
    yield Field("attributes", "int8", at - start, at + 1 - start, attributes, "unused")
    delta, after = read_varlong(body, at + 1)
    yield _timestamp(delta, start, at + 1, after, header)
    delta, at = read_varint(body, after)
    offset = f"offset {header.base_offset} + {delta} = {header.base_offset + delta}"
    yield _varint("offsetDelta", start, after, at, delta, offset)
    for name in ("key", "value"):
        length, after = read_varint(body, at)
        yield _varint(f"{name}Length", start, at, after, length, "null" if length < 0 else "")
        at = after + max(length, 0)
        if at > end:
            raise CorruptBatch(f"a {name} of {length} bytes ends after its record")
        if length > 0:
            yield Field(name, "bytes", after - start, at - start, None)
    yield from _headers(body, start, at, end)


def _timestamp(delta: int, start: int, at: int, end: int, header: RecordBatchHeader) -> Field:
    time = header.base_timestamp + delta
    text = f"{header.base_timestamp} + {delta} = {time}"
    if header.timestamp_type:
        time, text = header.max_timestamp, f"{text}; the batch has LogAppendTime, which replaces it"
    at, end = at - start, end - start
    meaning = f"timestamp {text}"
    return Field("timestampDelta", "varlong", at, end, delta, meaning, time, (), _zigzag(delta))


def _headers(body: Bytes, start: int, at: int, end: int) -> Iterator[Field]:
    count, after = read_varint(body, at)
    yield _varint("headersCount", start, at, after, count)
    at = after
    for number in range(min(count, HEADERS_SHOWN_MAX)):
        for name in ("headerKey", "headerValue"):
            length, after = read_varint(body, at)
            meaning = f"header {number}" + (", null" if length < 0 else "")
            yield _varint(f"{name}Length", start, at, after, length, meaning)
            at = after + max(length, 0)
            if at > end:
                raise CorruptBatch(f"a header of {length} bytes ends after its record")
            if length > 0:
                yield Field(name, "bytes", after - start, at - start, None, f"header {number}")
    if at < end and count > HEADERS_SHOWN_MAX:
        left = count - HEADERS_SHOWN_MAX
        yield Field("headers", "bytes", at - start, end - start, None, f"{left} more headers")
    elif at != end:
        raise CorruptBatch(f"record ends at byte {at - start}, its length says {end - start}")


def _varint(name: str, start: int, at: int, end: int, value: int, meaning: str = "") -> Field:
    at, end = at - start, end - start
    return Field(name, "varint", at, end, value, meaning, None, (), _zigzag(value))


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else ~(value << 1)
