"""Records inside a batch (format v2): building batches and reading their records.

Owns the layout of a record, its deltas to the batch's header, and compressed bodies. Never assigns
offsets of a log, or decides which timestamps and keys a topic allows (`storage.log.log_validator`).
A client's produce does not use this module unless a config requires that its records are checked:
see `docs/differences.md`.

Follows KIP-82 (headers), KIP-98 (the v2 format), KIP-390 (levels), KIP-534 (delete horizon), and
Kafka's `DefaultRecord` and `MemoryRecordsBuilder`. A record, with every varint zigzagged:

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
    | key length varint, key | value length varint, value     (-1 for null)
    | number of headers varint | each: key length, key, value length, value

`ottla.testing.records.Record` is the same concept, for users' tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from protocol.compression import Codec, compress, decompress
from protocol.record_batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    CURRENT_MAGIC,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Bytes,
    RecordBatchHeader,
    TimestampType,
    batch_of,
    read_header,
)
from protocol.record_scan import read_varint, scan_records

UNPACKED_LIMIT_BYTES = 100 * 1024 * 1024
"""The default limit of a batch's unpacked size: that of the largest request that a broker accepts
by default (`socket.request.max.bytes`)."""

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """A record. `timestamp` is in ms since the epoch; `offset` is -1 before it is in a log.

    Header keys are text; bytes that are not UTF-8 become surrogate escapes.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


# --- reading -------------------------------------------------------------------------------------


def iterate_records(
    batch: Bytes, pos: int = 0, *, limit_bytes: int = UNPACKED_LIMIT_BYTES
) -> Iterator[Record]:
    """Return an iterator of the records of the batch that starts at `pos`.

    The records are checked as by `scan_records`; the CRC is not. Raises CorruptBatch at once if the
    header or the compression is damaged, or there are more than `limit_bytes` unpacked; else after
    the records before the damage.
    """
    header = read_header(batch, pos)
    packed = memoryview(batch)[pos + HEADER_SIZE : pos + header.size_in_bytes]
    if header.compression == Codec.NONE:
        body = bytes(packed)
    else:
        body = decompress(header.compression, packed, limit_bytes)
    return records_in(header, body)


def records_in(header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
    """Yield the records of a batch's unpacked body. Raises CorruptBatch after the records before
    the damage."""
    for scanned in scan_records(header, body):
        if scanned is None:
            continue
        offset, timestamp, key_length, key_end, value_length, value_end = scanned
        key = None if key_length < 0 else body[key_end - key_length : key_end]
        value = None if value_length < 0 else body[value_end - value_length : value_end]
        headers = headers_at(body, value_end) if body[value_end] else ()
        yield Record(offset, timestamp, key, value, headers)


def headers_at(body: Bytes, pos: int) -> Headers:
    """Return the headers of a record that `scan_records` has checked; `pos` is the end of its
    value."""
    count, pos = read_varint(body, pos)
    headers = []
    for _ in range(count):
        length, start = read_varint(body, pos)
        pos = start + length
        key = bytes(body[start:pos]).decode("utf-8", "surrogateescape")
        length, start = read_varint(body, pos)
        pos = start + max(length, 0)
        headers.append((key, None if length < 0 else bytes(body[start:pos])))
    return tuple(headers)


# --- building ------------------------------------------------------------------------------------


class RecordBatchBuilder:
    """A builder of one batch, record by record. Offsets rise by 1 from `base_offset`, unless they
    are given."""

    def __init__(
        self,
        *,
        base_offset: int = 0,
        compression: int = Codec.NONE,
        compression_level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        delete_horizon_ms: int | None = None,
    ) -> None:
        """Begin an empty batch. A delete horizon takes the place of its base timestamp, which is
        otherwise the first record's. `compression_level` None is the codec's default."""
        self._base_offset = base_offset
        self._compression = compression
        self._compression_level = compression_level
        self._producer = (producer_id, producer_epoch, base_sequence)
        self._leader_epoch = leader_epoch
        self._attributes = (
            int(compression)
            | (LOG_APPEND_TIME_FLAG if timestamp_type else 0)
            | (TRANSACTIONAL_FLAG if is_transactional else 0)
            | (CONTROL_FLAG if is_control else 0)
            | (DELETE_HORIZON_FLAG if delete_horizon_ms is not None else 0)
        )
        # The first record's timestamp, unless the delete horizon takes its place.
        self._base_timestamp = delete_horizon_ms
        self._max_timestamp = NO_TIMESTAMP
        self._body = bytearray()
        self._last_offset = base_offset - 1
        self.record_count = 0

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Iterable[tuple[str, bytes | None]] = (),
        offset: int = -1,
    ) -> None:
        """Append a record, by default at the next offset. A given `offset` may leave a gap, as
        compaction does. Raises ValueError if it is not above the last record's."""
        if offset < 0:
            offset = self._last_offset + 1
        if offset <= self._last_offset:
            raise ValueError(f"offset {offset} after {self._last_offset}")
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        record = bytearray(b"\0")
        write_varint(record, timestamp - self._base_timestamp)
        write_varint(record, offset - self._base_offset)
        _write_nullable(record, key)
        _write_nullable(record, value)
        _write_headers(record, headers)
        write_varint(self._body, len(record))
        self._body += record
        self._last_offset = offset
        self._max_timestamp = max(self._max_timestamp, timestamp)
        self.record_count += 1

    def build(
        self, *, last_offset: int | None = None, max_timestamp: int | None = None
    ) -> bytearray:
        """Return the whole batch with its CRC.

        `last_offset` is that of the batch before compaction, even if no record is left.
        `max_timestamp` replaces that of the records, for a LogAppendTime batch. Raises ValueError
        if `last_offset` is below the last record's, or missing for a batch without records.
        """
        body: Bytes = self._body
        if self._compression != Codec.NONE and self.record_count:
            body = compress(self._compression, body, self._compression_level)
        last_offset = self._last_offset if last_offset is None else last_offset
        if last_offset < max(self._last_offset, self._base_offset):
            raise ValueError("a batch covers one offset at least, and all of its records")
        header = RecordBatchHeader(
            self._base_offset,
            0,
            self._leader_epoch,
            CURRENT_MAGIC,
            0,
            self._attributes if self.record_count else self._attributes & ~CODEC_MASK,
            last_offset - self._base_offset,
            NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            self._max_timestamp if max_timestamp is None else max_timestamp,
            *self._producer,
            self.record_count,
        )
        return batch_of(header, body)


def _write_nullable(out: bytearray, data: bytes | None) -> None:
    """Append the data after its zigzag varint length; None has the length -1."""
    if data is None:
        out.append(1)  # -1, zigzagged
        return
    write_varint(out, len(data))
    out += data


def _write_headers(out: bytearray, headers: Iterable[tuple[str, bytes | None]]) -> None:
    """Append the number of headers, then each key and value, as a record has them."""
    if not headers:
        out.append(0)
        return
    pairs = list(headers)
    write_varint(out, len(pairs))
    for key, value in pairs:
        _write_nullable(out, key.encode("utf-8", "surrogateescape"))
        _write_nullable(out, value)


def write_varint(out: bytearray, value: int) -> None:
    """Append a zigzagged number, which `read_varint` and `read_varlong` can read."""
    value = value << 1 if value >= 0 else ~(value << 1)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
