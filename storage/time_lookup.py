"""Finding a record by time, as ListOffsets asks for it.

Owns nothing. The time index leads to the segment and near the batch, the header's max timestamp
to the batch; only that one batch is decoded. Kafka: `UnifiedLog.fetchOffsetByTimestamp`,
`FileRecords.searchForTimestamp`; KIP-734 (the offset of the max timestamp).
"""

from __future__ import annotations

from protocol.record_batch import RecordBatchHeader
from protocol.records import iterate_records
from storage.batch_scan import LOOKUP_CHUNK_BYTES, iterate_headers
from storage.fetch_data import TimestampAndOffset
from storage.log_segment import LogSegment
from storage.log_segments import LogSegments
from storage.segment_names import TIME_INDEX_SUFFIX


def find_by_timestamp(
    segments: LogSegments, timestamp: int, start_offset: int
) -> TimestampAndOffset | None:
    """The first record at or after `start_offset` with a timestamp ≥ `timestamp`.

    Raises CorruptBatch or OSError.
    """
    for segment in segments:
        if segment.size and segment.largest_timestamp()[0] >= timestamp:
            segments.warm(segment)
            found = _find_in_segment(segment, timestamp, start_offset)
            if found is not None:
                return found
    return None


def find_max_timestamp(segments: LogSegments, start_offset: int) -> TimestampAndOffset | None:
    """The first record that has the largest timestamp of the log; None where there is none."""
    best: LogSegment | None = None
    for segment in segments:
        if not segment.size:
            continue
        if best is None or segment.largest_timestamp()[0] > best.largest_timestamp()[0]:
            best = segment
    if best is None or best.largest_timestamp()[0] < 0:
        return None
    segments.warm(best)
    timestamp, last_offset = best.largest_timestamp()
    return _find_from(best, best.locate(last_offset), timestamp, start_offset)


def _find_in_segment(
    segment: LogSegment, timestamp: int, start_offset: int
) -> TimestampAndOffset | None:
    known, near = segment.time_index.lookup(segment.path(TIME_INDEX_SUFFIX), timestamp)
    if known >= 0 and not _is_entry_of_a_batch(segment, known, near):
        near = segment.base_offset  # a damaged entry would lead past what is looked for
    place = segment.locate(max(near, start_offset))
    return _find_from(segment, place, timestamp, start_offset)


def _is_entry_of_a_batch(segment: LogSegment, timestamp: int, offset: int) -> bool:
    header = next((header for _, header in segment.headers_from(offset)), None)
    return header is not None and (header.max_timestamp, header.last_offset) == (timestamp, offset)


def _find_from(
    segment: LogSegment, place: tuple[int, int] | None, timestamp: int, start_offset: int
) -> TimestampAndOffset | None:
    if place is None:
        return None
    scan = iterate_headers(segment.file, place[0], segment.size, LOOKUP_CHUNK_BYTES)
    for position, header in scan:
        if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
            found = _find_in_batch(segment, position, header, timestamp, start_offset)
            if found is not None:
                return found
    return None


def _find_in_batch(
    segment: LogSegment,
    position: int,
    header: RecordBatchHeader,
    timestamp: int,
    start_offset: int,
) -> TimestampAndOffset | None:
    batch = memoryview(segment.file.pread(header.size_in_bytes, position))
    for record in iterate_records(batch):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampAndOffset(
                record.timestamp, record.offset, header.partition_leader_epoch
            )
    return None
