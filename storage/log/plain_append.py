"""One batch into a log in one go: a client's plain batch, or a leader's as it is copied.

Nearly all that is written takes this way: what needs no look at its records, begins and ends no
transaction, goes on where its producer stopped, and has room in the segment. Whatever is not
plainly so is declined before anything is done, and goes the way of `storage.log.unified_log`, which
knows all cases and has the words. Tests hold both ways to the same log.

Here the clock is looked at once an index entry: what a batch's time is held against is that old.
"""

from __future__ import annotations

from struct import Struct
from typing import Literal, Protocol

from protocol.crc32c_function import crc32c
from protocol.record_batch import (
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
)
from storage.log.indexes import RELATIVE_OFFSET_MAX
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.log_segment import LogSegment
from storage.log.producer_state import SEQUENCE_MASK, ProducerStateEntry, ProducerStateManager

_ASSIGNED = Struct(">qii")  # base offset, batch length, leader epoch
_BODY = slice(21, None)
_AT_LAST = 2**63  # a time by which a segment that is rolled by the broker's clock is full
_BEFORE_LENGTH = 12  # bytes up to where a batch's own length begins to count
_HEADER_LENGTH = HEADER_SIZE - _BEFORE_LENGTH
# The smallest record: length, attributes, two deltas, two empty lengths, no header. A batch packed
# tighter goes the long way, which knows how far its codec can go.
_RECORD_BYTES_MIN = 7

CLIENTS = frozenset(range(5))
"""The attributes of a client's batch: a codec, and no flag."""
TRANSACTIONAL = CLIENTS | {TRANSACTIONAL_FLAG | codec for codec in CLIENTS}
COPIED = CLIENTS | {LOG_APPEND_TIME_FLAG | codec for codec in CLIENTS}


class PlainLog(Protocol):
    """The part of `storage.log.unified_log.UnifiedLog` that is needed here."""

    active: LogSegment
    leader_epochs: LeaderEpochCache
    log_end_offset: int
    max_message_bytes: int
    offline: bool
    producer_state: ProducerStateManager
    takes_plain: bool
    timestamp_max: int

    def write_plain(self, records: memoryview, size: int, last: int, max_timestamp: int) -> bool:
        """Write one batch at the end of the active segment, which has room. False: the disk
        failed."""


def append_plain(
    log: PlainLog,
    records: memoryview,
    leader_epoch: int,
    attributes: frozenset[int] = CLIENTS,
    own: bool = False,
    copied: bool = False,
) -> int:
    """Append one plain batch, or the next one of a producer. Its first offset; -1, and nothing
    done, where the way that knows all cases is to be asked.

    `attributes` are those it may have. `own`: its records need no look, whatever the topic
    asks. `copied`: it comes from the leader with its offset and epoch, and was asked for in
    `leader_epoch`.
    """
    size = len(records)
    if size < HEADER_SIZE or not (log.takes_plain or own) or log.offline:
        return -1
    (base, length, epoch, magic, crc, flags, delta, _, max_timestamp, pid, pid_epoch,
     sequence, count) = HEADER.unpack_from(records)  # fmt: skip
    offset = expected = log.log_end_offset
    last = offset + delta
    if not copied:
        expected, epoch = 0, leader_epoch
    if (
        base != expected
        or length + _BEFORE_LENGTH != size
        or magic != 2
        or flags not in attributes
        or delta < 0
        or not leader_epoch >= epoch == log.leader_epochs.latest
        or not (copied or _may_come(log, size, length, delta, count, max_timestamp))
        # What `is_full` finds first, and nearly always; it is asked where this is not so.
        or (
            (
                (segment := log.active).file.size > segment.bytes_max - size
                or last - segment.base_offset > RELATIVE_OFFSET_MAX
                or not 0 <= max_timestamp <= segment.roll_at_ms
            )
            and segment.is_full(last, max_timestamp, size, _AT_LAST)
        )
    ):
        return -1
    producer: ProducerStateEntry | Literal[False] | None = False
    if pid >= 0 or flags >= TRANSACTIONAL_FLAG:
        transactional = flags >= TRANSACTIONAL_FLAG
        producer = log.producer_state.next_of(pid, pid_epoch, sequence, transactional)
    # The checksum last: who declines has to be followed by who looks at all of it.
    if producer is None or crc32c(records[_BODY]) != crc:
        return -1
    if not copied:
        try:
            _ASSIGNED.pack_into(records, 0, offset, length, leader_epoch)
        except TypeError:  # they are read-only
            return -1
    if not log.write_plain(records, size, last, max_timestamp):
        return -1
    if producer:
        producer.add((sequence + delta) & SEQUENCE_MASK, last, delta, max_timestamp)
    return offset


def _may_come(
    log: PlainLog, size: int, length: int, delta: int, count: int, timestamp: int
) -> bool:
    """Whether a client's batch is as its topic takes it, by its header."""
    return (
        size <= log.max_message_bytes
        and count == delta + 1
        and count * _RECORD_BYTES_MIN <= length - _HEADER_LENGTH  # unless it is compressed
        and timestamp <= log.timestamp_max
    )
