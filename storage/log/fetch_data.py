"""What the read side of a log answers: plain values, built once per partition and request."""

from __future__ import annotations

from typing import NamedTuple

from protocol.errors import ErrorCode
from storage.log.file_records import FileRecords

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class FetchDataInfo(NamedTuple):
    """The answer to a read. `records` is a slice of one segment, or b"" when there is nothing.

    The slice starts at the batch that holds the asked offset. It may end inside a batch (clients
    drop a partial tail), but never inside its first one, nor beyond the batch border at or before
    the read's upper offset.
    """

    records: FileRecords | bytes
    size: int = 0
    error: ErrorCode = ErrorCode.NONE
    first_batch_incomplete: bool = False
    """There is a batch, and it is larger than what was asked for: nothing of it is given."""


NO_RECORDS = FetchDataInfo(b"")
FIRST_BATCH_INCOMPLETE = FetchDataInfo(b"", first_batch_incomplete=True)


class TimestampAndOffset(NamedTuple):
    """A record found by time; timestamp -1 where an offset was asked without one."""

    timestamp: int
    offset: int
    leader_epoch: int = UNDEFINED_EPOCH


class EpochEndOffset(NamedTuple):
    """Where a leader epoch ended: the start of the next one, or the log's end."""

    leader_epoch: int = UNDEFINED_EPOCH
    end_offset: int = UNDEFINED_OFFSET
