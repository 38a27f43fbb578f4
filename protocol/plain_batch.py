"""A batch of plain records in one go: what a coordinator writes.

No headers, no compression, one timestamp, no producer. A fifth of the time that
`protocol.records.RecordBatchBuilder` takes, which makes every other batch; tests hold both to the
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
    """A batch of `records`, keys and values, at least one; its offsets begin at 0."""
    batch = bytearray(HEADER_SIZE)
    add_plain_records(batch, records, 0)
    return finish_plain_batch(batch, len(records), timestamp_ms)


def add_plain_records(
    batch: bytearray, records: Sequence[tuple[bytes | None, bytes | None]], first: int
) -> None:
    """Add records to a batch that has `first` of them, and begins with room for its header."""
    for delta, (key, value) in enumerate(records, first):
        record = b"\0\0" + _length(delta)  # attributes, no time since the first record, offset
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
    """A varint of what is not negative, zigzagged."""
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
