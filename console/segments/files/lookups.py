"""The look-up of an offset or a time in a segment, with each step that a broker takes.

To find an offset, a broker takes the position of the last index entry at or before it. From there
it scans headers up to the first batch whose last offset is the wanted one or larger. To find a
time, it looks up the offset of the last time index entry at or before the time, and scans up to the
first batch with such a timestamp or a later one. The page shows each step. Owns no state.

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
"""The entries that a Probe has on either side of its own."""
PASSED_SHOWN_MAX = 40


@dataclass(frozen=True, slots=True)
class Probe:
    """The look-up of `key` in an index: the last entry at or before it, and its neighbours.

    `entry` is None if all entries are after the key. `entries` counts the entries of the index.
    """

    key: int
    entry: IndexEntry | None
    around: list[IndexEntry]
    entries: int
    compared: int
    """The most entries that a bisection compares."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """The steps of a look-up, and its batch: None if the segment ends before.

    `of_time` is None for the look-up of an offset.
    """

    of_time: Probe | None
    of_offset: Probe
    start: int
    """The position at which the scan begins."""
    passed: list[Batch]
    """The first PASSED_SHOWN_MAX of the batches that the scan skipped."""
    passed_count: int
    passed_bytes: int
    batch: Batch | None
    is_exact: bool
    """True if the batch covers the offset, False if it is the next one after a gap."""


def probe(index: IndexFile, key: int) -> Probe:
    """Look a key up in an index."""
    entry = index.floor(key)
    at = -1 if entry is None else entry.number
    around = index[max(at - NEIGHBOURS, 0) : at + NEIGHBOURS + 1]
    return Probe(key, entry, around, len(index), len(index).bit_length())


def find_offset(read: Read, size: int, offsets: IndexFile, offset: int) -> LookUp:
    """Return the look-up of the first batch that ends at `offset` or later. Raises CorruptBatch."""
    of_offset = probe(offsets, offset)
    return _scan(
        read, size, None, of_offset, lambda batch: batch.header.last_offset >= offset, offset
    )


def find_time(read: Read, size: int, offsets: IndexFile, times: IndexFile, time_ms: int) -> LookUp:
    """Return the look-up of the first batch with a timestamp of `time_ms` or later.

    Raises CorruptBatch.
    """
    of_time = probe(times, time_ms)
    start = -1 if of_time.entry is None else of_time.entry.value
    of_offset = probe(offsets, start)

    def is_as_late(batch: Batch) -> bool:
        return batch.header.max_timestamp >= time_ms and batch.header.last_offset >= start

    return _scan(read, size, of_time, of_offset, is_as_late, None)


def _scan(
    read: Read,
    size: int,
    of_time: Probe | None,
    of_offset: Probe,
    is_wanted: Callable[[Batch], bool],
    offset: int | None,
) -> LookUp:
    start = 0 if of_offset.entry is None else of_offset.entry.value
    passed: list[Batch] = []
    count, end = 0, start
    for batch in walk(read, size, start):
        if is_wanted(batch):
            exact = offset is None or batch.header.base_offset <= offset
            return LookUp(of_time, of_offset, start, passed, count, end - start, batch, exact)
        count, end = count + 1, batch.end
        if len(passed) < PASSED_SHOWN_MAX:
            passed.append(batch)
        if count >= HEADERS_MAX:
            raise CorruptBatch(
                f"the index has no entry nearby: the scan stopped after {count} batches"
            )
    return LookUp(of_time, of_offset, start, passed, count, end - start, None, False)
