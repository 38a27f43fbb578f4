"""The results of a log's reads and look-ups: plain values, one per partition and request."""

from __future__ import annotations

from typing import NamedTuple

from protocol.errors import ErrorCode
from storage.log.file_records import FileRecords

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class FetchDataInfo(NamedTuple):
    """The result of a read. `records` is a slice of one segment, or b"" without records.

    The slice starts at the batch that holds the requested offset. It may end inside a batch
    (clients drop a partial tail), but never inside its first batch. All its bytes are of batches
    wholly below the read's upper offset.
    """

    records: FileRecords | bytes
    size: int = 0
    error: ErrorCode = ErrorCode.NONE
    first_batch_incomplete: bool = False
    """Whether no record is returned because the first batch is larger than the requested size."""


NO_RECORDS = FetchDataInfo(b"")
FIRST_BATCH_INCOMPLETE = FetchDataInfo(b"", first_batch_incomplete=True)


class TimestampAndOffset(NamedTuple):
    """The result of a look-up by time. The timestamp is -1 for an offset such as the log's end."""

    timestamp: int
    offset: int
    leader_epoch: int = UNDEFINED_EPOCH


class EpochEndOffset(NamedTuple):
    """The end offset of a leader epoch: the start of the next one, or the log's end."""

    leader_epoch: int = UNDEFINED_EPOCH
    end_offset: int = UNDEFINED_OFFSET
