"""The scan of a batch's records without copying them: the position and the numbers of each record.

Owns the checks of records and their numbers. No key or value is copied, so a record of 90 MB costs
as much as a record of 90 bytes. The scan pauses after some records, and between headers if a record
has very many. `protocol.records` has the layout. Never checks a CRC.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TypeAlias

from protocol.record_batch import (
    LOG_APPEND_TIME_FLAG,
    Bytes,
    CorruptBatch,
    RecordBatchHeader,
    RecordTooLarge,
)

Scanned: TypeAlias = tuple[int, int, int, int, int, int]
"""Offset, timestamp (ms), the key's length (-1 for null) and end position, the value's length and
end position; the headers follow the value."""

RECORD_BYTES_MAX = 2**31 - 9
"""The size of a record that no limit excludes: no array of Java is longer."""
RECORDS_PER_STOP = HEADERS_PER_STOP = 1000
"""The number of records, or of headers, between two pauses: some two milliseconds."""
_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1


def scan_records(  # noqa: C901  a call for each check would take longer than the check
    header: RecordBatchHeader, body: Bytes, record_bytes_max: int = RECORD_BYTES_MAX
) -> Iterator[Scanned | None]:
    """Yield each record of the unpacked `body`, and None at each pause, where a caller may yield to
    the event loop.

    Offsets have to rise and stay within the header's last offset delta, and the records must have
    the claimed count and lengths. `record_bytes_max` applies to compressed batches, and to a record
    without its length. Raises CorruptBatch after the records before the damage, RecordTooLarge
    after those before the first large one.
    """
    count = header.record_count
    if count < 0:
        raise CorruptBatch(f"record count {count} is negative")
    most = record_bytes_max if header.compression else RECORD_BYTES_MAX
    pos, size = 0, len(body)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    # The first record's delta may be above 0: compaction removes records and keeps the header.
    lowest, highest = base_offset, header.last_offset
    own_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    next_stop = RECORDS_PER_STOP
    for index in range(count):
        if index == next_stop:
            next_stop += RECORDS_PER_STOP
            yield None
        try:
            length, pos = read_varint(body, pos)
            end = pos + length
            if not 0 <= length <= most or end > size:
                if length > most:
                    raise RecordTooLarge(length, most)
                raise CorruptBatch(f"record of {length} bytes, {size - pos} remain")
            # A byte of attributes, which are unused so far.
            timestamp_delta, pos = read_varlong(body, pos + 1)
            offset_delta, pos = read_varint(body, pos)
            key_length, key_end = _skip(body, pos, end)
            value_length, value_end = _skip(body, key_end, end)
            headers, pos = read_varint(body, value_end)
            if headers:
                pos = yield from _skip_headers(body, pos, end, headers)
        except IndexError:
            raise CorruptBatch(f"records end inside record {index} of {count}") from None
        if pos != end:
            raise CorruptBatch(f"record ends at byte {pos}, its length says {end}")
        timestamp, offset = base_timestamp + timestamp_delta, base_offset + offset_delta
        if not _INT64_MIN <= timestamp <= _INT64_MAX:
            raise CorruptBatch(f"timestamp {timestamp} is over 64 bits")
        if not lowest <= offset <= highest:
            raise CorruptBatch(
                f"record {index} has offset {offset}, not within {lowest} to {highest}"
            )
        lowest = offset + 1
        stamp = timestamp if own_time is None else own_time
        yield offset, stamp, key_length, key_end, value_length, value_end
    if pos != size:
        raise CorruptBatch(f"{size - pos} bytes follow the last record")


def _skip(body: Bytes, pos: int, end: int) -> tuple[int, int]:
    """Return the length of a key or value, -1 for null, and the position after it.

    Raises CorruptBatch if the record is too short for it.
    """
    length, pos = read_varint(body, pos)
    if length == -1:
        return length, pos
    if length < 0 or pos + length > end:
        raise CorruptBatch(f"key or value of {length} bytes, the record has {end - pos} left")
    return length, pos + length


def _skip_headers(body: Bytes, pos: int, end: int, count: int) -> Generator[None, None, int]:
    """Skip `count` headers and yield None after every HEADERS_PER_STOP of them. The generator
    returns the position after the headers.

    Raises CorruptBatch if the count is impossible, a key is null or the record is too short.
    """
    # A header takes two bytes at least.
    if count < 0 or 2 * count > end - pos:
        raise CorruptBatch(f"{count} headers, the record has {end - pos} bytes left")
    for number in range(count):
        length, pos = _skip(body, pos, end)
        if length < 0:
            raise CorruptBatch("a header's key is null")
        _, pos = _skip(body, pos, end)
        if number % HEADERS_PER_STOP == HEADERS_PER_STOP - 1:
            yield None
    return pos


def read_varint(body: Bytes, pos: int) -> tuple[int, int]:
    """Return the zigzagged 32-bit number at `pos`, and the position after it. Raises IndexError if
    the bytes end too early, CorruptBatch if the number is too long."""
    byte = body[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    return _read_long_varint(body, pos, 5, 0xFFFFFFFF)


def read_varlong(body: Bytes, pos: int) -> tuple[int, int]:
    """Return the zigzagged 64-bit number at `pos`, and the position after it. Raises as
    `read_varint` does."""
    byte = body[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    return _read_long_varint(body, pos, 10, 0xFFFFFFFFFFFFFFFF)


def _read_long_varint(body: Bytes, pos: int, most_bytes: int, highest: int) -> tuple[int, int]:
    """Return the zigzagged number at `pos`, and the position after it.

    Raises CorruptBatch if its varint is longer or higher than allowed, IndexError if it is cut off.
    """
    value = 0
    for index in range(most_bytes):
        byte = body[pos + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > highest:
                break
            return (value >> 1) ^ -(value & 1), pos + index + 1
    raise CorruptBatch(f"varint at byte {pos} is over {most_bytes} bytes or {highest:#x}")
