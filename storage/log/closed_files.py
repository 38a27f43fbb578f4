"""The files of closed segments: opened when they are needed, as many at once as descriptors allow.

A log keeps the file of its active segment open. Its closed segments, of which there may be
thousands, share the descriptors that the node has left. Segments that are read again keep their
files open; the least recently used files are closed. A slice that is being sent to a client keeps
its descriptor until it is sent, and a job that uses an open file until it ends.

Owns which of these files are open. Never: knows a segment, or the number of descriptors, which
`room` returns. An instance serves one thread (a log that is being loaded has its own).

Kafka keeps all of them open, and advises `ulimit -n` 100,000.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Protocol
from weakref import ReferenceType, ref

from ground.filesystem import BytesLike, File, Filesystem

UNLIMITED = 2**31 - 1


class Holder(Protocol):
    """An object that keeps the file of a closed segment open."""

    def release(self) -> None:
        """Close the file, until it is needed again, and call `ClosedFiles.forget`."""


class ClosedFiles:
    """The open files of closed segments, and their limit."""

    def __init__(self, room: Callable[[], int] = lambda: UNLIMITED) -> None:
        self.room = room
        """A function that returns how many of the files may be open now."""
        self._holders: dict[Holder, None] = {}
        """The holders of open files, the least recently used first."""
        self._open: dict[ReferenceType[File], None] = {}

    def __len__(self) -> int:
        """Return the number of descriptors in use, with those of slices that are being sent."""
        return len(self._open)

    @property
    def has_ample_room(self) -> bool:
        """Whether less than half of the room is used, so that a job may keep a file for a while."""
        return 2 * len(self._open) < self.room()

    def open(self, holder: Holder, filesystem: Filesystem, path: str) -> File:
        """Open a file for `holder`; close those of other holders to make room.

        Raises OSError, with EMFILE if slices that are being sent use all the room.
        """
        room = self.room()
        self.close_excess(room - 1)
        if len(self._open) >= room:
            raise OSError(errno.EMFILE, "no descriptor is left for old segments", path)
        file = filesystem.open(path)
        self.take(holder, file)
        return file

    def take(self, holder: Holder, file: File) -> None:
        """Count the open file of a segment that was just closed; `holder` keeps it."""
        self._holders[holder] = None
        self._open[ref(file, self._on_file_closed)] = None
        self.close_excess(self.room())

    def used(self, holder: Holder) -> None:
        """Make the open file of `holder` the last to be closed, because it was used."""
        self._holders.pop(holder, None)
        self._holders[holder] = None

    def forget(self, holder: Holder) -> None:
        """Remove `holder`, which keeps no file open any more."""
        self._holders.pop(holder, None)

    def leave(self, file: File) -> None:
        """Stop counting `file`: it stays open, but no longer for a closed segment."""
        self._open.pop(ref(file), None)

    def close_excess(self, at_most: int) -> None:
        """Close the least recently used files until `at_most` are open.

        Those that slices still use stay open.
        """
        while len(self._open) > at_most and self._holders:
            holder = next(iter(self._holders))
            del self._holders[holder]
            holder.release()

    def _on_file_closed(self, reference: ReferenceType[File]) -> None:
        """Stop counting a file that was freed, and so closed."""
        self._open.pop(reference, None)


class ClosedFile:
    """A `File` of a closed segment. It opens when it is used, and may be closed between two
    uses."""

    __slots__ = ("_file", "_files", "_filesystem", "_last", "path", "size")

    def __init__(
        self, files: ClosedFiles, filesystem: Filesystem, path: str, size: int, file: File | None
    ) -> None:
        """Use `file`, if it is not None, as the open file at `path`; else open it later."""
        self._files = files
        self._filesystem = filesystem
        self._file: File | None = None
        self._last: ReferenceType[File] | None = None
        self.path = path
        self.size = size
        if file is not None:
            self._hold(file)
            files.take(self, file)

    def set_path(self, path: str) -> None:
        """Open the file at `path` from now on, because it was renamed."""
        self.path = path

    def opened(self) -> File:
        """Return the open file, for a caller that keeps it. Raises OSError."""
        file = self._file
        if file is not None:
            self._files.used(self)
            return file
        # The file was closed here, but a slice of it is still being sent: share its descriptor.
        file = self._last() if self._last is not None else None
        if file is not None:
            self._file = file
            self._files.used(self)
            return file
        file = self._files.open(self, self._filesystem, self.path)
        self._hold(file)
        return file

    def _hold(self, file: File) -> None:
        """Set the open file, and a weak reference to it by which slices share its descriptor after
        it is released here."""
        self._file = file
        self._last = ref(file)

    @property
    def current(self) -> File | None:
        """The open file, None if it is not open."""
        return self._file

    def detach(self) -> File:
        """Return the open file, which only the caller uses from now on. Raises OSError."""
        file = self.opened()
        self.release()
        self._files.leave(file)
        return file

    def release(self) -> None:
        """Drop the file. Its descriptor is closed as soon as no slice uses it."""
        self._file = None
        self._files.forget(self)

    def pread(self, size: int, offset: int) -> bytes:
        return self.opened().pread(size, offset)

    def append(self, data: BytesLike) -> None:
        file = self.opened()
        file.append(data)
        self.size = file.size

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        file = self.opened()
        file.append_parts(parts)
        self.size = file.size

    def write_at(self, data: BytesLike, offset: int) -> None:
        file = self.opened()
        file.write_at(data, offset)
        self.size = file.size

    def truncate(self, size: int) -> None:
        self.opened().truncate(size)
        self.size = size

    def sync(self) -> None:
        self.opened().sync()

    def write_back(self, offset: int, size: int) -> None:
        self.opened().write_back(offset, size)

    def give_back_room(self) -> None:
        self.opened().give_back_room()

    def close(self) -> None:
        """Drop the file, as `release` does. It opens again when it is used."""
        self.release()

    def fileno(self) -> int:
        return self.opened().fileno()
