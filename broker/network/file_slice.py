"""Slices of log files to send: how far each has been sent, and whether its next bytes are in the
page cache.

Owns: probing the page cache, and reading data into it. Never: the socket, or the order of the sends
(`broker.network.file_send`).

Reading a file blocks when its pages are not in the page cache, and the loop serves all connections.
So the next bytes are probed first, by a read that does not wait, and a job of the I/O pool reads
cold data into the cache. Data on file systems without such a read counts as cold. Where no file
system has it, as on macOS, only small slices are read on the loop.
"""

from __future__ import annotations

import errno
from typing import Protocol

from ground import platform_calls

SMALL_SLICE_BYTES = 32 * 1024
"""The largest slice for which reading and sending is at least as quick as sendfile."""
CHUNK_BYTES = 256 * 1024
"""The bytes that a job reads ahead at once."""
PROBE_BYTES = 1024 * 1024
"""The bytes that a probe of the first and last page covers, and that one sendfile may take."""

IN_ONE_CALL, BY_SENDFILE, ENCRYPTED = "in one call", "by sendfile", "encrypted"

_CANNOT_TELL = (errno.EAGAIN, errno.EOPNOTSUPP)
_PROBE = [bytearray(1)]
_SINK = bytearray(CHUNK_BYTES)
"""The buffer for bytes that are read only to bring them into the page cache. Its contents are never
used, so threads may share it."""


def way_of(size: int, is_plain: bool) -> str:
    """Return how `broker.network.file_send` sends a slice of `size` bytes: read and sent in one
    call with the bytes before it, by sendfile, or read and encrypted."""
    if not is_plain:
        return ENCRYPTED
    return IN_ONE_CALL if size <= SMALL_SLICE_BYTES else BY_SENDFILE


class FileSlice(Protocol):
    """An immutable run of a file's bytes (`storage.log.file_records.FileRecords`).

    Callers call `fileno()` again before each use, on the loop's thread. It raises ValueError or
    OSError once the file is closed. Files are closed on the same thread, so the number never
    belongs to another file.
    """

    @property
    def size(self) -> int:
        """The slice's length in bytes."""

    @property
    def position(self) -> int:
        """The slice's start in the file, in bytes."""

    def fileno(self) -> int:
        """Return the file's descriptor."""


class SliceEnded(OSError):
    """A file shorter than its slice: the response cannot be completed any more."""


class Cursor:
    """The position up to which a slice has been sent."""

    __slots__ = ("position", "remaining", "slice", "warm_until")

    def __init__(self, file_slice: FileSlice, position: int, remaining: int) -> None:
        self.slice = file_slice
        self.position = position
        self.remaining = remaining
        # Up to here, a recent probe or job says that the file is in the page cache.
        self.warm_until = 0

    def sent(self, count: int) -> None:
        """Advance by `count` bytes that were sent."""
        self.position += count
        self.remaining -= count

    def warmed(self, until: int) -> None:
        """Remember that the bytes before `until` are in the page cache; 0 makes it unknown
        again."""
        self.warm_until = until

    def is_warm(self) -> bool:
        """Return whether the next bytes are in the page cache, judged by their first and last page.

        Raises SliceEnded if the file is too short, ValueError if it is closed, and OSError.
        """
        if self.warm_until > self.position:
            return True
        size = min(self.remaining, PROBE_BYTES)
        if not is_cached(self.slice.fileno(), self.position, size):
            return False
        self.warm_until = self.position + size
        return True

    def read_whole(self) -> memoryview | None:
        """Return the whole rest of the slice if it is in the page cache, else None. Raises what
        `is_warm` raises."""
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
    """Return whether the first and the last of `size` bytes from `position` are in the page cache.
    Return False if the system cannot tell.

    Raises SliceEnded if the file ends before them, and OSError.
    """
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
    """Read `start` to `end` into the page cache, or less if the file ends before. A blocking
    job."""
    view = memoryview(_SINK)
    while start < end:
        count = platform_calls.read_into(fd, [view[: end - start]], start, 0)
        if count == 0:
            # The file ends here; sending the slice then raises SliceEnded.
            return
        start += count
