"""The check, when a segment is opened, that its index files are its own and complete.

Never: reads a whole index or a whole segment. An index of other data, or one that was cut short, is
noticed by its last entries. An index that passes gives correct positions, though a look-up may take
longer.

Kafka's `sanityCheck` compares sizes; this also follows the last entries to their batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ground.filesystem import File
from log_format.segment_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from storage.log.batch_scan import iterate_headers
from storage.log.indexes import CorruptIndex, OffsetIndex, TimeIndex
from storage.log_config import LogConfig

# The bytes that may follow the last index entry before the index counts as cut short. It is
# generous, because `index.interval.bytes` may have been larger when the segment was written.
_TAIL_MAX = 1024 * 1024


class IndexedSegment(Protocol):
    """The part of a segment that is checked (`storage.log.log_segment`)."""

    file: File
    config: LogConfig
    offset_index: OffsetIndex
    time_index: TimeIndex

    def path(self, suffix: str) -> str:
        """Return the path of the segment's file with `suffix`."""

    def header_at(self, position: int) -> RecordBatchHeader:
        """Return the header of the batch that begins at `position`. Raises CorruptBatch."""

    def headers_from(self, offset: int) -> Iterator[tuple[int, RecordBatchHeader]]:
        """Return the batches that end at or after `offset`. Raises CorruptBatch."""


def check_last_entries(segment: IndexedSegment) -> None:
    """Check that the last entry of each index leads to its batch, and is not far from the segment's
    end. Raises CorruptIndex, OSError."""
    if not segment.file.size:
        return
    offset, position = segment.offset_index.last(segment.path(INDEX_SUFFIX))
    try:
        if position and segment.header_at(position).last_offset != offset:
            raise CorruptIndex(f"no batch that ends with {offset} lies at position {position}")
        if _begins_after(segment, position):
            raise CorruptIndex(f"the last entry, at position {position}, is far from the end")
        _check_time(segment)
    except (CorruptBatch, StopIteration):
        raise CorruptIndex("an entry leads to no batch") from None


def _begins_after(segment: IndexedSegment, position: int) -> bool:
    """Return whether a batch begins far behind the last entry: entries are missing then."""
    limit = position + max(segment.config.index_interval_bytes, _TAIL_MAX)
    if limit >= segment.file.size:
        return False
    walk = iterate_headers(segment.file, position, segment.file.size, _TAIL_MAX)
    return any(at > limit for at, _ in walk)


def _check_time(segment: IndexedSegment) -> None:
    """Raise CorruptIndex unless the last entry of the time index is the last offset of a batch with
    that timestamp. An index without entries is valid if the first batch has no timestamp."""
    timestamp, offset = segment.time_index.last(segment.path(TIME_INDEX_SUFFIX))
    if timestamp < 0:  # legal if no record has a timestamp
        wrong = segment.header_at(0).max_timestamp >= 0
    else:
        header = next(header for _, header in segment.headers_from(offset))
        wrong = (header.last_offset, header.max_timestamp) != (offset, timestamp)
    if wrong:
        raise CorruptIndex(f"no batch ends with {offset} at timestamp {timestamp}")
