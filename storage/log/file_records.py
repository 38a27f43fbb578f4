"""A slice of a segment file: what Fetch answers with, and the network sends by sendfile.

Owns nothing: it refers to an open file, whose descriptor lives as long as a slice does.
Never copies bytes, unless `read` is asked to. Kafka's class: `FileRecords.slice`.
"""

from __future__ import annotations

from ground.filesystem import File


class FileRecords:
    """Bytes [position, position + size) of a file. Immutable."""

    __slots__ = ("_file", "position", "size")

    def __init__(self, file: File, position: int, size: int) -> None:
        self._file = file
        self.position = position
        self.size = size

    def read(self) -> bytes:
        """The bytes; `OSError` as the disk gives it. Shorter if the log was cut meanwhile."""
        return self._file.pread(self.size, self.position)

    def lies_in(self, file: File) -> bool:
        """Whether these are bytes of `file`."""
        return self._file is file

    def fileno(self) -> int:
        """The descriptor to send from; `OSError` where there is none (a file in memory)."""
        return self._file.fileno()

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"FileRecords({self._file.path!r}, {self.position}, {self.size})"
