"""Reads of a partition's log for a Fetch, with the offsets that the response carries.

Owns the result of such a read, the limit of each isolation level, and the check whether the
reader's history diverges (KIP-595). Never authorizes a reader (`broker.replication.partition`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ground.sliced_work import Steps
from log_format.transaction_index import AbortedTxn
from protocol.errors import ErrorCode
from protocol.record_batch import CorruptBatch, RecordTooLarge
from storage.log.aborted_lookup import aborted_in
from storage.log.fetch_data import TimestampAndOffset
from storage.log.file_records import FileRecords
from storage.log.log_dir_failure import LogDirFailure
from storage.log.time_lookup import look_up_by_time
from storage.log.unified_log import UnifiedLog

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
READ_LOG_END = -1  # followers and the debugging consumer; no request carries this value
CONSUMER_ISOLATIONS = (READ_UNCOMMITTED, READ_COMMITTED)

NO_EPOCH = -1
NO_OFFSET = -1


@dataclass(slots=True)
class PartitionRead:
    """The result of a read of a partition for a Fetch.

    Offsets are -1 if `error` left them unknown.
    """

    error: ErrorCode = ErrorCode.NONE
    records: FileRecords | bytes = b""
    """The records. Bytes are the leader's last batch, which only followers receive this way."""
    high_watermark: int = NO_OFFSET
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    diverging_epoch: tuple[int, int] | None = None  # (epoch, end offset), KIP-595
    size: int = 0
    """The size of the records in bytes."""
    unsettled: bool = False
    """Whether the next fetch must read again, because records were left out or are elsewhere."""
    preferred_read_replica: int = NO_EPOCH
    """The broker to read from instead (KIP-392); -1 for this broker."""
    aborted: Sequence[AbortedTxn] | None = None
    """The aborted transactions that a read_committed reader skips in these records.

    None if the response lists none, as for other isolation levels.
    """
    withheld: int = 0
    """The byte limit that was smaller than the first batch, if no records are returned for it."""

    def renew(self, log: UnifiedLog) -> None:
        """Set the high watermark and the last stable offset to those of `log`, because the reader's
        own progress may have moved them since the read."""
        self.high_watermark = log.high_watermark
        self.last_stable_offset = log.last_stable_offset


def upper_offset(log: UnifiedLog, isolation: int) -> int:
    """Return the offset below which a reader of this isolation level sees records."""
    if isolation == READ_COMMITTED:
        return log.last_stable_offset
    if isolation == READ_LOG_END:
        return log.log_end_offset
    return log.high_watermark


def with_aborted(log: UnifiedLog, fetch_offset: int, read: PartitionRead) -> PartitionRead:
    """Return the read, in which the aborted transactions are set that a read_committed reader
    skips.

    Return a read with only an error if their lookup fails.
    """
    if read.error or read.withheld or read.diverging_epoch is not None:
        return read
    try:
        has_records = read.size or fetch_offset < read.last_stable_offset
        read.aborted = aborted_in(log, fetch_offset, read.records) if has_records else ()
    except CorruptBatch:
        return PartitionRead(ErrorCode.CORRUPT_MESSAGE)
    except LogDirFailure:
        return PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
    return read


def offset_by_time(log: UnifiedLog, timestamp: int) -> Steps[TimestampAndOffset | None | ErrorCode]:
    """Look up the first record at or after `timestamp` (ms), or the place of a special timestamp of
    ListOffsets. The steps' result is its timestamp and offset.

    None: no record matches. An ErrorCode if the log cannot be read.
    """
    try:
        return (yield from look_up_by_time(log, timestamp))
    except LogDirFailure:
        return ErrorCode.KAFKA_STORAGE_ERROR
    except RecordTooLarge as large:
        return large.error_code
    except CorruptBatch:
        return ErrorCode.CORRUPT_MESSAGE


def read_log(
    log: UnifiedLog,
    leader_epoch: int,
    fetch_offset: int,
    max_bytes: int,
    upper: int,
    min_one_message: bool,
    last_fetched_epoch: int,
) -> PartitionRead:
    """Read records from `fetch_offset` below `upper`. If the reader's history diverges from this
    log, return the diverging epoch instead.

    Return OFFSET_OUT_OF_RANGE in the result for an offset outside the log, and the error of a
    failed read.
    """
    if last_fetched_epoch != NO_EPOCH and last_fetched_epoch != leader_epoch:
        diverging = _diverging_epoch(log, fetch_offset, last_fetched_epoch)
        if diverging is not None:
            return diverging
    if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
        diverging = None
        if last_fetched_epoch != NO_EPOCH:  # the reader has more of its last epoch than this log
            diverging = _diverging_epoch(log, fetch_offset, last_fetched_epoch)
        return diverging or PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    records: FileRecords | bytes = b""
    size, starved = 0, False
    if fetch_offset < upper:
        if max_bytes > 0 or min_one_message:
            data = log.read(fetch_offset, max_bytes, upper, min_one_message)
            if data.error:
                return PartitionRead(data.error)
            records, size = data.records, data.size
            starved = data.first_batch_incomplete
        else:
            starved = True
    read = PartitionRead(
        ErrorCode.NONE,
        records,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        None,
        size,
        starved,
    )
    if starved:
        read.withheld = max(max_bytes, 0)
    return read


def _diverging_epoch(
    log: UnifiedLog, fetch_offset: int, last_fetched_epoch: int
) -> PartitionRead | None:
    """Return the answer with which a diverged follower truncates, or OFFSET_OUT_OF_RANGE.

    None: the follower's log agrees with this one.
    """
    epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
    if epoch == NO_EPOCH or end_offset == NO_OFFSET:
        return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    if fetch_offset < log.log_start_offset:
        return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return PartitionRead(
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            diverging_epoch=(epoch, end_offset),
        )
    return None
