"""The fast path of an append: one plain batch of a client, or one that a follower copies.

Nearly all batches take this path. Such a batch needs no check of its records, begins and ends no
transaction, has its producer's next sequence, and fits into the active segment. Any other batch is
declined before the log is changed, and takes the path of `storage.log.unified_log`, which handles
all cases and has the error messages. Tests compare the logs of both paths.

This path reads the clock once per index entry, so the bound of timestamps may be slightly old.
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
_AT_LAST = 2**63  # a time at which any segment that rolls by the broker's clock is full
_BEFORE_LENGTH = 12  # the bytes that a batch's length field does not count
_HEADER_LENGTH = HEADER_SIZE - _BEFORE_LENGTH
# The smallest record: length, attributes, two deltas, two empty lengths, no header. A batch with
# fewer bytes a record is compressed: the other path knows how strongly its codec can compress.
_RECORD_BYTES_MIN = 7

CLIENTS = frozenset(range(5))
"""The attributes that a client's plain batch may have: a codec, and no flag."""
TRANSACTIONAL = CLIENTS | {TRANSACTIONAL_FLAG | codec for codec in CLIENTS}
COPIED = CLIENTS | {LOG_APPEND_TIME_FLAG | codec for codec in CLIENTS}


class PlainLog(Protocol):
    """The part of `storage.log.unified_log.UnifiedLog` that the fast path needs."""

    active: LogSegment
    leader_epochs: LeaderEpochCache
    log_end_offset: int
    max_message_bytes: int
    offline: bool
    producer_state: ProducerStateManager
    takes_plain: bool
    timestamp_max: int

    def write_plain(self, records: memoryview, size: int, last: int, max_timestamp: int) -> bool:
        """Write a batch at the end of the active segment, which has room for it, and raise the log
        end offset.

        Return False if the disk failed.
        """


def append_plain(
    log: PlainLog,
    records: memoryview,
    leader_epoch: int,
    attributes: frozenset[int] = CLIENTS,
    own: bool = False,
    copied: bool = False,
) -> int:
    """Append a plain batch. Return its first offset; -1, with the log unchanged, for any other
    batch.

    `attributes` are those that the batch may have. With `own` its records need no check under any
    config of the topic. With `copied` it is the leader's, from a fetch in `leader_epoch`.
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
        or not (copied or _is_allowed(log, size, length, delta, count, max_timestamp))
        # The checks of `is_full` that nearly always decide; it is called only if they do not.
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
        producer = log.producer_state.match_next_batch(pid, pid_epoch, sequence, transactional)
    # The checksum is checked last, because the other path computes it again after a decline.
    if producer is None or crc32c(records[_BODY]) != crc:
        return -1
    if not copied:
        try:
            _ASSIGNED.pack_into(records, 0, offset, length, leader_epoch)
        except TypeError:  # `records` is read-only
            return -1
    if not log.write_plain(records, size, last, max_timestamp):
        return -1
    if producer:
        producer.add((sequence + delta) & SEQUENCE_MASK, last, delta, max_timestamp)
    return offset


def _is_allowed(
    log: PlainLog, size: int, length: int, delta: int, count: int, timestamp: int
) -> bool:
    """Return whether the topic accepts a client's batch, by the size, record count and largest
    timestamp in its header."""
    return (
        size <= log.max_message_bytes
        and count == delta + 1
        and count * _RECORD_BYTES_MIN <= length - _HEADER_LENGTH  # unless it is compressed
        and timestamp <= log.timestamp_max
    )
