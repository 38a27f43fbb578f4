"""Records inside a batch (format v2): building batches and walking through their records.

Owns: the layout of one record, its deltas against the batch's header, compressed bodies. Never:
assigns offsets of a log or decides which timestamps and keys a topic allows
(`storage.log.log_validator`). A client's produce does not come here unless a config wants its
records looked at: see `docs/differences.md`.

Follows KIP-82 (headers), KIP-98 (the v2 format), KIP-390 (levels), KIP-534 (delete horizon), and
Kafka's `DefaultRecord` and `MemoryRecordsBuilder`. A record, with every varint zigzagged:

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
    | key length varint, key | value length varint, value     (-1 for null)
    | number of headers varint | each: key length, key, value length, value
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple, TypeAlias

from protocol.compression import Codec, compress, decompress
from protocol.record_batch import (
    CONTROL_FLAG,
    CRC_OFFSET,
    CURRENT_MAGIC,
    DELETE_HORIZON_FLAG,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Bytes,
    CorruptBatch,
    RecordBatchHeader,
    TimestampType,
    crc_of,
    read_header,
)

UNPACKED_LIMIT_BYTES = 100 * 1024 * 1024
"""What a compressed batch may unpack to where the caller sets no limit: as much as the largest
request that a broker takes by default (`socket.request.max.bytes`)."""

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

_CRC = Struct(">I")
INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


class Record(NamedTuple):
    """One record. `timestamp` in ms since the epoch; `offset` -1 where it is not in a log yet.

    Header keys are text; bytes that are not UTF-8 survive as surrogate escapes.
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
    """The records of the one batch that starts at `pos`, strictly checked; the CRC is not.

    Offsets have to rise and stay within the header's last offset delta, and the records have to be
    as many and as long as is said. Raises CorruptBatch, after the records before the damage.
    """
    header = read_header(batch, pos)
    body: Bytes = memoryview(batch)[pos + HEADER_SIZE : pos + header.size_in_bytes]
    if header.compression == Codec.NONE:
        body = bytes(body)
    else:
        body = decompress(header.compression, body, limit_bytes)
    return _records_of(header, body)


def _records_of(header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
    if header.record_count < 0:
        raise CorruptBatch(f"record count {header.record_count} is negative")
    pos = 0
    base_offset = header.base_offset
    # The first record's delta may be above 0: compaction removes records and keeps the header.
    lowest_offset = base_offset
    highest_offset = header.last_offset
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    for index in range(header.record_count):
        try:
            record, pos = _read_record(body, pos, base_offset, header.base_timestamp)
        except IndexError:
            raise CorruptBatch(
                f"records end inside record {index} of {header.record_count}"
            ) from None
        if not lowest_offset <= record.offset <= highest_offset:
            raise CorruptBatch(
                f"record {index} has offset {record.offset}, "
                f"not within {lowest_offset} to {highest_offset}"
            )
        lowest_offset = record.offset + 1
        if append_time is not None:
            record = record._replace(timestamp=append_time)
        yield record
    if pos != len(body):
        raise CorruptBatch(f"{len(body) - pos} bytes follow the last record")


def _read_record(
    body: bytes, pos: int, base_offset: int, base_timestamp: int
) -> tuple[Record, int]:
    """The record at `pos` and the position after it. IndexError where the bytes end too early."""
    length, pos = read_varint(body, pos)
    end = pos + length
    if length < 0 or end > len(body):
        raise CorruptBatch(f"record of {length} bytes, {len(body) - pos} remain")
    # One byte of attributes, unused so far.
    timestamp_delta, pos = read_varlong(body, pos + 1)
    offset_delta, pos = read_varint(body, pos)
    key, pos = _read_nullable(body, pos, end)
    value, pos = _read_nullable(body, pos, end)
    count, pos = read_varint(body, pos)
    headers: Headers = ()
    if count:
        headers, pos = _read_headers(body, pos, end, count)
    if pos != end:
        raise CorruptBatch(f"record ends at byte {pos}, its length says {end}")
    timestamp = base_timestamp + timestamp_delta
    if not INT64_MIN <= timestamp <= INT64_MAX:
        raise CorruptBatch(f"timestamp {timestamp} is over 64 bits")
    return Record(base_offset + offset_delta, timestamp, key, value, headers), pos


def _read_nullable(body: bytes, pos: int, end: int) -> tuple[bytes | None, int]:
    length, pos = read_varint(body, pos)
    if length == -1:
        return None, pos
    value_end = pos + length
    if length < 0 or value_end > end:
        raise CorruptBatch(f"key or value of {length} bytes, the record has {end - pos} left")
    return body[pos:value_end], value_end


def _read_headers(body: bytes, pos: int, end: int, count: int) -> tuple[Headers, int]:
    # A header takes two bytes at least.
    if count < 0 or 2 * count > end - pos:
        raise CorruptBatch(f"{count} headers, the record has {end - pos} bytes left")
    headers = []
    for _ in range(count):
        key, pos = _read_nullable(body, pos, end)
        if key is None:
            raise CorruptBatch("a header's key is null")
        value, pos = _read_nullable(body, pos, end)
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), pos


