"""Slices of log files on their way out: what they are, how far one has been sent, and whether what
comes next of it is in the page cache.

Owns: the look into the page cache, and bringing data into it. Never: the socket, or the order of
what is sent (`broker.network.file_send`).

Reading a file blocks when its pages are not in the page cache, and the loop serves everybody. So
what comes next is probed first, by a read that does not wait, and cold data is brought in by a job
of the I/O pool. File systems that cannot tell count as cold. Where no file system can, as on macOS,
only small slices are read at once.
"""

from __future__ import annotations

import errno
from typing import Protocol

from ground import platform_calls

SMALL_SLICE_BYTES = 32 * 1024
"""Up to here, reading and sending beats sendfile, or is level with it."""
CHUNK_BYTES = 256 * 1024
"""What is read ahead at once."""
PROBE_BYTES = 1024 * 1024
"""What one look at its first and last page speaks for, and what one sendfile may take."""

IN_ONE_CALL, BY_SENDFILE, ENCRYPTED = "in one call", "by sendfile", "encrypted"

_CANNOT_TELL = (errno.EAGAIN, errno.EOPNOTSUPP)
_PROBE = [bytearray(1)]
_SINK = bytearray(CHUNK_BYTES)
"""Where read-ahead puts bytes that only had to come into the page cache. Nobody reads it, so
threads may share it."""


def way_of(size: int, is_plain: bool) -> str:
    """How a slice of so many bytes leaves (`broker.network.file_send`): read and sent in one call
    with what stands before it, by sendfile, or read and given to TLS."""
    if not is_plain:
        return ENCRYPTED
    return IN_ONE_CALL if size <= SMALL_SLICE_BYTES else BY_SENDFILE


class FileSlice(Protocol):
    """An immutable run of a file's bytes (`storage.log.file_records.FileRecords`).

    `fileno()` is asked for at each use on the loop's thread, and raises ValueError or OSError once
    the file is closed; files are closed on that thread too, so a number is never a reused one.
    """

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def position(self) -> int:
        """Where it starts in the file."""

    def fileno(self) -> int:
        """The file's descriptor."""


class SliceEnded(OSError):
    """The file ends before its slice does: the response cannot be completed any more."""


class Cursor:
    """How far a slice has been sent."""

    __slots__ = ("position", "remaining", "slice", "warm_until")

    def __init__(self, file_slice: FileSlice, position: int, remaining: int) -> None:
        self.slice = file_slice
        self.position = position
        self.remaining = remaining
        # Up to here a probe or a job has found it in the page cache, a moment ago.
        self.warm_until = 0

    def sent(self, count: int) -> None:
        """So many bytes more have left."""
        self.position += count
        self.remaining -= count

    def warmed(self, until: int) -> None:
        """What comes before `until` is in the page cache; 0: nobody knows any more."""
        self.warm_until = until

    def is_warm(self) -> bool:
        """Whether what comes next is in the page cache, going by its first and last pages.

        Raises SliceEnded, and what `fileno` or the disk gives.
        """
        if self.warm_until > self.position:
            return True
        size = min(self.remaining, PROBE_BYTES)
        if not is_cached(self.slice.fileno(), self.position, size):
            return False
        self.warm_until = self.position + size
        return True

    def read_whole(self) -> memoryview | None:
        """All that remains, if it is in the page cache; None if not. Raises as `is_warm`."""
        size = self.remaining
        flags = 0
        if self.warm_until < self.position + size:
            flags = platform_calls.NO_WAIT
            if not flags and size > SMALL_SLICE_BYTES:
                return None
        buffer = bytearray(size)
        try:
            count = platform_calls.read_into(self.slice.fileno(), [buffer], self.position, flags)
        except OSError as error:
            if error.errno in _CANNOT_TELL:
                return None
            raise
        if count < size:
            if flags and count:
                return None  # the rest is cold
            raise SliceEnded(errno.EIO, f"file ends at {self.position + count}")
        return memoryview(buffer)


def is_cached(fd: int, position: int, size: int) -> bool:
    """Whether `size` bytes from `position` seem to be in the page cache: the first and the last."""
    read, no_wait = platform_calls.read_into, platform_calls.NO_WAIT
    if not no_wait:
        return False
    try:
        if read(fd, _PROBE, position, no_wait) == 0:
            raise SliceEnded(errno.EIO, f"file ends before {position}")
        if read(fd, _PROBE, position + size - 1, no_wait) == 0:
            raise SliceEnded(errno.EIO, f"file ends before {position + size - 1}")
    except OSError as error:
        if error.errno in _CANNOT_TELL:
            return False
        raise
    return True


def touch(fd: int, start: int, end: int) -> None:
    """A blocking job: read `start` to `end` for the sake of the page cache alone."""
    view = memoryview(_SINK)
    while start < end:
        count = platform_calls.read_into(fd, [view[: end - start]], start, 0)
        if count == 0:
            # The file ends here; whoever sends the slice notices and says so.
            return
        start += count
