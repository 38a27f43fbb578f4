"""The reading half of a segment: from an offset to a slice of its file.

Owns no state: it is `storage.log.log_segment.LogSegment`'s. Never writes, and never looks at
records: batches are found by the index and their headers. Follows the reading half of Kafka's
`LogSegment`.
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
    """See the module."""

    __slots__ = ()

    _recent: RecentBatches
    base_offset: int
    directory: str
    file: File
    offset_index: OffsetIndex

    def locate(self, offset: int) -> tuple[int, int] | None:
        """(position, size) of the first batch that ends at or after `offset`; None past the end.

        Raises CorruptBatch where the way there leads over damage.
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
        """From `start` on, if a batch begins there that does not lie beyond `offset`. If not, the
        index is damaged and records would be passed over: from the segment's beginning then."""
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
        """A slice from the batch that holds `offset`, or None when this segment ends before it.

        `upper_offset` bounds the slice to batches wholly below it; None where the whole segment is
        below the bound. With `min_one_message` the first batch comes whole, however large; without
        it nothing comes where that batch does not fit: a reader could not make progress with a
        piece of it.
        """
        found = self.locate(offset)
        if found is None:
            return None
        position, first_size = found
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
        if type(file) is ClosedFile:  # open until the slice is sent
            file = file.opened()
        return FetchDataInfo(FileRecords(file, position, size), size)

    def offset_beyond(self, position: int) -> int | None:
        """An offset that no batch before `position` reaches, by the index; None where it ends."""
        index = segment_path(self.directory, self.base_offset, INDEX_SUFFIX)
        return self.offset_index.ceiling(index, position)

    def headers_from(self, offset: int) -> Iterator[tuple[int, RecordBatchHeader]]:
        """(position, header) of each batch that ends at or after `offset`."""
        found = self.locate(offset)
        if found is None:
            return iter(())
        return iterate_headers(self.file, found[0], self.file.size)

    def header_at(self, position: int) -> RecordBatchHeader:
        """The batch that begins at `position`. Raises CorruptBatch."""
        scan = iterate_headers(self.file, position, position + 1, LOOKUP_CHUNK_BYTES)
        return next(scan)[1]
