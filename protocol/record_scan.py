"""Walking through a batch's records without taking them out: what a leader has to know of each.

Owns nothing. No key or value is copied, so a record of 90 MB costs what one of 90 bytes does; and
where one record has very many headers, the walk stops between them too. As strict as
`protocol.records.iterate_records`; a test holds them to the same verdicts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TypeAlias

from protocol.record_batch import LOG_APPEND_TIME_FLAG, CorruptBatch, RecordBatchHeader
from protocol.records import INT64_MAX, INT64_MIN, read_varint, read_varlong

Scanned: TypeAlias = tuple[int, int, bool]
"""Offset, timestamp (ms) and whether there is a key."""

HEADERS_PER_STOP = 1000


def scan_records(header: RecordBatchHeader, body: memoryview) -> Iterator[Scanned | None]:
    """Each record of the unpacked `body`; None where a caller that counts its time may stop.

    Raises CorruptBatch, after the records before the damage.
    """
    count = header.record_count
    if count < 0:
        raise CorruptBatch(f"record count {count} is negative")
    pos, size = 0, len(body)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    lowest, highest = base_offset, header.last_offset
    own_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    for index in range(count):
        try:
            length, pos = read_varint(body, pos)
            end = pos + length
            if length < 0 or end > size:
                raise CorruptBatch(f"record of {length} bytes, {size - pos} remain")
            # One byte of attributes, unused so far.
            timestamp_delta, pos = read_varlong(body, pos + 1)
            offset_delta, pos = read_varint(body, pos)
            key_length, pos = _skip(body, pos, end)
            _, pos = _skip(body, pos, end)
            headers, pos = read_varint(body, pos)
            if headers:
                pos = yield from _skip_headers(body, pos, end, headers)
        except IndexError:
            raise CorruptBatch(f"records end inside record {index} of {count}") from None
        if pos != end:
            raise CorruptBatch(f"record ends at byte {pos}, its length says {end}")
        timestamp, offset = base_timestamp + timestamp_delta, base_offset + offset_delta
        if not INT64_MIN <= timestamp <= INT64_MAX:
            raise CorruptBatch(f"timestamp {timestamp} is over 64 bits")
        if not lowest <= offset <= highest:
            raise CorruptBatch(
                f"record {index} has offset {offset}, not within {lowest} to {highest}"
            )
        lowest = offset + 1
        yield offset, timestamp if own_time is None else own_time, key_length >= 0
    if pos != size:
        raise CorruptBatch(f"{size - pos} bytes follow the last record")


def _skip(body: memoryview, pos: int, end: int) -> tuple[int, int]:
    """The length of a key or value, -1 for null, and the position after it."""
    length, pos = read_varint(body, pos)
    if length == -1:
        return length, pos
    if length < 0 or pos + length > end:
        raise CorruptBatch(f"key or value of {length} bytes, the record has {end - pos} left")
    return length, pos + length


def _skip_headers(body: memoryview, pos: int, end: int, count: int) -> Generator[None, None, int]:
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
