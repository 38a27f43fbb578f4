"""A look-up of an offset or a time in one segment, step by step, as a broker does it.

An offset: the last index entry at or before it gives a position; from there headers are scanned
until a batch ends at or behind the offset. A time: the last time index entry at or before it gives
an offset, that is looked up, and the scan stops at the first batch that is as late. Each step is
given with what it read, for the page to show. Owns no state.

Follows Kafka's `LogSegment.translateOffset` and `findOffsetByTimestamp`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.segments.files.header_walk import HEADERS_MAX, Batch, walk
from console.segments.files.index_entries import IndexEntry, IndexFile
from log_format.files import Read
from protocol.record_batch import CorruptBatch

NEIGHBOURS = 3
PASSED_SHOWN_MAX = 40


@dataclass(frozen=True, slots=True)
class Probe:
    """What an index gave: the entry, if there is one at or before the key, and those around it."""

    key: int
    entry: IndexEntry | None
    around: list[IndexEntry]
    entries: int
    compared: int
    """How many entries a bisection of so many compares at most."""


@dataclass(frozen=True, slots=True)
class Found:
    """All steps. `batch` is None where the segment has nothing so late."""

    of_time: Probe | None
    of_offset: Probe
    start: int
    """The position that the scan begins at."""
    passed: list[Batch]
    """The first of the batches that were passed."""
    passed_count: int
    passed_bytes: int
    batch: Batch | None
    is_exact: bool
    """Whether the batch covers the offset; else it is the next one behind a gap."""


def probe(index: IndexFile, key: int) -> Probe:
    """The look-up in an index."""
    entry = index.floor(key)
    at = -1 if entry is None else entry.number
    around = index[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
    return Probe(key, entry, around, len(index), len(index).bit_length())


def find_offset(read: Read, size: int, offsets: IndexFile, offset: int) -> Found:
    """Where `offset` lies. Raises CorruptBatch."""
    of_offset = probe(offsets, offset)
    return _scan(read, size, None, of_offset, lambda one: one.header.last_offset >= offset, offset)


def find_time(read: Read, size: int, offsets: IndexFile, times: IndexFile, time_ms: int) -> Found:
    """Where the first batch lies that has a record of `time_ms` or later. Raises CorruptBatch."""
    of_time = probe(times, time_ms)
    start = -1 if of_time.entry is None else of_time.entry.value
    of_offset = probe(offsets, start)

    def is_as_late(one: Batch) -> bool:
        return one.header.max_timestamp >= time_ms and one.header.last_offset >= start

    return _scan(read, size, of_time, of_offset, is_as_late, None)


def _scan(
    read: Read,
    size: int,
    of_time: Probe | None,
    of_offset: Probe,
    is_it: Callable[[Batch], bool],
    offset: int | None,
) -> Found:
    start = 0 if of_offset.entry is None else of_offset.entry.value
    passed: list[Batch] = []
    count, end = 0, start
    for batch in walk(read, size, start):
        if is_it(batch):
            exact = offset is None or batch.header.base_offset <= offset
            return Found(of_time, of_offset, start, passed, count, end - start, batch, exact)
        count, end = count + 1, batch.end
        if len(passed) < PASSED_SHOWN_MAX:
            passed.append(batch)
        if count >= HEADERS_MAX:
            raise CorruptBatch(
                f"the index has no entry nearby: the scan stopped after {count} batches"
            )
    return Found(of_time, of_offset, start, passed, count, end - start, None, False)
