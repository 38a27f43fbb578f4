"""One segment: a `.log` file, its two indexes, and what is known about its batches.

Owns: the files of one base offset. The last segment of a log is the active one: its indexes are in
memory, and it remembers where its latest batches start, so that a reader at the tail, or at the
high watermark, is placed without touching the disk. Closed segments keep nothing in memory, and
their files open only as `storage.log.closed_files` has room for it.

Never: decides when to roll (it says when it is full), assigns offsets, or syncs on its own. Its
files are opened and closed by `storage.log.segment_files`; reading is in
`storage.log.segment_reads`, aborted transactions are in `storage.log.segment_transactions`.

Kafka's class: `LogSegment` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ground.filesystem import BytesLike, Filesystem
from log_format.segment_names import (
    INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
)
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from storage.log.batch_scan import LOOKUP_CHUNK_BYTES, iterate_headers, valid_batches
from storage.log.closed_files import ClosedFiles
from storage.log.index_check import check_last_entries
from storage.log.indexes import RELATIVE_OFFSET_MAX, OffsetIndex, TimeIndex
from storage.log.recent_batches import RECENT_BATCHES_HELD, RecentBatches
from storage.log.segment_reads import SegmentReads
from storage.log.segment_transactions import SegmentTransactions
from storage.log_config import LogConfig


class LogSegment(SegmentReads, SegmentTransactions):
    """Batches from `base_offset` on. Offsets are absolute, positions are bytes in the file."""

    __slots__ = (
        "_bytes_since_index",
        "_first_timestamp",
        "_index_interval_bytes",
        "_indexed_size",
        "_largest_known",
        "_offset_of_max_timestamp",
        "_recent",
        "_roll_after_ms",
        "base_offset",
        "bytes_max",
        "config",
        "created_ms",
        "filesystem",
        "handed_over",
        "max_timestamp",
        "offset_index",
        "roll_at_ms",
        "time_index",
    )

    def __init__(
        self,
        filesystem: Filesystem,
        directory: str,
        base_offset: int,
        config: LogConfig,
        *,
        created_ms: int,
        create: bool,
        roll_jitter_ms: int = 0,
        files: ClosedFiles | None = None,
        closed: bool = False,
    ) -> None:
        """`files` keeps open what this segment needs while it is closed; where it is `closed` now,
        nothing is opened yet."""
        self.filesystem = filesystem
        self.base_offset = base_offset
        self.config = config
        self.created_ms = created_ms
        self._roll_after_ms = config.roll_ms - roll_jitter_ms
        # The largest timestamp that begins no new segment, while the indexes have room; -1: look.
        self.roll_at_ms = -1
        self.bytes_max = config.segment_size_bytes
        self._index_interval_bytes = config.index_interval_bytes
        self._begin_files(directory, files, closed=closed, create=create)
        self.handed_over = self.file.size  # how far `storage.log.write_back` has come
        index_bytes_max = config.segment_index_bytes
        self.offset_index = OffsetIndex(filesystem, base_offset, index_bytes_max, files)
        self.time_index = TimeIndex(filesystem, base_offset, index_bytes_max, files)
        self.max_timestamp = -1
        self._offset_of_max_timestamp = base_offset
        self._largest_known = self.file.size == 0
        self._first_timestamp: int | None = None
        self._bytes_since_index = 0
        self._indexed_size = -1
        self._forget_aborted()
        self._recent = RecentBatches(base_offset if self.file.size == 0 else self._beyond)

    @property
    def _beyond(self) -> int:
        """An offset that no batch of this segment can have."""
        return self.base_offset + RELATIVE_OFFSET_MAX + 1

    @property
    def size(self) -> int:
        """Bytes of batches."""
        return self.file.size

    # ---- writing ------------------------------------------------------------------------------

    def append(self, records: BytesLike) -> int:
        """Write whole batches at the end and give their position; `note` follows for each."""
        position = self.file.size
        self.file.append(records)
        return position

    def note(self, last_offset: int, max_timestamp: int, position: int, size: int) -> bool:
        """Learn of a batch that was written at `position`. Whether it has an entry in the indexes.

        Like Kafka, an entry is added *before* the batch that comes once `index.interval.bytes`
        have passed, and names that batch's last offset.
        """
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self._offset_of_max_timestamp = last_offset
        if self._first_timestamp is None and position == 0:
            self._first_timestamp = max_timestamp
        recent = self._recent
        recent.lasts.append(last_offset)
        recent.positions.append(position)
        if len(recent.lasts) > RECENT_BATCHES_HELD:
            recent.forget_oldest()
        if self._bytes_since_index <= self._index_interval_bytes:
            self._bytes_since_index += size
            return False
        self.offset_index.append(last_offset, position)
        self.time_index.maybe_append(self.max_timestamp, self._offset_of_max_timestamp)
        if self.offset_index.is_full or self.time_index.is_full:
            self.roll_at_ms = -1
        self._bytes_since_index = size
        return True

    def is_full(self, last_offset: int, max_timestamp: int, size: int, now_ms: int) -> bool:
        """Whether a new segment must take a batch of `size` bytes that ends with `last_offset`."""
        own = self.file.size
        if own > self.bytes_max - size or last_offset - self.base_offset > RELATIVE_OFFSET_MAX:
            return True
        if 0 <= max_timestamp <= self.roll_at_ms or own == 0:
            return False
        if self.offset_index.is_full or self.time_index.is_full:
            return True
        first = self._first_timestamp
        if first is None or first < 0 or max_timestamp < 0:
            return self.waited_ms(max_timestamp, now_ms) > self._roll_after_ms
        self.roll_at_ms = first + self._roll_after_ms
        return max_timestamp > self.roll_at_ms

    def waited_ms(self, max_timestamp: int, now_ms: int) -> int:
        """How long this segment has been filling: by the records' time, else by ours.

        Kafka's `timeWaitedForRoll`: the first batch's timestamp counts, so that replayed old data
        rolls by its own time.
        """
        first = self.first_timestamp()
        if first >= 0 and max_timestamp >= 0:
            return max_timestamp - first
        return now_ms - self.created_ms

    def first_timestamp(self) -> int:
        """The first batch's largest timestamp; -1 without one, or without a batch."""
        if self._first_timestamp is not None:
            return self._first_timestamp
        with suppress(CorruptBatch):  # what is damaged has none, as in Kafka, and appends go on
            if self.file.size:
                self._first_timestamp = self.header_at(0).max_timestamp
        return -1 if self._first_timestamp is None else self._first_timestamp

    def hand_over(self, multiple: int) -> tuple[int, int]:
        """(position, size) of what was appended since the last call, up to a `multiple` of bytes,
        for `storage.log.write_back`."""
        start = self.handed_over
        self.handed_over = self.size - self.size % multiple
        return start, self.handed_over - start

    # ---- reading ------------------------------------------------------------------------------

    def largest_timestamp(self) -> tuple[int, int]:
        """(largest timestamp, last offset of its batch); (-1, base offset) without timestamps."""
        if not self._largest_known:
            path = self.path(TIME_INDEX_SUFFIX)
            self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last(path)
            self._largest_known = True
            self.release_closed()
        return self.max_timestamp, self._offset_of_max_timestamp

    def next_offset(self) -> int:
        """The offset after the last batch, read from the tail."""
        last = self.base_offset - 1
        start = self.offset_index.last(self.path(INDEX_SUFFIX))[1]
        for _, header in iterate_headers(self.file, start, self.file.size, LOOKUP_CHUNK_BYTES):
            last = header.last_offset
        return last + 1

    # ---- life ---------------------------------------------------------------------------------

    def open_clean(self) -> int:
        """Make a cleanly closed segment the active one, and give its next offset.

        Raises CorruptIndex, CorruptBatch or OSError where it has to be recovered instead.
        """
        self.hold_file()
        self.offset_index.open(self.path(INDEX_SUFFIX))
        self.time_index.open(self.path(TIME_INDEX_SUFFIX))
        self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last("")
        self._largest_known = True
        check_last_entries(self)
        last, start = self.base_offset - 1, self.offset_index.last("")[1]
        for _, header in iterate_headers(self.file, start, self.file.size, LOOKUP_CHUNK_BYTES):
            last = header.last_offset
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self._offset_of_max_timestamp = header.max_timestamp, last
        self._bytes_since_index = self.file.size - start
        self.roll_at_ms = -1
        self._indexed_size = self.file.size
        self._recent.forget(last + 1)
        return last + 1

    def open_closed(self) -> None:
        """Use a segment that is not the active one: its index files are checked, not loaded.

        Raises CorruptIndex or OSError where they have to be rebuilt.
        """
        self.offset_index.release()
        self.time_index.release()
        self.offset_index.check(self.path(INDEX_SUFFIX), self.file.size)
        self.time_index.check(self.path(TIME_INDEX_SUFFIX))
        check_last_entries(self)
        self.release_handles()
        self._recent.forget(self._beyond)

    def open_cleaned(self, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """Use a segment that compaction wrote, and synced, beside the active one."""
        self.rest_file()
        self.max_timestamp, self._offset_of_max_timestamp = max_timestamp, offset_of_max_timestamp
        self._largest_known = True
        self.release_handles()
        self._recent.forget(self._beyond)

    def recover(
        self, on_batch: Callable[[int, RecordBatchHeader], None], *, cut: bool
    ) -> tuple[int, int]:
        """Scan the whole segment, rebuild its two indexes, and `cut` off what is not valid.

        `on_batch` is given each batch's position and header. Gives (next offset, bytes that are
        not valid). A segment that was fsynced is not cut: what is damaged in it answers
        CORRUPT_MESSAGE, what follows the damage stays readable.
        """
        self.offset_index.clear()
        self.time_index.clear()
        self.max_timestamp, self._offset_of_max_timestamp = -1, self.base_offset
        self._largest_known, self._first_timestamp = True, None
        self._bytes_since_index, self._indexed_size = 0, -1
        self.roll_at_ms = -1
        self._recent.forget(self.base_offset)
        next_offset, end = self.base_offset, 0
        for position, header in valid_batches(self.file, 0):
            last = header.last_offset
            if header.base_offset < next_offset or last - self.base_offset > RELATIVE_OFFSET_MAX:
                break
            self.note(last, header.max_timestamp, position, header.size_in_bytes)
            on_batch(position, header)
            next_offset, end = header.next_offset, position + header.size_in_bytes
        invalid = self.file.size - end
        if invalid and cut:
            self.file.truncate(end)
        return next_offset, invalid

    def truncate_to(self, offset: int) -> int:
        """Cut the batch that holds `offset` and all after it; gives the new end offset.

        A batch is cut whole, so the end is the batch's base offset where `offset` lies inside one.
        """
        self._ensure_open()
        found = self.locate(offset)
        if found is None:
            return offset
        position, _ = found
        base = self.header_at(position).base_offset
        self._truncate_aborted(base)
        self.offset_index.truncate_to(base)
        self.time_index.truncate_to(base)
        self.file.truncate(position)
        self._indexed_size = -1
        self._recent.truncate_to(base, position)
        self._rescan_tail()
        return min(base, offset)

    def _rescan_tail(self) -> None:
        """After a cut: the largest timestamp and the distance to the last index entry anew."""
        start = self.offset_index.last("")[1]
        self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last("")
        self._largest_known = True
        if self.file.size == 0:
            self._first_timestamp = None
        for _, header in iterate_headers(self.file, start, self.file.size, LOOKUP_CHUNK_BYTES):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = header.last_offset
        self._bytes_since_index = self.file.size - start
        self.roll_at_ms = -1

    def _ensure_open(self) -> None:
        if not self.offset_index.is_open:
            self.offset_index.open(self.path(INDEX_SUFFIX))
            self.time_index.open(self.path(TIME_INDEX_SUFFIX))

    def reopen(self, next_offset: int) -> None:
        """Make a closed segment the active one again, after a truncation removed those after it."""
        self.hold_file()
        self._ensure_open()
        self._rescan_tail()
        self._recent.forget(next_offset)

    def write_indexes(self) -> bool:
        """Bring the indexes to their files, with the time entry that ends a segment.

        False where the files say the same already.
        """
        if not self.offset_index.is_open or self._indexed_size == self.file.size:
            return False
        self.time_index.maybe_append(self.max_timestamp, self._offset_of_max_timestamp)
        self.roll_at_ms = -1
        replace = self.filesystem.replace_atomically
        replace(self.path(INDEX_SUFFIX), self.offset_index.encode(), sync=False)
        replace(self.path(TIME_INDEX_SUFFIX), self.time_index.encode(), sync=False)
        self._indexed_size = self.file.size
        self._indexes_written()
        return True

    def become_inactive(self) -> None:
        """Another segment takes over: indexes go to their files, memory is given back."""
        self.write_indexes()
        self.offset_index.release()
        self.time_index.release()
        self.rest_file()
        self._recent.forget(self._beyond)

    def update_config(self, config: LogConfig) -> None:
        """The topic's configs changed."""
        self._roll_after_ms += config.roll_ms - self.config.roll_ms
        self.roll_at_ms = -1
        self.bytes_max = config.segment_size_bytes
        self._index_interval_bytes = config.index_interval_bytes
        self.config = config

    def release_handles(self) -> None:
        """See `SegmentFiles`; what was read of the transaction index goes, too."""
        super().release_handles()
        if self._aborted:
            self._forget_aborted()
