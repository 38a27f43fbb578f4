"""The fast builder of plain record batches, such as coordinators write.

Plain: no headers, no compression, one timestamp, no producer. It takes a fifth of the time of
`protocol.records.RecordBatchBuilder`, which makes all other batches; tests check that both make the
same bytes. Never does I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from protocol.crc32c_function import crc32c
from protocol.record_batch import (
    CRC_OFFSET,
    CURRENT_MAGIC,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
)

_CRC = Struct(">I")
_BODY_OFFSET = CRC_OFFSET + _CRC.size
_NULL = b"\1"  # a length of -1, zigzagged
_SHORT = tuple(bytes((length << 1,)) for length in range(64))


def build_plain_batch(
    records: Sequence[tuple[bytes | None, bytes | None]], timestamp_ms: int
) -> bytearray:
    """Return a batch of `records`, which are keys and values; there must be at least one record.
    The offsets begin at 0."""
    batch = bytearray(HEADER_SIZE)
    add_plain_records(batch, records, 0)
    return finish_plain_batch(batch, len(records), timestamp_ms)


def add_plain_records(
    batch: bytearray, records: Sequence[tuple[bytes | None, bytes | None]], first: int
) -> None:
    """Append records to a batch that has `first` records and begins with room for its header."""
    for delta, (key, value) in enumerate(records, first):
        record = b"\0\0" + _length(delta)  # attributes, timestamp delta, offset delta
        record += _NULL if key is None else _length(len(key)) + key
        record += _NULL if value is None else _length(len(value)) + value
        batch += _length(len(record) + 1)
        batch += record
        batch.append(0)  # headers


def finish_plain_batch(batch: bytearray, count: int, timestamp_ms: int) -> bytearray:
    """Write the header of a batch that has all its `count` records; return the batch."""
    HEADER.pack_into(
        batch,
        0,
        0,
        len(batch) - LOG_OVERHEAD,
        NO_PARTITION_LEADER_EPOCH,
        CURRENT_MAGIC,
        0,
        0,
        count - 1,
        timestamp_ms,
        timestamp_ms,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        count,
    )
    _CRC.pack_into(batch, CRC_OFFSET, crc32c(memoryview(batch)[_BODY_OFFSET:]))
    return batch


def _length(value: int) -> bytes:
    """Return a number that is not negative as a zigzagged varint."""
    if value < 64:
        return _SHORT[value]
    rest = value << 1
    if rest < 0x4000:
        return bytes((rest & 0x7F | 0x80, rest >> 7))
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
