"""The new segment that compaction writes: its log and its indexes, in files that end `.cleaned`.

Owns: those files until they are durable. Never: touches a file of the log itself. A `.cleaned` file
has no effect until `storage.log.segment_replacement` renames it; a start removes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ground.filesystem import BytesLike, File, Filesystem
from log_format.segment_names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    offset_name,
)
from log_format.transaction_index import AbortedTxn, encode_transactions
from protocol.record_batch import RecordBatchHeader
from storage.log.cleaned_group import CleanedGroup
from storage.log.indexes import OffsetIndex, TimeIndex

_SYNC_BYTES = 8 * 1024 * 1024
"""The number of written bytes after which the file is synced. One sync at the end of a segment
would keep the disk busy for a long time, and all other writes would wait."""


class CleanedSegment:
    """A new segment while it is written. Its methods raise OSError."""

    def __init__(
        self,
        filesystem: Filesystem,
        directory: str,
        base_offset: int,
        index_bytes_max: int,
        index_interval_bytes: int,
        buffer_bytes: int,
    ) -> None:
        """Create the segment's `.log.cleaned` file in `directory`, in place of one that exists.

        `buffer_bytes` is the number of bytes that are collected before they are written to the
        file.
        """
        self._filesystem = filesystem
        self._path = f"{directory}/{offset_name(base_offset)}"
        self._interval = index_interval_bytes
        self._buffer_bytes = buffer_bytes
        self._offsets = OffsetIndex(filesystem, base_offset, index_bytes_max)
        self._times = TimeIndex(filesystem, base_offset, index_bytes_max)
        self._parts: list[BytesLike] = []
        self._waiting = 0
        self._unsynced = 0
        self._since_index = 0
        self._max_timestamp, self._offset_of_max_timestamp = -1, base_offset
        self.size = 0
        self._file = self._create(LOG_SUFFIX)

    def _create(self, suffix: str) -> File:
        """Create the new segment's file with `suffix`. First remove that of an earlier cleaning,
        which may still write to it."""
        path = self._path + suffix + CLEANED_SUFFIX
        self._filesystem.remove(path)
        return self._filesystem.open(path, create=True)

    def note(self, header: RecordBatchHeader, max_timestamp: int, size: int) -> None:
        """Count the next batch, of `size` bytes, which `write` gets later. Add index entries for it
        if more than the index interval precedes it."""
        last_offset = header.last_offset
        if max_timestamp > self._max_timestamp:
            self._max_timestamp, self._offset_of_max_timestamp = max_timestamp, last_offset
        if self._since_index > self._interval:
            self._offsets.append(last_offset, self.size)
            self._times.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
            self._since_index = 0
        self._since_index += size
        self.size += size

    def write(self, data: BytesLike) -> int:
        """Write batches that were noted, by way of a buffer.

        Return the number of bytes that this call wrote to the file.
        """
        self._parts.append(data)
        self._waiting += len(data)
        return self._write_out() if self._waiting >= self._buffer_bytes else 0

    def _write_out(self) -> int:
        """Append the waiting parts to the file, which is synced after each `_SYNC_BYTES`. Return
        the bytes written, 0 if no part waits."""
        written, self._waiting = self._waiting, 0
        if written:
            self._file.append_parts(self._parts)
            self._parts.clear()
            self._unsynced += written
            if self._unsynced >= _SYNC_BYTES:
                self._file.sync()
                self._unsynced = 0
        return written

    def finish(self, sources: tuple[int, ...], aborted: Iterable[AbortedTxn]) -> CleanedGroup:
        """Write the buffered batches and the indexes, fsync and close all files, and return the
        group. The files' names still need a sync of the folder.

        `sources` are the base offsets of the segments that this one replaces. `aborted` are the
        entries of its transaction index; without any there is no such file.
        """
        self._write_out()
        self._file.sync()
        self._file.close()
        self._times.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
        contents = {
            INDEX_SUFFIX: self._offsets.encode(),
            TIME_INDEX_SUFFIX: self._times.encode(),
        }
        transactions = encode_transactions(aborted)
        if transactions:
            contents[TXN_INDEX_SUFFIX] = transactions
        for suffix, content in contents.items():
            file = self._create(suffix)
            file.append(content)
            file.sync()
            file.close()
        return CleanedGroup(
            sources,
            self.size,
            self._max_timestamp,
            self._offset_of_max_timestamp,
            (*contents, LOG_SUFFIX),
        )
