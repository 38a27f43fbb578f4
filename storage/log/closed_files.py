"""Files of closed segments: opened as they are needed, no more at once than there is room for.

A log keeps the file of its active segment open. Its closed segments, of which there may be
thousands, share what descriptors the node has left: who is read again keeps its files, and the
least recently used give theirs up. A slice on its way to a client keeps its descriptor until it is
sent, whatever happens here; so does a job that was given an open file.

Owns which of these files are open. Never: knows a segment, or how many descriptors there are: that
is `room`. One of these serves one thread (a log that is being loaded has its own).

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
    """Whoever keeps one of these files open."""

    def release(self) -> None:
        """Let go of the file; it is opened again when it is needed. Calls `ClosedFiles.forget`."""


class ClosedFiles:
    """See the module."""

    def __init__(self, room: Callable[[], int] = lambda: UNLIMITED) -> None:
        self.room = room
        """How many may be open now."""
        self._holders: dict[Holder, None] = {}
        """The least recently used first."""
        self._open: dict[ReferenceType[File], None] = {}

    def __len__(self) -> int:
        """Descriptors in use, those of slices that are being sent among them."""
        return len(self._open)

    @property
    def is_roomy(self) -> bool:
        """Whether less than half of the room is used: for who would keep a file for a while."""
        return 2 * len(self._open) < self.room()

    def open(self, holder: Holder, filesystem: Filesystem, path: str) -> File:
        """Open a file for `holder`. Raises OSError; EMFILE where all that there is room for are
        being sent."""
        room = self.room()
        self.give_up(room - 1)
        if len(self._open) >= room:
            raise OSError(errno.EMFILE, "no descriptor is left for old segments", path)
        file = filesystem.open(path)
        self.take(holder, file)
        return file

    def take(self, holder: Holder, file: File) -> None:
        """A file that is open already belongs to a closed segment from now on."""
        self._holders[holder] = None
        self._open[ref(file, self._gone)] = None
        self.give_up(self.room())

    def used(self, holder: Holder) -> None:
        """`holder`, who has an open file, was read from."""
        self._holders.pop(holder, None)
        self._holders[holder] = None

    def forget(self, holder: Holder) -> None:
        """`holder` keeps no file open any more."""
        self._holders.pop(holder, None)

    def leave(self, file: File) -> None:
        """`file` is no closed segment's any more, and open for somebody else."""
        self._open.pop(ref(file), None)

    def give_up(self, at_most: int) -> None:
        """Close the least recently used until `at_most` are open, as far as they are only kept."""
        while len(self._open) > at_most and self._holders:
            holder = next(iter(self._holders))
            del self._holders[holder]
            holder.release()

    def _gone(self, reference: ReferenceType[File]) -> None:
        self._open.pop(reference, None)


class ClosedFile:
    """A `File` of a closed segment: it opens itself, and may be closed at any time in between."""

    __slots__ = ("_file", "_files", "_filesystem", "_last", "path", "size")

    def __init__(
        self, files: ClosedFiles, filesystem: Filesystem, path: str, size: int, file: File | None
    ) -> None:
        """`file` is open already; None where it is not."""
        self._files = files
        self._filesystem = filesystem
        self._file: File | None = None
        self._last: ReferenceType[File] | None = None
        self.path = path
        self.size = size
        if file is not None:
            self._hold(file)
            files.take(self, file)

    def moved(self, path: str) -> None:
        """It has another name, by which it is opened from now on."""
        self.path = path

    def opened(self) -> File:
        """The open file, for who keeps it beyond this call. Raises OSError."""
        file = self._file
        if file is not None:
            self._files.used(self)
            return file
        # Given up here, and still being sent to somebody: one descriptor is enough for both.
        file = self._last() if self._last is not None else None
        if file is not None:
            self._file = file
            self._files.used(self)
            return file
        file = self._files.open(self, self._filesystem, self.path)
        self._hold(file)
        return file

    def _hold(self, file: File) -> None:
        self._file = file
        self._last = ref(file)

    @property
    def current(self) -> File | None:
        """The open file, where it is open."""
        return self._file

    def detach(self) -> File:
        """The open file: from now on it is the caller's alone. Raises OSError."""
        file = self.opened()
        self.release()
        self._files.leave(file)
        return file

    def release(self) -> None:
        """Let go of the descriptor, which lives as long as a slice of it does."""
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
        self.release()

    def fileno(self) -> int:
        return self.opened().fileno()
