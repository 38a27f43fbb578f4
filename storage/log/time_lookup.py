"""Finding a record by time, as ListOffsets asks for it.

Owns nothing. The time index leads to the segment and near the batch, the header's max timestamp
to the batch; only into that one batch somebody has to look, in slices, for it may unpack to a
thousand times its size. Kafka: `UnifiedLog.fetchOffsetByTimestamp`,
`FileRecords.searchForTimestamp`; KIP-734 (the offset of the max timestamp).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ground.sliced_work import Steps
from log_format.segment_names import TIME_INDEX_SUFFIX
from protocol.frames.frame_memory import Allocate
from protocol.record_batch import RecordBatchHeader, read_header
from protocol.record_scan import scan_records
from storage.log.batch_body import BatchBody
from storage.log.batch_scan import LOOKUP_CHUNK_BYTES, iterate_headers
from storage.log.fetch_data import TimestampAndOffset
from storage.log.log_segment import LogSegment
from storage.log.log_segments import LogSegments
from storage.log.unified_log import UnifiedLog

Candidate = tuple[int, memoryview]
"""A timestamp, and the first batch that may have a record at or after it."""


LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


def look_up_by_time(log: UnifiedLog, timestamp: int) -> Steps[TimestampAndOffset | None]:
    """ListOffsets: -1 the log's end, -2 and -4 its start, -3 the record with the largest
    timestamp, -5 and -6 nothing (no tiered storage), else the first record at or after it.

    None where no record matches. Raises CorruptBatch, or LogDirFailure.
    The caller bounds the result by the high watermark or the last stable offset, and answers
    the latest offset with its own leader epoch.
    """
    start = log.log_start_offset
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return TimestampAndOffset(-1, start, log.leader_epochs.epoch_for(start))
    if timestamp == LATEST_TIMESTAMP:
        return TimestampAndOffset(-1, log.log_end_offset, log.leader_epochs.latest)
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return TimestampAndOffset(-1, -1, -1)
    find = partial(_candidate, log, timestamp)
    return (yield from look_up(find, start, log.environment.allocate))


def _candidate(log: UnifiedLog, timestamp: int, start_offset: int) -> Candidate | None:
    start_offset = max(start_offset, log.log_start_offset)
    try:
        if timestamp == MAX_TIMESTAMP:
            return batch_of_max_timestamp(log.segments, start_offset)
        return batch_by_timestamp(log.segments, timestamp, start_offset)
    except OSError as error:
        raise log.failed("look-up by time", error) from error


def look_up(
    candidate: Callable[[int], Candidate | None], start_offset: int, allocate: Allocate
) -> Steps[TimestampAndOffset | None]:
    """The first record at or after `start_offset` that is at or after the candidate's time.

    `candidate(offset)` finds the next batch, among the segments that there are then. Raises what it
    raises, and CorruptBatch.
    """
    while (found := candidate(start_offset)) is not None:
        timestamp, batch = found
        header = read_header(batch)
        record = yield from _first_in_batch(batch, header, timestamp, start_offset, allocate)
        if record is not None:
            return record
        start_offset = header.next_offset
    return None


def _first_in_batch(
    batch: memoryview,
    header: RecordBatchHeader,
    timestamp: int,
    start_offset: int,
    allocate: Allocate,
) -> Steps[TimestampAndOffset | None]:
    body = BatchBody(batch, header, allocate)
    yield from body.open()
    record = None
    for found in scan_records(header, body.view):
        if found is None:
            yield None
        elif found[1] >= timestamp and found[0] >= start_offset:
            record = TimestampAndOffset(found[1], found[0], header.partition_leader_epoch)
            break
    yield from body.close()
    return record


def batch_by_timestamp(
    segments: LogSegments, timestamp: int, start_offset: int
) -> Candidate | None:
    """The first batch with records at or after `start_offset` whose largest timestamp is at or
    after `timestamp`.

    Raises CorruptBatch or OSError.
    """
    for segment in segments:
        if segment.size and segment.largest_timestamp()[0] >= timestamp:
            segments.warm(segment)
            found = _find_in_segment(segment, timestamp, start_offset)
            if found is not None:
                return timestamp, found
    return None


def batch_of_max_timestamp(segments: LogSegments, start_offset: int) -> Candidate | None:
    """The first batch that has the largest timestamp of the log; None where there is none."""
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
    found = _find_from(best, best.locate(last_offset), timestamp, start_offset)
    return None if found is None else (timestamp, found)


def _find_in_segment(segment: LogSegment, timestamp: int, start_offset: int) -> memoryview | None:
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
) -> memoryview | None:
    if place is None:
        return None
    scan = iterate_headers(segment.file, place[0], segment.size, LOOKUP_CHUNK_BYTES)
    for position, header in scan:
        if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
            return memoryview(segment.file.pread(header.size_in_bytes, position))
    return None
