"""One batch into a log in one go: a client's plain batch, or a leader's as it is copied.

Nearly all that is written takes this way: what needs no look at its records, begins and ends no
transaction, goes on where its producer stopped, and has room in the segment. Whatever is not
plainly so is declined before anything is done, and goes the way of `storage.log.unified_log`, which
knows all cases and has the words. Where the broker waits for a batch just like the last one, all
that does not need its bytes is done before it comes (`PreparedAppend`). Tests hold all ways to the
same log.
"""

from __future__ import annotations

from struct import Struct

from protocol.crc32c_function import crc32c
from protocol.record_batch import HEADER, HEADER_SIZE, LOG_APPEND_TIME_FLAG
from storage.log.indexes import RELATIVE_OFFSET_MAX
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.log_append_info import LogAppendInfo
from storage.log.log_dir_failure import LogDirFailure
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


class PlainAppend:
    """The short way in; the state is `storage.log.unified_log.UnifiedLog`'s."""

    _active: LogSegment
    _counts_messages: bool
    _max_message_bytes: int
    _takes_plain: bool
    _timestamp_max: int
    leader_epochs: LeaderEpochCache
    log_end_offset: int
    log_start_offset: int
    offline: bool
    producer_state: ProducerStateManager

    def write_plain(self, records: memoryview, size: int, last: int, max_timestamp: int) -> bool:
        """Write one batch at the end of the segment, which has room. False: the disk failed."""
        raise NotImplementedError

    def failed(self, doing: str, error: OSError) -> LogDirFailure:
        """The disk failed."""
        raise NotImplementedError

    def settle_plain(self, last: int, max_timestamp: int, position: int, size: int) -> None:
        """The log knows of one batch that was written at the end of the segment."""
        raise NotImplementedError

    def append_plain(
        self, records: memoryview, leader_epoch: int, transactional: bool = False, own: bool = False
    ) -> int:
        """Append one plain batch, or the next one of a producer, in one go: the common case.

        Gives its first offset, or -1, where nothing was done and `append_as_leader` is to be asked:
        whatever is not plainly right goes that way, which looks at the clock and finds the words.
        Here the clock is looked at once an index entry: what a batch's time is held against is
        that old.
        """
        size = len(records)
        if size < HEADER_SIZE or not (self._takes_plain or own) or self.offline:
            return -1
        (base, length, _, magic, crc, attributes, delta, _, max_timestamp, pid, pid_epoch,
         sequence, count) = HEADER.unpack_from(records)  # fmt: skip
        offset = self.log_end_offset
        last = offset + delta
        if (
            base
            or length + _BEFORE_LENGTH != size
            or size > self._max_message_bytes
            or magic != 2
            or not (0 <= attributes <= 4 or (transactional and 16 <= attributes <= 20))
            or not 0 < count == delta + 1
            or count * _RECORD_BYTES_MIN > length - _HEADER_LENGTH  # unless it is compressed
            or max_timestamp > self._timestamp_max
            or leader_epoch != self.leader_epochs.latest
            # What `is_full` finds first, and nearly always; it is asked where this is not so.
            or (
                (
                    (segment := self._active).file.size > segment.bytes_max - size
                    or last - segment.base_offset > RELATIVE_OFFSET_MAX
                    or not 0 <= max_timestamp <= segment.roll_at_ms
                )
                and segment.is_full(last, max_timestamp, size, _AT_LAST)
            )
            or crc32c(records[_BODY]) != crc
        ):
            return -1
        producer = None
        if pid >= 0 or attributes >= 16:
            producer = self.producer_state.next_of(pid, pid_epoch, sequence, attributes >= 16)
            if producer is None:
                return -1
        try:
            _ASSIGNED.pack_into(records, 0, offset, length, leader_epoch)
        except TypeError:  # they are read-only
            return -1
        if not self.write_plain(records, size, last, max_timestamp):
            return -1
        if producer is not None:
            producer.add((sequence + delta) & SEQUENCE_MASK, last, delta, max_timestamp)
        return offset

    def _append_copy(self, records: memoryview, leader_epoch: int) -> LogAppendInfo | None:
        """Append one batch without a transaction that goes on where the log ends, in one go: the
        common case, as `append_plain` is for the leader. None where nothing was done."""
        size = len(records)
        if size < HEADER_SIZE or self._counts_messages or self.offline:
            return None
        (base, length, epoch, magic, crc, attributes, delta, _, max_timestamp, pid, pid_epoch,
         sequence, _) = HEADER.unpack_from(records)  # fmt: skip
        last = base + delta
        if (
            base != self.log_end_offset
            or length + _BEFORE_LENGTH != size
            or magic != 2
            or not 0 <= attributes & ~LOG_APPEND_TIME_FLAG <= 4
            or delta < 0
            or epoch != self.leader_epochs.latest
            or epoch > leader_epoch
            or self._active.is_full(last, max_timestamp, size, _AT_LAST)
            or crc32c(records[_BODY]) != crc
        ):
            return None
        producer = None
        if pid >= 0:
            producer = self.producer_state.next_of(pid, pid_epoch, sequence, False)
            if producer is None:
                return None
        if not self.write_plain(records, size, last, max_timestamp):
            return None
        if producer is not None:
            producer.add((sequence + delta) & SEQUENCE_MASK, last, delta, max_timestamp)
        return LogAppendInfo(base, last, max_timestamp, -1, self.log_start_offset, size)

    def prepare_plain(self, records: memoryview, leader_epoch: int) -> PreparedAppend | None:
        """All of `append_plain` that can be done before the batch is there, which will lie in
        `records` and fill them. None where it is not plainly right whatever it is."""
        size = len(records)
        segment, offset = self._active, self.log_end_offset
        position = segment.file.size
        count_max = (size - HEADER_SIZE) // _RECORD_BYTES_MIN
        if (
            count_max < 1
            or not self._takes_plain
            or self.offline
            or size > self._max_message_bytes
            or leader_epoch != self.leader_epochs.latest
            or position > segment.bytes_max - size
            or offset + count_max - segment.base_offset > RELATIVE_OFFSET_MAX
        ):
            return None
        timestamp_max = min(self._timestamp_max, segment.roll_at_ms)
        return PreparedAppend(
            self, segment, records, offset, position, leader_epoch, count_max, timestamp_max
        )


