"""Where the records of many batches lie, and their numbers: arrays of numpy, one entry a record.

A record begins with its length, so where each begins is found one after the other; all else is
read from all records at once. Owns that, and how strict a reader is of records: as Kafka's consumer
(`DefaultRecord.readFrom`). Copies no key and no value. KIP-98, KIP-82 (headers):

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
# Below as many batches a walk through each in turn is quicker than a step of all at once.
_ABREAST_MIN = 64


class BadRecords(Exception):
    """The records of batch number `batch` (of those given) are damaged; `str()` says how."""

    def __init__(self, batch: int, why: str) -> None:
        super().__init__(why)
        self.batch = batch


@dataclass(frozen=True, slots=True)
class Records:
    """Of each record: its batch's number, deltas to the batch's header, where its parts lie.

    A key or value that is null ends before it begins. Headers begin at `headers_at`, `headers` of
    them, and end at `ends`.
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
    """Of each header of a record, by records and within one by place: whose, and where it lies."""

    record: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints


def find_records(data: bytes, starts: Ints, ends: Ints, counts: Ints) -> Records:
    """The records of batches whose records lie in `data` from `starts` to `ends`, unpacked.

    Raises BadRecords where a batch has not as many as `counts` says, or other bytes.
    """
    raw = np.frombuffer(data, dtype=np.uint8)
    impossible = (counts < 0) | (counts * _SMALLEST_RECORD_BYTES > ends - starts)
    _refuse(impossible, np.arange(len(counts)), "it has no room for as many records as it says")
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
    _refuse(wrong, batch, "a record's parts do not add up to its length")
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
    """The headers of all records that have some. Raises BadRecords."""
    raw = np.frombuffer(data, dtype=np.uint8)
    whose = np.flatnonzero(records.headers)
    at, left = records.headers_at[whose], records.headers[whose]
    found: list[tuple[Ints, ...]] = []
    while len(whose):
        key_length, key_start = varints(raw, at)
        value_length, value_start = varints(raw, key_start + np.maximum(key_length, 0))
        at = value_start + np.maximum(value_length, 0)
        wrong = (key_length < 0) | (value_length < -1) | (at > records.ends[whose])
        wrong |= (left == 1) & (at != records.ends[whose])
        _refuse(wrong, records.batch[whose], "a header's parts do not add up to its record")
        found.append((whose, key_start, key_length, value_start, value_length))
        more = left > 1
        whose, at, left = whose[more], at[more], left[more] - 1
    if not found:
        empty = np.zeros(0, dtype=np.int64)
        return HeaderFields(empty, empty, empty, empty, empty)
    columns = [np.concatenate(one) for one in zip(*found, strict=True)]
    order = np.argsort(columns[0], kind="stable")  # the places rise with the turns of the loop
    return HeaderFields(*(one[order] for one in columns))


def varints(raw: npt.NDArray[np.uint8], at: Ints) -> tuple[Ints, Ints]:
    """The zigzagged numbers that begin at `at`, and where what follows each begins.

    Bytes past the end of `raw` read as its last one: who asks holds the place against an end.
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
    """Where each record begins, batch by batch."""
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
    """Note where `count` records begin, from `at` on; where the last one ends."""
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
    """The same of many batches, a record of each at a time."""
    begins = np.zeros(int(counts.sum()), dtype=np.int64)
    slot = np.cumsum(counts) - counts
    # The longest first: those that end are a shorter and shorter tail.
    order = np.argsort(-counts, kind="stable")
    at, slot, left = starts[order], slot[order], counts[order]
    running = np.searchsorted(-left, -np.arange(1, int(left[0]) + 1), side="right")
    for number, size in enumerate(running.tolist()):
        here = at[:size]
        begins[slot[:size] + number] = here
        length, after = varints(raw, here)
        at[:size] = after + length
        if (length < 0).any():
            _refuse(length < 0, order[:size], "a record's length is below 0")
    _refuse(at != ends[order], order, "its records do not fill it")
    return begins


def _refuse(wrong: npt.NDArray[np.bool_], batch: Ints, why: str) -> None:
    if wrong.any():
        raise BadRecords(int(batch[int(np.argmax(wrong))]), why)