def read_varint(body: bytes | memoryview, pos: int) -> tuple[int, int]:
    """A zigzagged 32-bit number at `pos`, and the position after it. Raises IndexError where the
    bytes end too early, CorruptBatch where it is no such number."""
    byte = body[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    return _read_long_varint(body, pos, 5, 0xFFFFFFFF)


def read_varlong(body: bytes | memoryview, pos: int) -> tuple[int, int]:
    """The same of 64 bits."""
    byte = body[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    return _read_long_varint(body, pos, 10, 0xFFFFFFFFFFFFFFFF)


def _read_long_varint(
    body: bytes | memoryview, pos: int, most_bytes: int, highest: int
) -> tuple[int, int]:
    value = 0
    for index in range(most_bytes):
        byte = body[pos + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > highest:
                break
            return (value >> 1) ^ -(value & 1), pos + index + 1
    raise CorruptBatch(f"varint at byte {pos} is over {most_bytes} bytes or {highest:#x}")


# --- building ------------------------------------------------------------------------------------


class RecordBatchBuilder:
    """One batch, record by record. Offsets count up from `base_offset` unless they are given."""

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

    @property
    def size_in_bytes(self) -> int:
        """The batch so far, before compression."""
        return HEADER_SIZE + len(self._body)

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets."""
        return self._last_offset + 1

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Iterable[tuple[str, bytes | None]] = (),
        offset: int = -1,
    ) -> None:
        """Add a record. A given `offset` leaves a gap, as compaction does; it may not go back."""
        if offset < 0:
            offset = self._last_offset + 1
        if offset <= self._last_offset:
            raise ValueError(f"offset {offset} after {self._last_offset}")
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        record = bytearray(b"\0")
        _write_varint(record, timestamp - self._base_timestamp)
        _write_varint(record, offset - self._base_offset)
        _write_nullable(record, key)
        _write_nullable(record, value)
        _write_headers(record, headers)
        _write_varint(self._body, len(record))
        self._body += record
        self._last_offset = offset
        self._max_timestamp = max(self._max_timestamp, timestamp)
        self.record_count += 1

    def build(
        self, *, last_offset: int | None = None, max_timestamp: int | None = None
    ) -> bytearray:
        """The whole batch with its CRC.

        `last_offset` keeps what a batch covered before compaction, also when no record is left.
        `max_timestamp` stands in place of the records' own: the time of a LogAppendTime batch.
        """
        body: Bytes = self._body
        if self._compression != Codec.NONE and self.record_count:
            body = compress(self._compression, body, self._compression_level)
        last_offset = self._last_offset if last_offset is None else last_offset
        if last_offset < max(self._last_offset, self._base_offset):
            raise ValueError("a batch covers one offset at least, and all of its records")
        batch = bytearray(HEADER_SIZE)
        HEADER.pack_into(
            batch,
            0,
            self._base_offset,
            HEADER_SIZE - LOG_OVERHEAD + len(body),
            self._leader_epoch,
            CURRENT_MAGIC,
            0,
            self._attributes if self.record_count else self._attributes & ~0x07,
            last_offset - self._base_offset,
            NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            self._max_timestamp if max_timestamp is None else max_timestamp,
            *self._producer,
            self.record_count,
        )
        batch += body
        _CRC.pack_into(batch, CRC_OFFSET, crc_of(batch, 0, len(batch)))
        return batch


def build_batch(
    records: Iterable[Record],
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
    last_offset: int | None = None,
    max_timestamp: int | None = None,
) -> bytearray:
    """A batch of these records: `RecordBatchBuilder` in one call.

    A record's own offset is taken, where it has one; -1 means the next one. ValueError where an
    offset goes back.
    """
    builder = RecordBatchBuilder(
        base_offset=base_offset,
        compression=compression,
        compression_level=compression_level,
        timestamp_type=timestamp_type,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        leader_epoch=leader_epoch,
        delete_horizon_ms=delete_horizon_ms,
    )
    for record in records:
        builder.append(record.key, record.value, record.timestamp, record.headers, record.offset)
    return builder.build(last_offset=last_offset, max_timestamp=max_timestamp)


def _write_nullable(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)  # -1, zigzagged
        return
    _write_varint(out, len(data))
    out += data


def _write_headers(out: bytearray, headers: Iterable[tuple[str, bytes | None]]) -> None:
    if not headers:
        out.append(0)
        return
    pairs = list(headers)
    _write_varint(out, len(pairs))
    for key, value in pairs:
        _write_nullable(out, key.encode("utf-8", "surrogateescape"))
        _write_nullable(out, value)


def _write_varint(out: bytearray, value: int) -> None:
    """Zigzag: small negative numbers are short, too. Also for 64 bits."""
    value = value << 1 if value >= 0 else ~(value << 1)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
