"""One segment: a `.log` file, its two indexes, and the positions of its latest batches.

Owns: the files of one base offset. The last segment of a log is the active one. Its indexes are in
memory, and so are the positions of its latest batches. So a read at the tail, or at the high
watermark, finds its position without the disk. Closed segments keep no index in memory, and keep
their files open only while `storage.log.closed_files` has room.

Never: decides when to roll (it says when it is full), assigns offsets, or syncs on its own.
`storage.log.segment_files` opens and closes its files; reading is in `storage.log.segment_reads`,
aborted transactions are in `storage.log.segment_transactions`.

Kafka's class: `LogSegment`.
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
    """A segment with the batches from `base_offset` on.

    Offsets are absolute, positions are bytes in the file.
    """

    __slots__ = (
        "_bytes_since_index",
        "_first_timestamp",
        "_index_interval_bytes",
        "_indexed_size",
        "_largest_is_known",
        "_offset_of_max_timestamp",
        "_recent",
        "_roll_after_ms",
        "base_offset",
        "bytes_max",
        "config",
        "created_ms",
        "filesystem",
        "written_back_to",
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
        """Open the segment's file, or create it; open nothing yet if the segment is `closed`.

        `files` keeps the files of a closed segment open. Raises OSError.
        """
        self.filesystem = filesystem
        self.base_offset = base_offset
        self.config = config
        self.created_ms = created_ms
        self._roll_after_ms = config.roll_ms - roll_jitter_ms
        # The largest timestamp that needs no new segment, while the indexes have room; -1: unknown.
        self.roll_at_ms = -1
        self.bytes_max = config.segment_size_bytes
        self._index_interval_bytes = config.index_interval_bytes
        self._begin_files(directory, files, closed=closed, create=create)
        self.written_back_to = self.file.size  # the position up to which bytes are written back
        index_bytes_max = config.segment_index_bytes
        self.offset_index = OffsetIndex(filesystem, base_offset, index_bytes_max, files)
        self.time_index = TimeIndex(filesystem, base_offset, index_bytes_max, files)
        self.max_timestamp = -1
        self._offset_of_max_timestamp = base_offset
        self._largest_is_known = self.file.size == 0
        self._first_timestamp: int | None = None
        self._bytes_since_index = 0
        self._indexed_size = -1
        self._forget_aborted()
        self._recent = RecentBatches(
            base_offset if self.file.size == 0 else self._offset_beyond_all
        )

    @property
    def _offset_beyond_all(self) -> int:
        """An offset above any that a batch of this segment can have."""
        return self.base_offset + RELATIVE_OFFSET_MAX + 1

    @property
    def size(self) -> int:
        """The size of all batches in the segment, in bytes."""
        return self.file.size

    # ---- writing ------------------------------------------------------------------------------

    def append(self, records: BytesLike) -> int:
        """Write whole batches at the end, and return their position.

        Then the caller has to call `note` for each batch. Raises OSError.
        """
        position = self.file.size
        self.file.append(records)
        return position

    def note(self, last_offset: int, max_timestamp: int, position: int, size: int) -> bool:
        """Add a batch that was written at `position` to the indexes and the recent batches. Return
        whether it got an index entry.

        As in Kafka, a batch gets an entry if more than `index.interval.bytes` were written since
        the last entry. The entry has the batch's last offset and its position.
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
        """Return whether a batch of `size` bytes, up to `last_offset`, needs a new segment: because
        of its size or offset, full indexes, or the segment's age."""
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
        """Return the segment's age in ms, by the records' timestamps or else by the clock.

        Kafka's `timeWaitedForRoll`: the age counts from the first batch's timestamp, so that old
        data that is replayed rolls by its own time.
        """
        first = self.first_timestamp()
        if first >= 0 and max_timestamp >= 0:
            return max_timestamp - first
        return now_ms - self.created_ms

    def first_timestamp(self) -> int:
        """Return the first batch's largest timestamp, -1 without a timestamp or a batch."""
        if self._first_timestamp is not None:
            return self._first_timestamp
        with suppress(CorruptBatch):  # a damaged batch has none, as in Kafka, and appends continue
            if self.file.size:
                self._first_timestamp = self.header_at(0).max_timestamp
        return -1 if self._first_timestamp is None else self._first_timestamp

    def take_for_write_back(self, multiple: int) -> tuple[int, int]:
        """Return (position, size) of the bytes appended since the last call, for `write_back`, and
        count them as written back.

        They end at a `multiple` of bytes. The size may be 0 or negative: then there is nothing to
        write.
        """
        start = self.written_back_to
        self.written_back_to = self.size - self.size % multiple
        return start, self.written_back_to - start

    # ---- reading ------------------------------------------------------------------------------

    def largest_timestamp(self) -> tuple[int, int]:
        """Return (largest timestamp, last offset of its batch); (-1, base offset) without one."""
        if not self._largest_is_known:
            path = self.path(TIME_INDEX_SUFFIX)
            self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last(path)
            self._largest_is_known = True
            self.release_closed()
        return self.max_timestamp, self._offset_of_max_timestamp

    def next_offset(self) -> int:
        """Return the offset after the last batch, by a read of the tail.

        Raises CorruptBatch, OSError.
        """
        last = self.base_offset - 1
        start = self.offset_index.last(self.path(INDEX_SUFFIX))[1]
        for _, header in iterate_headers(self.file, start, self.file.size, LOOKUP_CHUNK_BYTES):
            last = header.last_offset
        return last + 1

    # ---- opening, recovery, truncation --------------------------------------------------------

    def open_clean(self) -> int:
        """Make a cleanly closed segment the active one, and return its next offset.

        Raises CorruptIndex, CorruptBatch or OSError if it has to be recovered instead.
        """
        self.mark_active()
        self.offset_index.open(self.path(INDEX_SUFFIX))
        self.time_index.open(self.path(TIME_INDEX_SUFFIX))
        self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last("")
        self._largest_is_known = True
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
        """Open a segment that is not the active one: its index files are checked, not loaded.

        Raises CorruptIndex or OSError if they have to be rebuilt.
        """
        self.offset_index.release()
        self.time_index.release()
        self.offset_index.check(self.path(INDEX_SUFFIX), self.file.size)
        self.time_index.check(self.path(TIME_INDEX_SUFFIX))
        check_last_entries(self)
        self.release_handles()
        self._recent.forget(self._offset_beyond_all)

    def open_cleaned(self, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """Open a closed segment that compaction has written and synced."""
        self.mark_closed()
        self.max_timestamp, self._offset_of_max_timestamp = max_timestamp, offset_of_max_timestamp
        self._largest_is_known = True
        self.release_handles()
        self._recent.forget(self._offset_beyond_all)

    def recover(
        self, on_batch: Callable[[int, RecordBatchHeader], None], *, cut: bool
    ) -> tuple[int, int]:
        """Scan the whole segment, and rebuild its two indexes.

        `on_batch(position, header)` is called for each batch. Return (next offset, bytes that are
        not valid). With `cut` the invalid bytes are cut off. A segment that was fsynced is not
        cut: reads of the damage answer CORRUPT_MESSAGE, batches behind it stay readable.
        """
        self.offset_index.clear()
        self.time_index.clear()
        self.max_timestamp, self._offset_of_max_timestamp = -1, self.base_offset
        self._largest_is_known, self._first_timestamp = True, None
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
        """Remove the batch that holds `offset` and all after it. Return the new end offset.

        A batch is removed whole, so the end is its base offset if `offset` is inside the batch.
        """
        self._ensure_open()
        location = self.locate(offset)
        if location is None:
            return offset
        position, _ = location
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
        """Set the largest timestamp and the distance to the last index entry, by a scan of the tail
        after a cut."""
        start = self.offset_index.last("")[1]
        self.max_timestamp, self._offset_of_max_timestamp = self.time_index.last("")
        self._largest_is_known = True
        if self.file.size == 0:
            self._first_timestamp = None
        for _, header in iterate_headers(self.file, start, self.file.size, LOOKUP_CHUNK_BYTES):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = header.last_offset
        self._bytes_since_index = self.file.size - start
        self.roll_at_ms = -1

    def _ensure_open(self) -> None:
        """Read both indexes into memory, unless they are there."""
        if not self.offset_index.is_open:
            self.offset_index.open(self.path(INDEX_SUFFIX))
            self.time_index.open(self.path(TIME_INDEX_SUFFIX))

    def reopen(self, next_offset: int) -> None:
        """Make a segment the active one again, after a truncation removed those after it."""
        self.mark_active()
        self._ensure_open()
        self._rescan_tail()
        self._recent.forget(next_offset)

    def write_indexes(self) -> bool:
        """Write the indexes to their files, with the time entry at the end of a segment.

        Return False if the files have the same content already.
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
        """Close the segment after a roll: write its indexes, and free their memory."""
        self.write_indexes()
        self.offset_index.release()
        self.time_index.release()
        self.mark_closed()
        self._recent.forget(self._offset_beyond_all)

    def update_config(self, config: LogConfig) -> None:
        """Apply the topic's changed configs: when the segment is full, and how often it adds index
        entries."""
        self._roll_after_ms += config.roll_ms - self.config.roll_ms
        self.roll_at_ms = -1
        self.bytes_max = config.segment_size_bytes
        self._index_interval_bytes = config.index_interval_bytes
        self.config = config

    def release_handles(self) -> None:
        """Close the files of a closed segment, and forget the entries of its transaction index."""
        super().release_handles()
        if self._aborted:
            self._forget_aborted()
