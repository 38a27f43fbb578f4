"""A slice of a segment file: the records of a Fetch response, which the network sends by sendfile.

Owns nothing. A slice refers to an open file, whose descriptor stays open as long as a slice exists.
Never copies bytes, except in `read` and to look at headers. Kafka's class: `FileRecords.slice`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ground.filesystem import File
from protocol.record_batch import RecordBatchHeader
from storage.log.batch_scan import LOOKUP_CHUNK_BYTES, iterate_headers


class FileRecords:
    """The bytes [position, position + size) of a file. Immutable."""

    __slots__ = ("_file", "position", "size")

    def __init__(self, file: File, position: int, size: int) -> None:
        self._file = file
        self.position = position
        self.size = size

    def read(self) -> bytes:
        """Return the bytes, fewer if the log was truncated meanwhile. Raises OSError."""
        return self._file.pread(self.size, self.position)

    def part(self, start: int, size: int) -> FileRecords:
        """Return the `size` bytes from byte `start` of this slice on, as a slice."""
        return FileRecords(self._file, self.position + start, size)

    def batches(self) -> Iterator[tuple[int, RecordBatchHeader]]:
        """Yield the place in this slice and the header of each batch that is whole in the slice.

        Raises CorruptBatch, OSError.
        """
        end = self.position + self.size
        for position, header in iterate_headers(self._file, self.position, end, LOOKUP_CHUNK_BYTES):
            if position + header.size_in_bytes > end:
                return
            yield position - self.position, header

    def lies_in(self, file: File) -> bool:
        """Return whether these are bytes of `file`."""
        return self._file is file

    def fileno(self) -> int:
        """Return the descriptor to send from. Raises OSError for a file in memory."""
        return self._file.fileno()

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"FileRecords({self._file.path!r}, {self.position}, {self.size})"
