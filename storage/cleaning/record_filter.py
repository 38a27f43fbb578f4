"""A reader of the keys and offsets in a batch's bytes, and a builder of batches with fewer records.

Compaction runs this code for each record, so it is written for speed. It walks through the batch's
body by position, reads only the fields that it needs, and copies only keys. The records that stay
are copied as ranges of bytes, because their deltas count from the same header. Only a new delete
horizon (KIP-534), which replaces the base timestamp, makes it rewrite them.

Owns nothing. Never: decides about a batch (`storage.cleaning.cleaner`), or trusts a length in it.
`protocol.records` has the layout of a record. Follows Kafka's `MemoryRecords.filterTo`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from protocol.compression import Codec, compress, decompress
from protocol.record_batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    Bytes,
    CorruptBatch,
    RecordBatchHeader,
    batch_of,
)
from protocol.record_scan import RECORD_BYTES_MAX, read_varlong, scan_records
from protocol.records import UNPACKED_LIMIT_BYTES, write_varint
from storage.cleaning.offset_map import KEY_BYTES_MAX, OffsetMap, digest_of

Range = tuple[int, int]
"""The positions at which a record (with its length field) begins and ends."""


def body_of(
    data: Bytes, position: int, header: RecordBatchHeader, record_bytes_max: int = RECORD_BYTES_MAX
) -> tuple[bytes, int, int]:
    """Return (bytes, first position, end) of a batch's records, decompressed if need be.

    Raises CorruptBatch, and RecordTooLarge if it is decompressed and a record has more than
    `record_bytes_max`.
    """
    end = position + header.size_in_bytes
    codec = header.attributes & CODEC_MASK
    if codec == Codec.NONE:
        if isinstance(data, bytes):
            return data, position + HEADER_SIZE, end
        body = bytes(memoryview(data)[position + HEADER_SIZE : end])
    else:
        packed = memoryview(data)[position + HEADER_SIZE : end]
        body = decompress(codec, packed, UNPACKED_LIMIT_BYTES)
        if len(body) > record_bytes_max:  # so one of its records may be too large
            deque(scan_records(header, body, record_bytes_max), 0)
    return body, 0, len(body)


def index_keys(
    body: bytes,
    position: int,
    end: int,
    header: RecordBatchHeader,
    start_offset: int,
    offsets: OffsetMap,
) -> None:
    """Set the offset of each key of a batch in `offsets.by_key`, if it is `start_offset` or later.
    A later record overwrites an earlier one. Raises CorruptBatch."""
    latest = offsets.by_key
    for _, _, offset, key, _ in _records(body, position, end, header):
        if key is not None and offset >= start_offset:
            latest[key] = offset


def choose_records(
    body: bytes,
    position: int,
    end: int,
    header: RecordBatchHeader,
    offsets: OffsetMap,
    drops_tombstones: bool,
) -> tuple[list[Range], bool, int]:
    """Return (ranges of the records that stay, whether one is a tombstone, dropped keyless ones).

    A record stays if it is the last of its key in the offset map, or lies beyond the map. A record
    within the map without a key is dropped. A tombstone within the map is dropped if
    `drops_tombstones`. Raises CorruptBatch.
    """
    kept: list[Range] = []
    tombstones, keyless = False, 0
    latest_of, latest = offsets.by_key.get, offsets.latest_offset
    for start, record_end, offset, key, value_at in _records(body, position, end, header):
        if offset <= latest:
            if key is None:
                keyless += 1
                continue
            if offset < latest_of(key, -1):
                continue
        if body[value_at] == 1:  # -1, the length of a value that is null
            if drops_tombstones and offset <= latest:
                continue
            tombstones = True
        kept.append((start, record_end))
    return kept, tombstones, keyless


def _records(  # noqa: C901  a call for each field would take longer than the field
    body: bytes, position: int, end: int, header: RecordBatchHeader
) -> Iterator[tuple[int, int, int, bytes | None, int]]:
    """Yield (start, end, offset, key or its digest, position of the value's length) of each record.

    The key is None if the record has none. Raises CorruptBatch.
    """
    base_offset = header.base_offset
    try:
        for _ in range(header.record_count):
            start = position
            length = body[position]
            position += 1
            if length > 127:
                length, position = _varint_rest(body, position, length - 128, 7)
            record_end = position + (length >> 1)
            if length & 1 or record_end > end:
                raise _overrun(position)
            position += 1  # attributes
            while body[position] > 127:  # the timestamp delta
                position += 1
            position += 1
            delta = body[position]
            position += 1
            if delta > 127:
                delta, position = _varint_rest(body, position, delta - 128, 7)
            length = body[position]
            position += 1
            key = None
            if length > 127:
                length, position = _varint_rest(body, position, length - 128, 7)
            if not length & 1:  # -1, no key, is 1
                key_end = position + (length >> 1)
                key = body[position:key_end]
                if length > 2 * KEY_BYTES_MAX:
                    key = digest_of(key)
                position = key_end
            if position >= record_end or delta & 1:  # a negative delta is odd
                raise _overrun(position)
            yield start, record_end, base_offset + (delta >> 1), key, position
            position = record_end
    except IndexError:
        raise _overrun(position) from None
    if position != end:
        raise CorruptBatch(f"{end - position} bytes follow the last record")


def _overrun(position: int) -> CorruptBatch:
    """Return the error of a record whose fields do not end within it."""
    return CorruptBatch(f"a record goes beyond its end near byte {position}")


def _varint_rest(body: bytes, position: int, value: int, shift: int) -> tuple[int, int]:
    """Read the rest of a varint. Its first bytes gave `value`, which has `shift` bits.

    Return its raw (zigzag) value and the position behind it. Raises CorruptBatch; IndexError if the
    body ends before.
    """
    while shift < 70:
        byte = body[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    raise CorruptBatch(f"varint over ten bytes near byte {position}")


# --- new batches ---------------------------------------------------------------------------------


def rebuild(
    body: bytes, kept: list[Range], header: RecordBatchHeader, delete_horizon_ms: int | None
) -> bytearray:
    """Return the batch with only the records in `kept`, which is not empty.

    Offsets, producer, sequence, leader epoch and codec stay; CRC, count and largest timestamp are
    recomputed, except the timestamp under LogAppendTime. `delete_horizon_ms` is the new horizon,
    None to keep the batch's own.
    """
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if delete_horizon_ms is None:
        records = b"".join([body[start:end] for start, end in kept])
    else:
        records = _rebased(body, kept, base_timestamp - delete_horizon_ms)
        attributes, base_timestamp = attributes | DELETE_HORIZON_FLAG, delete_horizon_ms
    max_timestamp = header.max_timestamp
    if not attributes & LOG_APPEND_TIME_FLAG:
        max_timestamp = header.base_timestamp + max(_timestamp_delta(body, at) for at, _ in kept)
    if attributes & CODEC_MASK:
        records = compress(attributes & CODEC_MASK, records)
    return batch_of(
        header._replace(
            attributes=attributes,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            record_count=len(kept),
        ),
        records,
    )


def empty_batch(header: RecordBatchHeader) -> bytearray:
    """Return the batch without records: it keeps its offsets, its producer and the sequences. It
    has no codec, base timestamp or delete horizon."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG)
    emptied = header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, record_count=0)
    return batch_of(emptied, b"")


def _timestamp_delta(body: bytes, start: int) -> int:
    """Return the timestamp delta of the record that begins at position `start`, in ms."""
    while body[start] > 127:  # the record's length
        start += 1
    return read_varlong(body, start + 2)[0]


def _rebased(body: bytes, kept: list[Range], shift: int) -> bytes:
    """Return the bytes of the records in `kept`, with `shift` added to each timestamp delta."""
    out = bytearray()
    for start, end in kept:
        while body[start] > 127:
            start += 1
        delta, rest = read_varlong(body, start + 2)
        stamp = bytearray()
        write_varint(stamp, delta + shift)
        write_varint(out, 1 + len(stamp) + end - rest)
        out += body[start + 1 : start + 2]
        out += stamp
        out += body[rest:end]
    return bytes(out)
