"""The positions and the numbers of the records of many batches, as numpy arrays with an entry for
each record.

A record begins with its length, so the start of each record is found from the one before; all other
fields are read from all records at once. Owns these steps, and the checks of records, which are
those of Kafka's consumer (`DefaultRecord.readFrom`). Never copies a key or a value. KIP-98, KIP-82
(headers):

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
    | key length varint, key | value length varint, value     (-1 for null)
    | number of headers varint | each: key length, key, value length, value
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from log_format.batch_headers import Ints

_SMALLEST_RECORD_BYTES = 7
# With fewer batches, walking through each of them is quicker than a step in all batches at once.
_ABREAST_MIN = 64


class BadRecords(Exception):
    """Damaged records of a batch; `batch` is its index in the given arrays, `str()` says how."""

    def __init__(self, batch: int, why: str) -> None:
        super().__init__(why)
        self.batch = batch


@dataclass(frozen=True, slots=True)
class Records:
    """The index of each record's batch, its deltas to the batch's header, and its parts' positions.

    The length of a null key or value is -1. `headers` is the number of headers, which begin at
    `headers_at` and end at `ends`.
    """

    batch: Ints
    timestamp_delta: Ints
    offset_delta: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints
    headers: Ints
    headers_at: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class HeaderFields:
    """The record of each header, and its parts' positions; in the order of records and headers."""

    record: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints


def find_records(data: bytes, starts: Ints, ends: Ints, counts: Ints) -> Records:
    """Return the records of batches whose unpacked records are in `data` from `starts` to `ends`.

    Raises BadRecords if a batch does not have exactly `counts` records, or they are malformed.
    """
    raw = np.frombuffer(data, dtype=np.uint8)
    impossible = (counts < 0) | (counts * _SMALLEST_RECORD_BYTES > ends - starts)
    _refuse_wrong(
        impossible, np.arange(len(counts)), "it has no room for as many records as it says"
    )
    begins = _begins(data, raw, starts, ends, counts)
    batch = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    length, at = varints(raw, begins)
    end = at + length
    timestamp_delta, at = varints(raw, at + 1)
    offset_delta, at = varints(raw, at)
    key_length, key_start = varints(raw, at)
    value_length, value_start = varints(raw, key_start + np.maximum(key_length, 0))
    headers, headers_at = varints(raw, value_start + np.maximum(value_length, 0))
    wrong = (length < 0) | (key_length < -1) | (value_length < -1) | (headers < 0)
    wrong |= (headers_at > end) | (headers * 2 > end - headers_at) | (end > ends[batch])
    wrong |= (headers == 0) & (headers_at != end)
    _refuse_wrong(wrong, batch, "a record's parts do not add up to its length")
    return Records(
        batch,
        timestamp_delta,
        offset_delta,
        key_start,
        key_length,
        value_start,
        value_length,
        headers,
        headers_at,
        end,
    )


def find_headers(data: bytes, records: Records) -> HeaderFields:
    """Return the headers of all records. Raises BadRecords."""
    raw = np.frombuffer(data, dtype=np.uint8)
    record = np.flatnonzero(records.headers)
    at, left = records.headers_at[record], records.headers[record]
    fields: list[tuple[Ints, ...]] = []
    while len(record):
        key_length, key_start = varints(raw, at)
        value_length, value_start = varints(raw, key_start + np.maximum(key_length, 0))
        at = value_start + np.maximum(value_length, 0)
        wrong = (key_length < 0) | (value_length < -1) | (at > records.ends[record])
        wrong |= (left == 1) & (at != records.ends[record])
        _refuse_wrong(wrong, records.batch[record], "a header's parts do not add up to its record")
        fields.append((record, key_start, key_length, value_start, value_length))
        more = left > 1
        record, at, left = record[more], at[more], left[more] - 1
    if not fields:
        empty = np.zeros(0, dtype=np.int64)
        return HeaderFields(empty, empty, empty, empty, empty)
    columns = [np.concatenate(arrays) for arrays in zip(*fields, strict=True)]
    order = np.argsort(columns[0], kind="stable")  # a later turn of the loop has later headers
    return HeaderFields(*(column[order] for column in columns))


def varints(raw: npt.NDArray[np.uint8], at: Ints) -> tuple[Ints, Ints]:
    """Return the zigzagged numbers that begin at `at`, and the position after each.

    Positions past the end of `raw` read its last byte, so callers must check the positions.
    """
    byte = raw.take(at, mode="clip")
    value = (byte & 0x7F).astype(np.int64)
    after = at + 1
    longer = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(longer) and shift < 70:
        more = raw.take(after[longer], mode="clip")
        value[longer] |= (more & 0x7F).astype(np.int64) << shift
        after[longer] += 1
        longer = longer[(more & 0x80) != 0]
        shift += 7
    return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), after


def _begins(
    data: bytes, raw: npt.NDArray[np.uint8], starts: Ints, ends: Ints, counts: Ints
) -> Ints:
    """Return the position of each record, batch by batch. Raises BadRecords if the records of a
    batch do not end where the batch does."""
    total, most = int(counts.sum()), int(counts.max(initial=0))
    if not total or total < _ABREAST_MIN * most:
        begins: list[int] = []
        for batch, (start, end, count) in enumerate(
            zip(starts.tolist(), ends.tolist(), counts.tolist(), strict=True)
        ):
            if _walk(data, start, end, count, begins) != end:
                raise BadRecords(batch, "its records do not fill it")
        return np.array(begins, dtype=np.int64)
    return _begins_abreast(raw, starts, ends, counts)


def _walk(data: bytes, at: int, end: int, count: int, begins: list[int]) -> int:
    """Append the positions of `count` records, from `at` on, to `begins`. Return the position after
    the last record, which may be past `end`.

    Returns -1 if a record begins at `end` or later, or its length is malformed or negative.
    """
    note = begins.append
    for _ in range(count):
        if at >= end:
            return -1
        note(at)
        byte = data[at]
        at += 1
        length, shift = byte & 0x7F, 7
        while byte > 0x7F:
            if at >= end or shift > 28:
                return -1
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
        if length & 1:
            return -1
        at += length >> 1
    return at


def _begins_abreast(raw: npt.NDArray[np.uint8], starts: Ints, ends: Ints, counts: Ints) -> Ints:
    """Return the position of each record of many batches, by steps of one record in all batches.
    Raises BadRecords if a length is negative, or records do not end where their batch does."""
    begins = np.zeros(int(counts.sum()), dtype=np.int64)
    slot = np.cumsum(counts) - counts
    # The batches with most records come first, so that those that still run are a prefix.
    order = np.argsort(-counts, kind="stable")
    at, slot, left = starts[order], slot[order], counts[order]
    running = np.searchsorted(-left, -np.arange(1, int(left[0]) + 1), side="right")
    for number, size in enumerate(running.tolist()):
        positions = at[:size]
        begins[slot[:size] + number] = positions
        length, after = varints(raw, positions)
        at[:size] = after + length
        if (length < 0).any():
            _refuse_wrong(length < 0, order[:size], "a record's length is below 0")
    _refuse_wrong(at != ends[order], order, "its records do not fill it")
    return begins


def _refuse_wrong(wrong: npt.NDArray[np.bool_], batch: Ints, why: str) -> None:
    """Raise BadRecords if any item of `wrong` is true, with the batch of the first such item."""
    if wrong.any():
        raise BadRecords(int(batch[int(np.argmax(wrong))]), why)
