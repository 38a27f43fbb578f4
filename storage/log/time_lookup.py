"""The look-up of a record by time, for ListOffsets.

Owns nothing. The time index leads to the segment and near the batch, the headers' max timestamps
to the batch. Only that batch is decoded, in slices, because it may decompress to a thousand times
its size. Kafka: `UnifiedLog.fetchOffsetByTimestamp`, `FileRecords.searchForTimestamp`; KIP-734 (the
offset of the max timestamp).
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
"""A timestamp, and the bytes of the first batch that may have a record at or after it."""


LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


def look_up_by_time(log: UnifiedLog, timestamp: int) -> Steps[TimestampAndOffset | None]:
    """Return the offset for a timestamp of ListOffsets, None if no record matches.

    -1 is the log's end, -2 and -4 its start, -3 the record with the largest timestamp, -5 and -6 no
    offset (no tiered storage); any other timestamp gives the first record at or after it.

    The caller limits the result by the high watermark or the last stable offset, and answers
    the latest offset with its own leader epoch. Raises CorruptBatch, LogDirFailure, and
    RecordTooLarge for a record up to the searched one.
    """
    start = log.log_start_offset
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        return TimestampAndOffset(-1, start, log.leader_epochs.epoch_for(start))
    if timestamp == LATEST_TIMESTAMP:
        return TimestampAndOffset(-1, log.log_end_offset, log.leader_epochs.latest)
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return TimestampAndOffset(-1, -1, -1)
    find = partial(_candidate, log, timestamp)
    most = log.config.max_decompressed_message_bytes
    return (yield from look_up(find, start, log.environment.allocate, most))


def _candidate(log: UnifiedLog, timestamp: int, start_offset: int) -> Candidate | None:
    """Return the batch that may have the searched record, None if there is none. Raises
    LogDirFailure if the disk fails."""
    start_offset = max(start_offset, log.log_start_offset)
    try:
        if timestamp == MAX_TIMESTAMP:
            return batch_of_max_timestamp(log.segments, start_offset)
        return batch_by_timestamp(log.segments, timestamp, start_offset)
    except OSError as error:
        raise log.failed("look-up by time", error) from error


def look_up(
    candidate: Callable[[int], Candidate | None],
    start_offset: int,
    allocate: Allocate,
    record_bytes_max: int,
) -> Steps[TimestampAndOffset | None]:
    """Return the first record from `start_offset` on with the candidate's timestamp or a later one.

    `candidate(offset)` returns the next batch, in the segments at that time. Raises its errors and
    CorruptBatch.
    """
    while (next_candidate := candidate(start_offset)) is not None:
        timestamp, batch = next_candidate
        header = read_header(batch)
        body = BatchBody(batch, header, allocate)
        record = yield from _first_in_batch(body, header, timestamp, start_offset, record_bytes_max)
        if record is not None:
            return record
        start_offset = header.next_offset
    return None


def _first_in_batch(
    body: BatchBody,
    header: RecordBatchHeader,
    timestamp: int,
    start_offset: int,
    record_bytes_max: int,
) -> Steps[TimestampAndOffset | None]:
    """Return the first record with this offset or later and this timestamp or later; None if the
    batch has none."""
    yield from body.open()
    record = None
    for scanned in scan_records(header, body.view, record_bytes_max):
        if scanned is None:
            yield None
        elif scanned[1] >= timestamp and scanned[0] >= start_offset:
            record = TimestampAndOffset(scanned[1], scanned[0], header.partition_leader_epoch)
            break
    yield from body.close()
    return record


def batch_by_timestamp(
    segments: LogSegments, timestamp: int, start_offset: int
) -> Candidate | None:
    """Return the first batch whose largest timestamp is `timestamp` or later, None without one.

    Only batches with records at or after `start_offset` count. Raises CorruptBatch, OSError.
    """
    for segment in segments:
        if segment.size and segment.largest_timestamp()[0] >= timestamp:
            segments.mark_read(segment)
            batch = _find_in_segment(segment, timestamp, start_offset)
            if batch is not None:
                return timestamp, batch
    return None


def batch_of_max_timestamp(segments: LogSegments, start_offset: int) -> Candidate | None:
    """Return the first batch that has the log's largest timestamp, None without timestamps.

    Only batches with records at or after `start_offset` count. Raises CorruptBatch, OSError.
    """
    best: LogSegment | None = None
    for segment in segments:
        if not segment.size:
            continue
        if best is None or segment.largest_timestamp()[0] > best.largest_timestamp()[0]:
            best = segment
    if best is None or best.largest_timestamp()[0] < 0:
        return None
    segments.mark_read(best)
    timestamp, last_offset = best.largest_timestamp()
    batch = _find_from(best, best.locate(last_offset), timestamp, start_offset)
    return None if batch is None else (timestamp, batch)


def _find_in_segment(segment: LogSegment, timestamp: int, start_offset: int) -> memoryview | None:
    """Return the bytes of the first batch with this largest timestamp or later, and records at or
    after `start_offset`; None if the segment has none."""
    entry_timestamp, near = segment.time_index.lookup(segment.path(TIME_INDEX_SUFFIX), timestamp)
    if entry_timestamp >= 0 and not _is_entry_of_a_batch(segment, entry_timestamp, near):
        near = segment.base_offset  # a damaged entry could lead past the batch
    place = segment.locate(max(near, start_offset))
    return _find_from(segment, place, timestamp, start_offset)


def _is_entry_of_a_batch(segment: LogSegment, timestamp: int, offset: int) -> bool:
    """Return whether the batch that holds `offset` ends with it, and has `timestamp` as its
    largest."""
    header = next((header for _, header in segment.headers_from(offset)), None)
    return header is not None and (header.max_timestamp, header.last_offset) == (timestamp, offset)


def _find_from(
    segment: LogSegment, place: tuple[int, int] | None, timestamp: int, start_offset: int
) -> memoryview | None:
    """Return the bytes of the first batch, from the position in `place` on, with this timestamp and
    offset or later. None if there is none or `place` is None."""
    if place is None:
        return None
    scan = iterate_headers(segment.file, place[0], segment.size, LOOKUP_CHUNK_BYTES)
    for position, header in scan:
        if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
            return memoryview(segment.file.pread(header.size_in_bytes, position))
    return None
