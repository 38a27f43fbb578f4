"""One partition's log: the leader appends, followers copy, readers get slices of its files.

Owns: the assignment of offsets, and the two ways in and the ways out; what is plain takes the short
way of `storage.log.plain_append`. The files under it, and the
offsets that bound it, are `storage.log.recoverable_log`'s; who may append, as far as producers and
transactions go, and which of them were aborted, `storage.log.transactional_log`'s.

Never: knows who the leader is, waits, or reads a clock: time comes with each call.

After a disk failure appends and reads answer KAFKA_STORAGE_ERROR, look-ups raise `LogDirFailure`.

Kafka's class: `UnifiedLog` 4.3. KIP-98 (idempotence), KIP-101 (epochs), KIP-734 (max timestamp).
"""

from __future__ import annotations

from functools import partial
from struct import Struct

from protocol.control_records import read_transaction_marker
from protocol.errors import ErrorCode
from protocol.record_batch import (
    CorruptBatch,
    RecordBatchHeader,
    crc_is_valid,
    iterate_batches,
    patch_base_offset_and_epoch,
)
from storage.log.fetch_data import NO_RECORDS, FetchDataInfo, TimestampAndOffset
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_environment import LogEnvironment
from storage.log.log_validator import Look, LookedAt, look_before_append, validate
from storage.log.plain_append import PlainAppend
from storage.log.refusal import Refusal
from storage.log.sliced_work import Steps, in_one_go
from storage.log.time_lookup import Candidate, batch_by_timestamp, batch_of_max_timestamp, look_up
from storage.log.transactional_log import OFFLINE
from storage.log.verification_state import VerificationGuard

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6

_OUT_OF_RANGE = FetchDataInfo(b"", error=ErrorCode.OFFSET_OUT_OF_RANGE)
_STORAGE_ERROR = FetchDataInfo(b"", error=ErrorCode.KAFKA_STORAGE_ERROR)
_CORRUPT = FetchDataInfo(b"", error=ErrorCode.CORRUPT_MESSAGE)

_MAX_TIMESTAMP = Struct(">q")
_MAX_TIMESTAMP_AT = 35


