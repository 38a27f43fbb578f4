"""Which aborted transactions a slice of a log may have records of, as read_committed readers ask.

Owns nothing: the entries are the segments' (`storage.log.segment_transactions`). Kafka's
`UnifiedLog.collectAbortedTransactions` and `LocalLog.addAbortedTransactions` 4.3.
"""

from __future__ import annotations

from bisect import bisect_left

from log_format.transaction_index import AbortedTxn
from storage.log.file_records import FileRecords
from storage.log.unified_log import UnifiedLog


def aborted_in(
    log: UnifiedLog, start_offset: int, records: FileRecords | bytes
) -> list[AbortedTxn]:
    """The aborted transactions that a slice from `log.read(start_offset, …)` may have records of.

    Raises CorruptBatch, or LogDirFailure.
    """
    if not log.has_aborted or not isinstance(records, FileRecords):
        return []
    try:
        return collect_aborted(log, start_offset, _end_of(log, start_offset, records))
    except OSError as error:
        raise log.failed("reading aborted transactions", error) from error


def collect_aborted(log: UnifiedLog, start_offset: int, end_offset: int) -> list[AbortedTxn]:
    """Aborted transactions that overlap [start_offset, end_offset), in the order of markers.

    A marker may lie segments behind its records: the search ends where an entry tells that
    everything below `end_offset` was stable. Raises CorruptBatch and OSError.
    """
    found: list[AbortedTxn] = []
    for segment in log.segments.read_from(start_offset):
        aborted = segment.aborted
        first = bisect_left(aborted, start_offset, key=lambda one: one.last_offset)
        for one in aborted[first:] if first else aborted:
            if one.first_offset < end_offset:
                found.append(one)
            if one.last_stable_offset >= end_offset:
                return found
    return found


def _end_of(log: UnifiedLog, start_offset: int, records: FileRecords) -> int:
    """An offset that the slice does not reach; a little far, as the index is sparse."""
    segments = log.segments.read_from(start_offset)
    for segment in segments:
        if (file := segment.open_file) is not None and records.lies_in(file):
            beyond = segment.offset_beyond(records.position + len(records))
            if beyond is not None:
                return beyond
            following = next(segments, None)
            return following.base_offset if following else log.log_end_offset
    return log.log_end_offset
