"""Offset checkpoints of one log directory, read at start and written while the node runs.

Owns: the order of writes. One write of a file is under way at a time, elsewhere; what changed
meanwhile is written after it, so that jobs that finish out of order never bring back old offsets.

Never: trusts a damaged file: its offsets count as unknown, which is always safe (a recovery point
of 0 scans more, a high watermark starts at the log start).
"""

from __future__ import annotations

from collections.abc import Callable

from ground.filesystem import Filesystem
from ground.ports import Blocking
from ground.topic_partition import TopicPartition
from storage.log.checkpoints import decode_offsets, encode_offsets

Offsets = dict[TopicPartition, int]


def read_offsets(filesystem: Filesystem, path: str) -> Offsets | None:
    """The offsets of a checkpoint, none when it is missing; None when it is damaged.

    Raises OSError.
    """
    if not filesystem.exists(path):
        return {}
    return decode_offsets(filesystem.read(path))


class OffsetCheckpoint:
    """One checkpoint file."""

    __slots__ = ("_again", "_blocking", "_failed", "_filesystem", "_busy", "_written", "path")

    def __init__(
        self,
        filesystem: Filesystem,
        blocking: Blocking,
        path: str,
        failed: Callable[[OSError], object],
    ) -> None:
        self._filesystem = filesystem
        self._blocking = blocking
        self._failed = failed
        self.path = path
        self._written: bytes | None = None
        self._again: bytes | None = None
        self._busy = False

    def write(self, offsets: Offsets) -> None:
        """Write soon; nothing to do where the file says the same already."""
        self.write_encoded(encode_offsets(offsets))

    def write_encoded(self, data: bytes) -> None:
        """The same, for who has encoded the offsets in slices."""
        if self._busy:
            self._again = data
        elif data != self._written:
            self._submit(data)

    def _submit(self, data: bytes) -> None:
        self._busy = True
        filesystem, path = self._filesystem, self.path

        def done(_: object, error: Exception | None) -> None:
            self._busy = False
            if error is not None:
                self._written = None
                if isinstance(error, OSError):
                    self._failed(error)
                return
            self._written = data
            again, self._again = self._again, None
            if again is not None and again != data:
                self._submit(again)

        self._blocking.submit(lambda: filesystem.replace_atomically(path, data), done)

    def write_now(self, offsets: Offsets) -> None:
        """Write before this returns: at a stop, when no job is under way. Raises OSError."""
        data = encode_offsets(offsets)
        if data != self._written:
            self._filesystem.replace_atomically(self.path, data)
            self._written = data
