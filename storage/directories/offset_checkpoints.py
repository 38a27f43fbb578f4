"""Offset checkpoints of one log directory, read at start and written while the node runs.

Owns: the order of writes. One write of a file is under way at a time, off the loop. Offsets that
change meanwhile are written after it, so that jobs that finish out of order never restore old ones.

Never: trusts a damaged file. Its offsets count as unknown, which is always safe: a recovery point
of 0 scans more, a high watermark starts at the log start.
"""

from __future__ import annotations

from collections.abc import Callable

from ground.filesystem import Filesystem
from ground.ports import Blocking
from ground.topic_partition import TopicPartition
from storage.log.checkpoints import decode_offsets, encode_offsets

Offsets = dict[TopicPartition, int]


def read_offsets(filesystem: Filesystem, path: str) -> Offsets | None:
    """Return the offsets of a checkpoint; {} if the file is missing, None if it is damaged.

    Raises OSError.
    """
    if not filesystem.exists(path):
        return {}
    return decode_offsets(filesystem.read(path))


class OffsetCheckpoint:
    """A checkpoint file, and its write under way."""

    __slots__ = (
        "_next_data",
        "_blocking",
        "_failed",
        "_filesystem",
        "_is_writing",
        "_written",
        "path",
    )

    def __init__(
        self,
        filesystem: Filesystem,
        blocking: Blocking,
        path: str,
        failed: Callable[[OSError], object],
    ) -> None:
        """Write to the file at `path`. `failed(error)` is called if a write off the loop fails."""
        self._filesystem = filesystem
        self._blocking = blocking
        self._failed = failed
        self.path = path
        self._written: bytes | None = None
        self._next_data: bytes | None = None
        self._is_writing = False

    def write(self, offsets: Offsets) -> None:
        """Write the offsets soon, off the loop. Do nothing if the file has them already."""
        self.write_encoded(encode_offsets(offsets))

    def write_encoded(self, data: bytes) -> None:
        """Write the encoded offsets soon, as `write` does, for a caller that encodes in slices."""
        if self._is_writing:
            self._next_data = data
        elif data != self._written:
            self._submit(data)

    def _submit(self, data: bytes) -> None:
        """Replace the file by `data` off the loop, and then by data that came meanwhile. The
        failure callback gets an OSError; other errors are dropped."""
        self._is_writing = True
        filesystem, path = self._filesystem, self.path

        def done(_: object, error: Exception | None) -> None:
            """Write the data that came meanwhile. After an error drop it, and call `failed` with an
            OSError."""
            self._is_writing = False
            if error is not None:
                self._written = self._next_data = None  # a later write has newer offsets
                if isinstance(error, OSError):
                    self._failed(error)
                return
            self._written = data
            next_data, self._next_data = self._next_data, None
            if next_data is not None and next_data != data:
                self._submit(next_data)

        self._blocking.submit(lambda: filesystem.replace_atomically(path, data), done)

    def write_now(self, offsets: Offsets) -> None:
        """Write the offsets before this returns, unless the file has them already. Raises OSError.

        For a stop, when no write is under way.
        """
        data = encode_offsets(offsets)
        if data != self._written:
            self._filesystem.replace_atomically(self.path, data)
            self._written = data
