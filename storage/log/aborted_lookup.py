"""The look-up of the aborted transactions in a slice of a log, for read_committed consumers.

Owns nothing: the segments have the entries (`storage.log.segment_transactions`). Kafka's
`UnifiedLog.collectAbortedTransactions` and `LocalLog.addAbortedTransactions`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from log_format.transaction_index import AbortedTxn
from storage.log.file_records import FileRecords
from storage.log.log_segment import LogSegment
from storage.log.unified_log import UnifiedLog


def aborted_in(
    log: UnifiedLog, start_offset: int, records: FileRecords | bytes
) -> list[AbortedTxn]:
    """Return the aborted transactions that may have records in a slice of the log.

    The slice, `records`, is from `log.read(start_offset, …)`. As in Kafka, one that is empty
    although the log has records there, because the limit was 0 bytes, has the transactions up to
    the next entry of the sparse index. Raises CorruptBatch, LogDirFailure.
    """
    if not log.has_aborted:
        return []
    try:
        if isinstance(records, FileRecords):
            end = _end_of(log, start_offset, records)
        elif records:
            return []
        else:
            end = _end_of_nothing(log, start_offset)
        return collect_aborted(log, start_offset, end)
    except OSError as error:
        raise log.failed("reading aborted transactions", error) from error


def collect_aborted(log: UnifiedLog, start_offset: int, end_offset: int) -> list[AbortedTxn]:
    """Return the aborted transactions that overlap [start_offset, end_offset), in marker order.

    A marker may be some segments behind its records. The search ends at an entry with a last
    stable offset of at least `end_offset`. Raises CorruptBatch, OSError.
    """
    overlapping: list[AbortedTxn] = []
    for segment in log.segments.read_from(start_offset):
        aborted = segment.aborted
        first = bisect_left(aborted, start_offset, key=lambda entry: entry.last_offset)
        for transaction in aborted[first:] if first else aborted:
            if transaction.first_offset < end_offset:
                overlapping.append(transaction)
            if transaction.last_stable_offset >= end_offset:
                return overlapping
    return overlapping


def _end_of(log: UnifiedLog, start_offset: int, records: FileRecords) -> int:
    """Return an offset behind the slice, maybe by some batches, because the index is sparse."""
    segments = log.segments.read_from(start_offset)
    for segment in segments:
        if (file := segment.open_file) is not None and records.lies_in(file):
            return _beyond(log, segment, records.position + len(records), segments)
    return log.log_end_offset


def _end_of_nothing(log: UnifiedLog, start_offset: int) -> int:
    """Return the offset that `_end_of` returns for a slice of no bytes at `start_offset`."""
    segments = log.segments.read_from(start_offset)
    for segment in segments:
        if (location := segment.locate(start_offset)) is not None:
            return _beyond(log, segment, location[0], segments)
    return log.log_end_offset


def _beyond(
    log: UnifiedLog, segment: LogSegment, position: int, following: Iterator[LogSegment]
) -> int:
    """Return an offset above those of all batches before a position of a segment."""
    if (beyond := segment.offset_beyond(position)) is not None:
        return beyond
    after = next(following, None)
    return after.base_offset if after else log.log_end_offset
