"""One round of compaction: a log's segments are rewritten without records that later ones replace.

There are two passes. The first notes the last offset of each key in the dirty section. The second
copies all segments, from the log's first up to the end of the offset map, into new ones, group by
group. A record stays if it is the last of its key. Offsets and order never change. A batch keeps
its base and last offset; a batch that loses no record is copied byte for byte.

Owns: the rules of which batches and records stay. Tombstones and markers of ended transactions stay
until their delete horizon, which the first cleaning that reads them sets (KIP-534). The last batch
of each producer stays, if need be as an empty one, and so does the last batch of the round.

Never: changes a file of the log, or copies a batch with a wrong checksum, because a new checksum
would hide the damage. The round fails at such a batch, and the log stays as it is. The round
blocks, so a broker runs it in a separate process (`storage.cleaning.cleaner_worker`).

Follows Kafka's `Cleaner`. One difference: batches wholly beyond the offset map are copied
without a look at their records, so tombstones there get their horizon in a later round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from ground.filesystem import Filesystem
from log_format.segment_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    offset_name,
)
from log_format.transaction_index import AbortedTxn, decode_transactions
from protocol.control_records import ControlRecordType, control_record_type
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    RecordBatchHeader,
    crc_is_valid,
    read_header,
)
from protocol.records import iterate_records
from storage.cleaning.cleaned_segment import CleanedSegment
from storage.cleaning.cleaned_transactions import CleanedTransactions
from storage.cleaning.cleaner_job import (
    CleaningFailed,
    CleanJob,
    CleanResult,
    SourceSegment,
)
from storage.cleaning.offset_map import OffsetMap
from storage.cleaning.record_filter import body_of, choose_records, empty_batch, index_keys, rebuild
from storage.log.cleaned_group import CleanedGroup
from storage.log.indexes import RELATIVE_OFFSET_MAX

Throttle = Callable[[int], None]
"""A callback for the number of bytes read or written; it sleeps if the rate is above the limit."""

_BUFFER_BYTES_MIN = 64 * 1024


def clean(
    filesystem: Filesystem, job: CleanJob, throttle: Throttle = lambda _: None
) -> CleanResult:
    """Run one round of compaction, and return its result. The new segments are `.cleaned` files in
    the log's folder. Raises CleaningFailed if a file of the log is damaged; OSError."""
    try:
        return Cleaner(filesystem, job, throttle).run()
    except CorruptBatch as damage:
        raise CleaningFailed(str(damage)) from damage