class PreparedAppend:
    """The next batch of a log before it is there: where it goes, and what it may be.

    Good for one batch, as long as nobody else touches the log. `write` and `settle` are
    `append_plain` in two halves: the answer may leave between them, and nothing else may happen.
    """

    __slots__ = (
        "_body",
        "_count_max",
        "_last",
        "_leader_epoch",
        "_length",
        "_log",
        "_max_timestamp",
        "_offset",
        "_position",
        "_producer",
        "_records",
        "_segment",
        "_timestamp_max",
    )

    def __init__(
        self,
        log: PlainAppend,
        segment: LogSegment,
        records: memoryview,
        offset: int,
        position: int,
        leader_epoch: int,
        count_max: int,
        timestamp_max: int,
    ) -> None:
        self._log = log
        self._segment = segment
        self._records = records
        self._body = records[_BODY]
        self._length = len(records) - _BEFORE_LENGTH
        self._offset = offset
        self._position = position
        self._leader_epoch = leader_epoch
        self._count_max = count_max
        self._timestamp_max = timestamp_max
        self._last = self._max_timestamp = -1
        self._producer: tuple[ProducerStateEntry, int] | None = None

    def write(self) -> int:
        """Write the batch that has come. As `append_plain`: its first offset, or -1."""
        records, offset, log = self._records, self._offset, self._log
        (base, length, _, magic, crc, attributes, delta, _, max_timestamp, pid, pid_epoch,
         sequence, count) = HEADER.unpack_from(records)  # fmt: skip
        if (
            base
            or length != self._length
            or magic != 2
            or not 0 <= attributes <= 4
            or not 0 < count == delta + 1
            or count > self._count_max
            or not 0 <= max_timestamp <= self._timestamp_max
            or log.log_end_offset != offset
            or crc32c(self._body) != crc
        ):
            return -1
        if pid >= 0:
            producer = log.producer_state.next_of(pid, pid_epoch, sequence, False)
            if producer is None:
                return -1
            self._producer = producer, (sequence + delta) & SEQUENCE_MASK
        _ASSIGNED.pack_into(records, 0, offset, length, self._leader_epoch)
        try:
            self._segment.file.append(records)
        except OSError as error:
            log.failed("append", error)
            return -1
        self._last, self._max_timestamp = offset + delta, max_timestamp
        return offset

    def settle(self) -> None:
        """The log knows of the batch that `write` has written, if it has."""
        if self._last < 0:
            return
        log, last, max_timestamp = self._log, self._last, self._max_timestamp
        log.settle_plain(last, max_timestamp, self._position, len(self._records))
        if self._producer is not None:
            producer, sequence = self._producer
            producer.add(sequence, last, last - self._offset, max_timestamp)