class UnifiedLog(PlainAppend):
    """One partition's log. Offsets are record offsets; all calls come from one thread."""

    # ---- append --------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        looked_at: LookedAt | None = None,
    ) -> LogAppendInfo:
        """Give a client's batch its offsets (it is written over in place) and append it. `guard` is
        what the log gave out when the coordinator was asked about a transaction that begins.
        """
        self._timestamp_max = now_ms + self._after_max_ms
        # What a coordinator builds is looked at by nobody, though its topic is compacted.
        own = origin is AppendOrigin.COORDINATOR and not self._counts_messages
        first = self.append_plain(records, leader_epoch, transactional=True, own=own)
        if first < 0:
            return self._append_checked(records, leader_epoch, now_ms, origin, guard, looked_at)
        (max_timestamp,) = _MAX_TIMESTAMP.unpack_from(records, _MAX_TIMESTAMP_AT)
        last, start = self.log_end_offset - 1, self.log_start_offset
        return LogAppendInfo(first, last, max_timestamp, -1, start, len(records))

    def _append_checked(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        guard: VerificationGuard | None = None,
        looked_at: LookedAt | None = None,
    ) -> LogAppendInfo:
        """Every check, in Kafka's order, and every way in which a batch is changed."""
        if self.offline:
            return self._refused(OFFLINE)
        if records.readonly:
            records = memoryview(bytearray(records))
        name = str(self.partition)
        checked = validate(records, self.config, origin, now_ms, name, looked_at)
        if isinstance(checked, Refusal):
            return self._refused(checked)
        records, batches = checked.records, checked.batches
        if len(records) > self.config.segment_size_bytes:
            return self._refused(
                Refusal(
                    ErrorCode.RECORD_LIST_TOO_LARGE,
                    f"Message batch size is {len(records)} bytes in append to partition "
                    f"{self.partition}, which exceeds the maximum configured segment size of "
                    f"{self.config.segment_size_bytes}.",
                )
            )
        answer = self._check_producers(batches, origin, guard)
        if answer is not None:
            return answer
        first = offset = self.log_end_offset
        for position, header in batches:
            patch_base_offset_and_epoch(records, position, offset, leader_epoch)
            offset += header.last_offset_delta + 1
        try:
            self.leader_epochs.assign(leader_epoch, first)
            self._write(records, batches, first, offset - 1, now_ms)
        except OSError as error:
            return self._append_failed(error)
        info = LogAppendInfo(
            first,
            offset - 1,
            max(header.max_timestamp for _, header in batches),
            checked.log_append_time,
            self.log_start_offset,
            len(records),
        )
        return self._count_messages(info) if self._counts_messages else info

    def look_before_append(self, records: memoryview, now_ms: int) -> Look | None:
        """See `storage.log.log_validator`."""
        if not self.looks_at_records:
            return None
        allocate = self._environment.allocate
        return look_before_append(records, self.config, now_ms, str(self.partition), allocate)

    def append_as_follower(self, records: memoryview, leader_epoch: int) -> LogAppendInfo:
        """Append what the leader sent, offsets and all: whole batches, a partial tail left out.

        Batches of a later epoch than `leader_epoch`, in which they were asked for, are left out
        too (KAFKA-18723). Damage and offsets that do not follow the log's end are refused:
        CORRUPT_MESSAGE, or OFFSET_OUT_OF_RANGE with `first_offset` as sent.
        """
        info = self._append_copy(records, leader_epoch)
        if info is not None:
            return info
        if self.offline:
            return self._refused(OFFLINE)
        batches = self._follower_batches(records, leader_epoch)
        if isinstance(batches, LogAppendInfo):
            return batches
        if not batches:
            return LogAppendInfo(-1, self.log_end_offset - 1, -1, -1, self.log_start_offset)
        first, last = batches[0][1].base_offset, batches[-1][1].last_offset
        size = batches[-1][0] + batches[-1][1].size_in_bytes
        start = self.log_start_offset
        try:
            if first < self.log_end_offset:
                self.truncate_fully_and_start_at(first)
            for _, header in batches:
                if header.partition_leader_epoch != self.leader_epochs.latest:
                    self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
            now_ms = self._environment.scheduler.wall_ms()
            self._write(records[:size], batches, first, last, now_ms)
        except OSError as error:
            return self._append_failed(error)
        except LogDirFailure as failure:
            return self._refused(Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))
        self.log_start_offset = start
        max_timestamp = max(header.max_timestamp for _, header in batches)
        info = LogAppendInfo(first, last, max_timestamp, -1, self.log_start_offset, size)
        return self._count_messages(info) if self._counts_messages else info

    def _follower_batches(
        self, records: memoryview, leader_epoch: int
    ) -> list[tuple[int, RecordBatchHeader]] | LogAppendInfo:
        """The whole batches to copy, or why none may be."""
        batches: list[tuple[int, RecordBatchHeader]] = []
        end = self.log_end_offset
        try:
            for position, header in iterate_batches(records, allow_partial_tail=True):
                if header.partition_leader_epoch > leader_epoch:
                    break
                if not crc_is_valid(records, position, header):
                    raise CorruptBatch(f"the batch at offset {header.base_offset} has a wrong CRC")
                if header.is_control and header.has_producer_id:
                    read_transaction_marker(records, position)  # raises, where it is damaged
                if header.base_offset < end and (batches or not self._begins_inside(header)):
                    return self._unexpected_offset(header, end)
                batches.append((position, header))
                end = header.next_offset
        except CorruptBatch as damage:
            return self._refused(Refusal(ErrorCode.CORRUPT_MESSAGE, str(damage)))
        return batches

    def _begins_inside(self, header: RecordBatchHeader) -> bool:
        """Whether this log is empty and begins inside the batch.

        A log start that DeleteRecords moved lies where it likes, and a follower that starts there
        is sent the whole batch (KAFKA-6975; Kafka's `Partition.doAppendRecordsToFollower`).
        """
        end = self.log_end_offset
        return end == self.log_start_offset and header.last_offset >= end

    def _unexpected_offset(self, header: RecordBatchHeader, end: int) -> LogAppendInfo:
        info = self._refused(
            Refusal(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Unexpected offset in append to {self.partition}. First offset "
                f"{header.base_offset} is less than the next offset {end}.",
            )
        )
        info.first_offset, info.last_offset = header.base_offset, header.last_offset
        return info

    def _write(
        self,
        records: memoryview,
        batches: list[tuple[int, RecordBatchHeader]],
        first_offset: int,
        last_offset: int,
        now_ms: int,
    ) -> None:
        """Write checked batches, whose offsets begin at `first_offset` where we assigned them."""
        segment = self._active
        max_timestamp = max(header.max_timestamp for _, header in batches)
        if segment.is_full(last_offset, max_timestamp, len(records), now_ms):
            segment = self._roll(now_ms, first_offset)
        start = segment.append(records)
        offset, has_entry = first_offset, False
        for position, header in batches:
            base = max(header.base_offset, offset)
            last = base + header.last_offset_delta
            has_entry |= segment.note(
                last, header.max_timestamp, start + position, header.size_in_bytes
            )
            if header.has_producer_id:
                if base != header.base_offset:
                    header = header._replace(base_offset=base)
                self._note_producer(records, position, header)
            offset = last + 1
        self.log_end_offset = last_offset + 1
        if has_entry:
            self._local.prepare_disk(early=self.is_replicated)

    # ---- read ----------------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        upper_offset: int | None = None,
        min_one_message: bool = True,
    ) -> FetchDataInfo:
        """A slice from the batch that holds `start_offset`, of batches wholly below `upper_offset`.

        `upper_offset` is the high watermark, the last stable offset, or None for the log's end.
        With `min_one_message` the first batch comes whole even where it exceeds `max_bytes`.
        """
        end = self.log_end_offset
        if start_offset < self.log_start_offset or start_offset > end:
            return _OUT_OF_RANGE
        if self.offline:
            return _STORAGE_ERROR
        if upper_offset is None or upper_offset > end:
            upper_offset = end
        if start_offset >= upper_offset:
            return NO_RECORDS
        active = self._active
        try:
            if start_offset >= active.base_offset:
                bound = None if upper_offset == end else upper_offset
                return active.read(start_offset, max_bytes, bound, min_one_message) or NO_RECORDS
            return self._read_closed(start_offset, max_bytes, upper_offset, min_one_message)
        except CorruptBatch:
            return _CORRUPT
        except OSError as error:
            self._failed("read", error)
            return _STORAGE_ERROR

    def _read_closed(
        self, start_offset: int, max_bytes: int, upper_offset: int, min_one_message: bool
    ) -> FetchDataInfo:
        segments = self._local.segments
        ceiling = segments.floor(upper_offset)
        for segment in segments.read_from(start_offset):
            if segment.base_offset >= upper_offset:
                break
            segments.warm(segment)
            bound = upper_offset if segment is ceiling else None
            info = segment.read(start_offset, max_bytes, bound, min_one_message)
            if info is not None:  # None: compaction took the end of this segment
                return info
        return NO_RECORDS

    def fetch_offset_by_timestamp(
        self, timestamp: int, leader_epoch: int = -1
    ) -> TimestampAndOffset | None:
        """`look_up_by_time` in one go."""
        return in_one_go(self.look_up_by_time(timestamp))

    def look_up_by_time(self, timestamp: int) -> Steps[TimestampAndOffset | None]:
        """ListOffsets: -1 the log's end, -2 and -4 its start, -3 the record with the largest
        timestamp, -5 and -6 nothing (no tiered storage), else the first record at or after it.

        None where no record matches. Raises CorruptBatch, or LogDirFailure.
        The caller bounds the result by the high watermark or the last stable offset, and answers
        the latest offset with its own leader epoch.
        """
        start = self.log_start_offset
        if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            return TimestampAndOffset(-1, start, self.leader_epochs.epoch_for(start))
        if timestamp == LATEST_TIMESTAMP:
            return TimestampAndOffset(-1, self.log_end_offset, self.leader_epochs.latest)
        if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
            return TimestampAndOffset(-1, -1, -1)
        find = partial(self._batch_by_time, timestamp)
        return (yield from look_up(find, start, self._environment.allocate))

    def _batch_by_time(self, timestamp: int, start_offset: int) -> Candidate | None:
        segments = self._local.segments
        start_offset = max(start_offset, self.log_start_offset)
        try:
            if timestamp == MAX_TIMESTAMP:
                return batch_of_max_timestamp(segments, start_offset)
            return batch_by_timestamp(segments, timestamp, start_offset)
        except OSError as error:
            raise self._failed("look-up by time", error) from error


__all__ = ["LogEnvironment", "UnifiedLog"]