class Cleaner:
    """One round of compaction of one log."""

    def __init__(self, filesystem: Filesystem, job: CleanJob, throttle: Throttle) -> None:
        self._filesystem = filesystem
        self._job = job
        self._throttle = throttle
        self._offsets = OffsetMap(job.dedupe_bytes, job.load_factor)
        self._buffer_bytes = max(job.io_buffer_bytes // 2, _BUFFER_BYTES_MIN)
        self._last_records = {pid: (offset, epoch) for pid, offset, epoch in job.producers}
        self._read = self._written = 0
        self._records_read = self._records_kept = self._keyless = 0

    def run(self) -> CleanResult:
        """Write the new segments as `.cleaned` files, sync the folder, and return the result of the
        round.

        Raises CorruptBatch, CleaningFailed, OSError.
        """
        job, filesystem = self._job, self._filesystem
        aborted = self._aborted_transactions()
        self._build_map(CleanedTransactions(aborted))
        end_offset = self._offsets.latest_offset + 1
        transactions = CleanedTransactions(aborted)
        groups = [
            self._clean_group(group, transactions)
            for group in self._groups(
                [segment for segment in job.segments if segment[0] < end_offset]
            )
        ]
        filesystem.sync_dir(job.directory)
        return CleanResult(
            end_offset,
            tuple(groups),
            self._read,
            self._written,
            self._records_read,
            self._records_kept,
            self._keyless,
            len(self._offsets.by_key),
        )

    def _path(self, base_offset: int, suffix: str) -> str:
        return f"{self._job.directory}/{offset_name(base_offset)}{suffix}"

    def _aborted_transactions(self) -> list[AbortedTxn]:
        """Return the aborted transactions of all segments, later ones too. Raises CleaningFailed if
        an index is damaged."""
        aborted: list[AbortedTxn] = []
        for base in (*(base for base, _ in self._job.segments), *self._job.later_segments):
            path = self._path(base, TXN_INDEX_SUFFIX)
            if self._filesystem.exists(path):
                entries = decode_transactions(self._filesystem.read(path))
                if entries is None:
                    raise CleaningFailed(f"{path} is damaged")
                aborted += entries
        return aborted

    # ---- the dirty section ----------------------------------------------------------------------

    def _build_map(self, transactions: CleanedTransactions) -> None:
        """Put each key's last offset into the offset map, from the first dirty offset on, until the
        map is full. Its `latest_offset` becomes the last offset that it covers."""
        job, offsets = self._job, self._offsets
        start = job.first_dirty_offset
        offsets.reach(start - 1)
        for segment, after in self._with_ends(job.segments):
            if after <= start:
                continue
            for data, position, header in self._batches(segment):
                if header.last_offset < start:
                    self._has_no_live_records(data, position, header, transactions)
                    continue
                if offsets.is_full:
                    return
                if (
                    not self._has_no_live_records(data, position, header, transactions)
                    and header.record_count
                ):
                    body, first, end = self._body_of(data, position, header)
                    index_keys(body, first, end, header, start, offsets)
                offsets.reach(header.last_offset)
            offsets.reach(after - 1)

    def _body_of(
        self, data: bytes, position: int, header: RecordBatchHeader
    ) -> tuple[bytes, int, int]:
        """Return what `body_of` does, with the job's limit of a record. Raises CorruptBatch."""
        return body_of(data, position, header, self._job.record_bytes_max)

    def _has_no_live_records(
        self,
        data: bytes,
        position: int,
        header: RecordBatchHeader,
        transactions: CleanedTransactions,
    ) -> bool:
        """Advance `transactions` to a batch. Return whether the batch is a control batch, or of an
        aborted transaction: its records have no keys for the offset map."""
        if header.is_control:
            transactions.advance_control(header, _marker(data, position, header))
            return True
        return transactions.advance_data(header)

    def _batches(self, segment: SourceSegment) -> Iterator[tuple[bytes, int, RecordBatchHeader]]:
        """Yield (bytes, position in them, header) of each batch of a segment. Count the bytes as
        read, and throttle the reading.

        Raises CorruptBatch for a wrong checksum or a batch that the file's end cuts off.
        """
        base_offset, size = segment
        path = self._path(base_offset, LOG_SUFFIX)
        file = self._filesystem.open(path)
        at, read_bytes = 0, self._buffer_bytes
        try:
            while at < size:
                data = file.pread(min(read_bytes, size - at), at)
                position = 0
                while position + HEADER_SIZE <= len(data):
                    header = read_header(data, position, size - at - position)
                    if position + header.size_in_bytes > len(data):
                        break
                    if not crc_is_valid(data, position, header):
                        raise CorruptBatch(f"{path}: wrong CRC at offset {header.base_offset}")
                    yield data, position, header
                    position += header.size_in_bytes
                if not position:
                    if len(data) < min(read_bytes, size - at) or len(data) < HEADER_SIZE:
                        raise CorruptBatch(f"{path} ends inside a batch")
                    # The batch is larger than the buffer; `read_header` checked its size against
                    # the rest of the file.
                    read_bytes = read_header(data, 0, size - at).size_in_bytes
                at += position
                self._read += position
                self._throttle(position)
        finally:
            file.close()

    # ---- groups of segments ---------------------------------------------------------------------

    def _groups(self, segments: list[SourceSegment]) -> Iterator[list[SourceSegment]]:
        """Yield groups of neighbouring segments that fit into one segment together.

        Without that a log would have ever more, ever smaller segments.
        """
        job = self._job
        group: list[SourceSegment] = []
        log_bytes = offset_bytes = time_bytes = 0
        for segment, after in self._with_ends(segments):
            base, size = segment
            offset_index = self._file_size(base, INDEX_SUFFIX)
            time_index = self._file_size(base, TIME_INDEX_SUFFIX)
            if group and not (
                log_bytes + size <= job.segment_bytes
                and offset_bytes + offset_index <= job.index_bytes_max
                and time_bytes + time_index <= job.index_bytes_max
                and (size == 0 or after - 1 - group[0][0] <= RELATIVE_OFFSET_MAX)
            ):
                yield group
                group, log_bytes, offset_bytes, time_bytes = [], 0, 0, 0
            group.append(segment)
            log_bytes += size
            offset_bytes += offset_index
            time_bytes += time_index
        if group:
            yield group

    def _with_ends(self, segments: Sequence[SourceSegment]) -> Iterator[tuple[SourceSegment, int]]:
        """Return pairs of a segment and its end offset, which is the next segment's base offset."""
        bases = (base for base, _ in islice(segments, 1, None))
        return zip(segments, chain(bases, (self._job.first_uncleanable_offset,)), strict=False)

    def _file_size(self, base_offset: int, suffix: str) -> int:
        """Return the size in bytes of a file of the segment, 0 if it is missing."""
        path = self._path(base_offset, suffix)
        return self._filesystem.size(path) if self._filesystem.exists(path) else 0

    def _clean_group(
        self, group: list[SourceSegment], transactions: CleanedTransactions
    ) -> CleanedGroup:
        """Copy the segments of `group` into one cleaned segment, and return it, finished. Add its
        size to the bytes written."""
        job = self._job
        cleaned = CleanedSegment(
            self._filesystem,
            job.directory,
            group[0][0],
            job.index_bytes_max,
            job.index_interval_bytes,
            self._buffer_bytes,
        )
        for segment in group:
            self._copy(segment, cleaned, transactions)
        self._written += cleaned.size
        return cleaned.finish(tuple(base for base, _ in group), transactions.take_kept())

    def _copy(
        self, segment: SourceSegment, cleaned: CleanedSegment, transactions: CleanedTransactions
    ) -> None:
        """Write the batches of a segment that stay to `cleaned`, and count the records read and
        kept. Adjacent unchanged batches are one write."""
        unchanged: bytes = b""
        start = end = 0
        for data, position, header in self._batches(segment):
            kept = self._filtered(data, position, header, transactions)
            size = header.size_in_bytes
            self._records_read += header.record_count
            if kept is header:
                cleaned.note(header, header.max_timestamp, size)
                self._records_kept += header.record_count
                if data is unchanged and end == position:
                    end += size
                else:
                    self._write(cleaned, unchanged, start, end)
                    unchanged, start, end = data, position, position + size
            elif kept is not None:
                assert isinstance(kept, bytearray)
                self._write(cleaned, unchanged, start, end)
                unchanged, start, end = b"", 0, 0
                new = read_header(kept)
                cleaned.note(new, new.max_timestamp, len(kept))
                self._records_kept += new.record_count
                self._throttle(cleaned.write(kept))
        self._write(cleaned, unchanged, start, end)

    def _write(self, cleaned: CleanedSegment, data: bytes, start: int, end: int) -> None:
        """Append data[start:end] to the cleaned segment, if it is not empty, and wait as the limit
        on I/O requires."""
        if start < end:
            self._throttle(cleaned.write(memoryview(data)[start:end]))

    # ---- one batch ------------------------------------------------------------------------------

    def _filtered(
        self,
        data: bytes,
        position: int,
        header: RecordBatchHeader,
        transactions: CleanedTransactions,
    ) -> bytearray | RecordBatchHeader | None:
        """Return the batch that replaces this one.

        `header` itself means that the batch stays unchanged, None that it is dropped.
        """
        if header.is_control:
            return self._filtered_control(data, position, header, transactions)
        if transactions.advance_data(header):
            return self._without_records(header)
        if header.base_offset > self._offsets.latest_offset:
            return header
        if not header.record_count:
            return header if self._must_stay(header) else None
        horizon = header.delete_horizon_ms
        expired = horizon is not None and horizon <= self._job.now_ms
        body, first, end = self._body_of(data, position, header)
        kept, tombstones, keyless = choose_records(body, first, end, header, self._offsets, expired)
        self._keyless += keyless
        if not kept:
            return self._without_records(header)
        new_horizon = self._new_horizon() if tombstones and horizon is None else None
        if len(kept) == header.record_count and new_horizon is None:
            return header
        return rebuild(body, kept, header, new_horizon)

    def _filtered_control(
        self,
        data: bytes,
        position: int,
        header: RecordBatchHeader,
        transactions: CleanedTransactions,
    ) -> bytearray | RecordBatchHeader | None:
        """Return the batch that replaces a control batch: `header` to keep it, None to drop it. A
        marker stays until its transaction is over and its delete horizon, set by the first such
        round, has passed."""
        is_over = transactions.advance_control(header, _marker(data, position, header))
        horizon = header.delete_horizon_ms
        if not header.record_count:
            return header if self._must_stay(header) else None
        if is_over and horizon is not None and horizon <= self._job.now_ms:
            return self._without_records(header)
        if not is_over or horizon is not None or header.record_count != 1:
            return header
        body, first, end = self._body_of(data, position, header)
        return rebuild(body, [(first, end)], header, self._new_horizon())

    def _new_horizon(self) -> int:
        """Return the delete horizon for a batch that has none yet: this round's time plus
        `delete.retention.ms`, in wall-clock ms."""
        return self._job.now_ms + self._job.delete_retention_ms

    def _without_records(self, header: RecordBatchHeader) -> bytearray | RecordBatchHeader | None:
        """Return an empty batch in place of this one; None if the batch need not stay, `header` if
        it is empty already."""
        if not self._must_stay(header):
            return None
        return empty_batch(header) if header.record_count else header

    def _must_stay(self, header: RecordBatchHeader) -> bool:
        """Return whether a batch without records stays because its header is still needed.

        The last batch of a producer has its last sequence; if all its records were deleted, its
        last marker has its epoch. The last batch of the round has the last offset.
        """
        if header.next_offset == self._job.first_uncleanable_offset:
            return True
        if not header.has_producer_id:
            return False
        last = self._last_records.get(header.producer_id)
        if last is None:
            return False
        offset, epoch = last
        if offset >= 0:
            return header.last_offset == offset
        return header.is_control and header.producer_epoch == epoch


def _marker(data: bytes, position: int, header: RecordBatchHeader) -> ControlRecordType | None:
    """Return the type of a control batch's record.

    None if the batch is empty, or the type is not known.
    """
    for record in iterate_records(data, position):
        return control_record_type(record.key)
    return None
