"""A slice of a segment file: the records of a Fetch response, which the network sends by sendfile.

Owns nothing. A slice refers to an open file, whose descriptor stays open as long as a slice exists.
Never copies bytes, except in `read`. Kafka's class: `FileRecords.slice`.
"""

from __future__ import annotations

from ground.filesystem import File


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
