"""File calls that not every system has, each with its replacement on other systems.

Callers get the same result on all systems; a replacement may be slower.

| call | where it is | elsewhere |
| --- | --- | --- |
| `fdatasync` | Linux | on macOS `fcntl(F_FULLFSYNC)`, else `fsync` |
| `pwritev` | Linux, macOS 11 | the parts are joined |
| `preadv` | Linux, macOS 11 | read, and copied |
| `RWF_NOWAIT` | Linux | `NO_WAIT` is 0: the contents of the page cache are unknown |
| `F_OFD_SETLK` | Linux | `lockf`, which ends when the process closes any descriptor of the file |
| `posix_fadvise` | Linux | files are not read ahead |
| `memfd_create` | Linux | a temporary file that only the owner can read |
| `sync_file_range`, `fallocate` | Linux | None |
| `syncfs` | Linux 5.17 | None |

On macOS `fsync` leaves the bytes in the drive's own cache, and so does Python's `os.fsync`, which
makes only that call (up to 3.14). `F_FULLFSYNC` makes the drive write them. Java's
`FileChannel.force`, by which Kafka flushes, uses it there too.

It owns nothing. It never opens a file that it is not asked to open, and never hides an `OSError`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

_WRITE_AND_WAIT = 2 | 4  # SYNC_FILE_RANGE_WRITE, SYNC_FILE_RANGE_WAIT_AFTER
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_FULL_FSYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
_NOT_THIS_DRIVE = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)
"""The errors of `F_FULLFSYNC` on a file system that does not support it, such as a network's."""

_OFD_LOCK: int | None = getattr(fcntl, "F_OFD_SETLK", None)
_WHOLE_FILE = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""A `struct flock` of Linux: all bytes of the file, of no process."""

_Bytes = bytes | bytearray | memoryview

NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
"""The flag of `read_into` that reads only from the page cache; 0 if the system does not have it."""


def _sync_through(fd: int) -> None:
    """Make the drive itself write all data of a file or folder; use fsync on a file system that
    does not support this. Raises OSError."""
    assert _FULL_FSYNC is not None
    try:
        fcntl.fcntl(fd, _FULL_FSYNC)
    except OSError as error:
        if error.errno not in _NOT_THIS_DRIVE:
            raise
        os.fsync(fd)


def _read_into(fd: int, buffers: Sequence[bytearray | memoryview], at: int, _flags: int) -> int:
    """Read into the only buffer, in place of `preadv`, and return the number of bytes read."""
    (buffer,) = buffers
    data = os.pread(fd, len(buffer), at)
    buffer[: len(data)] = data
    return len(data)


def _write_parts(fd: int, parts: Sequence[_Bytes], at: int) -> int:
    """Write the joined parts, in place of `pwritev`, and return the number of bytes written."""
    return os.pwrite(fd, b"".join(parts), at)


sync: Callable[[int], None] = os.fsync if _FULL_FSYNC is None else _sync_through
"""`(fd)`: returns when a file with its metadata, or a folder, is on stable storage."""
sync_data: Callable[[int], None] = (
    getattr(os, "fdatasync", os.fsync) if _FULL_FSYNC is None else _sync_through
)
"""`(fd)`: returns when a file's bytes and size are on stable storage."""
read_into: Callable[[int, Sequence[bytearray | memoryview], int, int], int] = getattr(
    os, "preadv", _read_into
)
"""`(fd, [buffer], position, flags)`: returns how many bytes of the file were read to the buffer.
`flags` is NO_WAIT or 0. Raises BlockingIOError if no byte can be read without waiting."""
write_parts: Callable[[int, Sequence[_Bytes], int], int] = getattr(os, "pwritev", _write_parts)
"""`(fd, parts, position)`: returns how many bytes were written."""


def lock_file(fd: int) -> None:
    """Lock a whole file against other processes while `fd` is open.

    Takes a lock by `flock`, which Ottla's processes respect, and one by `fcntl`, which Java's
    `FileLock` and so Apache Kafka respects: on Linux, the two kinds do not exclude each other.
    Raises BlockingIOError or PermissionError if another process has either lock, OSError.
    """
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if _OFD_LOCK is not None:
        try:
            fcntl.fcntl(fd, _OFD_LOCK, _WHOLE_FILE)
            return
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def ask_for_file(fd: int) -> None:
    """Let the system read a whole file ahead into the page cache. Do nothing if it cannot. Raises
    OSError."""
    advise = getattr(os, "posix_fadvise", None)
    if advise is not None:
        advise(fd, 0, 0, getattr(os, "POSIX_FADV_WILLNEED"))  # noqa: B009 - not on every system


@contextmanager
def readable_path(data: bytes) -> Iterator[str]:
    """Yield a path at which `data` can be read until the block ends, for a library that takes only
    files.

    The path leads to memory if there is `memfd_create`, otherwise to a file that only the owner of
    the process can read. Raises OSError.
    """
    create = getattr(os, "memfd_create", None)
    if create is not None:
        fd = create("readable")
        path = f"/proc/self/fd/{fd}"
    else:
        import tempfile  # a start does not need it

        fd, path = tempfile.mkstemp(prefix="ottla-")  # mode 0600
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        yield path
    finally:
        os.close(fd)
        if create is None:
            os.unlink(path)


# --- by way of the C library: loaded when first needed, as most brokers have no replicas ----------


@cache
def sync_file_range() -> Callable[[int, int, int], int] | None:
    """Return the call `(fd, offset, size)`, which makes the disk take these bytes and returns 0 or
    an errno. None if the system has no such call."""
    function = _function("sync_file_range", "c_int64", "c_int64", "c_uint")
    if function is None:
        return None
    return lambda fd, offset, size: function(fd, offset, size, _WRITE_AND_WAIT)


@cache
def fallocate() -> Callable[[int, int], int] | None:
    """Return the call `(fd, size)`, which allocates blocks for that many bytes without changing the
    file's size, and returns 0 or an errno. None if the system has no such call."""
    function = _function("fallocate", "c_int", "c_int64", "c_int64")
    if function is None:
        return None
    return lambda fd, size: function(fd, _KEEP_SIZE, 0, size)


@cache
def sync_volume() -> Callable[[int], int] | None:
    """Return the call `(fd)`, which returns when all data written to the descriptor's volume is on
    stable storage.

    It returns 0 or an errno, which reports any write on the volume that failed since the descriptor
    was opened. None if the system has no such call, or is a Linux before 5.17: its `syncfs` does
    not report a journal that could not be written.
    """
    if not _is_linux_from(5, 17):
        return None
    return _function("syncfs")


def _is_linux_from(*wanted: int) -> bool:
    """Return whether this is Linux with at least this (major, minor) release."""
    system, _node, release, *_rest = os.uname()
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return (
        system == "Linux" and numbers is not None and (int(numbers[1]), int(numbers[2])) >= wanted
    )


def _function(name: str, *arguments: str) -> Callable[..., int] | None:
    """Return a C function that takes a descriptor and `arguments` (types of ctypes), and returns 0
    or an errno. None if there is no such function."""
    import ctypes

    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return None
    function.argtypes = [getattr(ctypes, argument) for argument in ("c_int", *arguments)]
    return lambda *values: ctypes.get_errno() if function(*values) else 0
