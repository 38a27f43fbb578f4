"""The reading half of a segment: from an offset to a slice of its file.

Owns no state: `storage.log.log_segment.LogSegment` has it. Never writes, and never decodes records:
the index and the headers lead to a batch. Follows the reading half of Kafka's `LogSegment`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ground.filesystem import File
from log_format.segment_names import INDEX_SUFFIX, segment_path
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from storage.log.batch_scan import LOOKUP_CHUNK_BYTES, iterate_headers
from storage.log.closed_files import ClosedFile
from storage.log.fetch_data import FIRST_BATCH_INCOMPLETE, NO_RECORDS, FetchDataInfo
from storage.log.file_records import FileRecords
from storage.log.indexes import OffsetIndex
from storage.log.recent_batches import RecentBatches


class SegmentReads:
    """The reads of a segment."""

    __slots__ = ()

    _recent: RecentBatches
    base_offset: int
    directory: str
    file: File
    offset_index: OffsetIndex

    def locate(self, offset: int) -> tuple[int, int] | None:
        """Return (position, size) of the first batch that ends at or after `offset`.

        None if the segment ends before. Raises CorruptBatch if the headers on the way are damaged.
        """
        recent = self._recent
        if offset >= recent.from_offset:
            return recent.locate(offset, self.file.size)
        index = segment_path(self.directory, self.base_offset, INDEX_SUFFIX)
        for position, header in self._headers_towards(
            self.offset_index.lookup(index, offset), offset
        ):
            if header.last_offset >= offset:
                return position, header.size_in_bytes
        return None

    def _headers_towards(self, start: int, offset: int) -> Iterator[tuple[int, RecordBatchHeader]]:
        """Yield (position, header) of the batches from position `start` on.

        If no batch begins there, or one beyond `offset`, the index is damaged and records would be
        skipped. The batches from the segment's beginning on are yielded then.
        """
        headers = iterate_headers(self.file, start, self.file.size, LOOKUP_CHUNK_BYTES)
        if start:
            try:
                first = next(headers, None)
            except CorruptBatch:
                first = None
            if first is not None and first[1].base_offset <= offset:
                yield first
            else:
                headers = iterate_headers(self.file, 0, self.file.size, LOOKUP_CHUNK_BYTES)
        yield from headers

    def read(
        self, offset: int, max_bytes: int, upper_offset: int | None, min_one_message: bool
    ) -> FetchDataInfo | None:
        """Return a slice from the batch that holds `offset` on, None if this segment ends before.

        The slice has only batches wholly below `upper_offset`; None sets no bound. If the first
        batch is larger than `max_bytes`, it is returned whole with `min_one_message`; without, no
        bytes are returned, because a reader cannot use a part of a batch.
        """
        location = self.locate(offset)
        if location is None:
            return None
        position, first_size = location
        end = self.file.size
        if upper_offset is not None:
            bound = self.locate(upper_offset)
            if bound is not None:
                end = bound[0]
        size = end - position
        if max_bytes < size:
            if max_bytes < first_size and not min_one_message:
                return FIRST_BATCH_INCOMPLETE if max_bytes > 0 else NO_RECORDS
            size = max(max_bytes, first_size)
        if size <= 0:
            return NO_RECORDS
        file = self.file
        if type(file) is ClosedFile:  # the slice keeps the file open until it is sent
            file = file.opened()
        return FetchDataInfo(FileRecords(file, position, size), size)

    def offset_beyond(self, position: int) -> int | None:
        """Return an offset above those of all batches before `position`, by the sparse index.

        None if the index has no entry from `position` on.
        """
        index = segment_path(self.directory, self.base_offset, INDEX_SUFFIX)
        return self.offset_index.ceiling(index, position)

    def headers_from(self, offset: int) -> Iterator[tuple[int, RecordBatchHeader]]:
        """Return (position, header) of each batch that ends at or after `offset`."""
        location = self.locate(offset)
        if location is None:
            return iter(())
        return iterate_headers(self.file, location[0], self.file.size)

    def header_at(self, position: int) -> RecordBatchHeader:
        """Return the header of the batch that begins at `position`. Raises CorruptBatch."""
        scan = iterate_headers(self.file, position, position + 1, LOOKUP_CHUNK_BYTES)
        return next(scan)[1]
