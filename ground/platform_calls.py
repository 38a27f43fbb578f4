"""Calls about files that not every system has: each is looked up here, once, with what takes its
place elsewhere. Who asks gets the same everywhere; some of it is slower where the call is missing.

| call | where it is | elsewhere |
| --- | --- | --- |
| `fdatasync` | Linux | on macOS `fcntl(F_FULLFSYNC)`, else `fsync` |
| `pwritev` | Linux, macOS 11 | the parts are joined |
| `preadv` | Linux, macOS 11 | read, and copied |
| `RWF_NOWAIT` | Linux | what is in the page cache cannot be told: `NO_WAIT` is 0 |
| `posix_fadvise` | Linux | no file is asked for ahead |
| `memfd_create` | Linux | a file of the owner alone, which goes at once |
| `sync_file_range`, `fallocate` | Linux | None |
| `syncfs` | Linux 5.17 | None |

On macOS `fsync` leaves the bytes in the drive's own memory, and so does Python's `os.fsync`, which
makes that call and no other (up to 3.14). `F_FULLFSYNC` has the drive write them, as Java's
`FileChannel.force` does there: what Kafka flushes with.

Owns nothing. Never: opens what it is not asked to, or hides an `OSError`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

_WRITE_AND_WAIT = 2 | 4  # SYNC_FILE_RANGE_WRITE, SYNC_FILE_RANGE_WAIT_AFTER
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_FULL_FSYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
_NOT_THIS_DRIVE = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)
"""What the call says of a file system, of a network's say, that cannot have its drive asked."""

_Bytes = bytes | bytearray | memoryview

NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
"""For `read_into`: only what the page cache has. 0: the system cannot tell."""


def _sync_through(fd: int) -> None:
    """Have the drive itself write what belongs to a file or folder."""
    assert _FULL_FSYNC is not None
    try:
        fcntl.fcntl(fd, _FULL_FSYNC)
    except OSError as error:
        if error.errno not in _NOT_THIS_DRIVE:
            raise
        os.fsync(fd)


def _read_into(fd: int, buffers: Sequence[bytearray | memoryview], at: int, _flags: int) -> int:
    """`preadv` of one buffer."""
    (buffer,) = buffers
    data = os.pread(fd, len(buffer), at)
    buffer[: len(data)] = data
    return len(data)


def _write_parts(fd: int, parts: Sequence[_Bytes], at: int) -> int:
    """`pwritev`."""
    return os.pwrite(fd, b"".join(parts), at)


sync: Callable[[int], None] = os.fsync if _FULL_FSYNC is None else _sync_through
"""`(fd)`: return once a file with all that is known of it, or a folder, is on stable storage."""
sync_data: Callable[[int], None] = (
    getattr(os, "fdatasync", os.fsync) if _FULL_FSYNC is None else _sync_through
)
"""The same of a file's bytes and size alone."""
read_into: Callable[[int, Sequence[bytearray | memoryview], int, int], int] = getattr(
    os, "preadv", _read_into
)
"""`(fd, [buffer], position, flags)`: how many bytes of the file are in the buffer now; `flags` is
NO_WAIT or 0. Raises BlockingIOError where nothing can be had without waiting."""
write_parts: Callable[[int, Sequence[_Bytes], int], int] = getattr(os, "pwritev", _write_parts)
"""`(fd, parts, position)`: how many bytes of them are written."""


def ask_for_file(fd: int) -> None:
    """Have a whole file read ahead, if the system does so. Raises OSError."""
    advise = getattr(os, "posix_fadvise", None)
    if advise is not None:
        advise(fd, 0, 0, getattr(os, "POSIX_FADV_WILLNEED"))  # noqa: B009 - not on every system


@contextmanager
def readable_path(data: bytes) -> Iterator[str]:
    """A path under which `data` can be read for now, for a library that takes nothing but files.

    It leads into memory where there is `memfd_create`; else to a file that nobody but the owner of
    the process can read. Raises OSError.
    """
    create = getattr(os, "memfd_create", None)
    if create is not None:
        fd = create("readable")
        path = f"/proc/self/fd/{fd}"
    else:
        import tempfile  # which a start does not need

        fd, path = tempfile.mkstemp(prefix="ottla-")  # mode 0600
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(fd, left) :]
        yield path
    finally:
        os.close(fd)
        if create is None:
            os.unlink(path)


# --- by way of the C library: loaded when first needed, as most brokers have no replicas ----------


@cache
def sync_file_range() -> Callable[[int, int, int], int] | None:
    """`(fd, offset, size)`: have the disk take these bytes; 0 or an errno. None where the system
    has no such call."""
    function = _function("sync_file_range", "c_int64", "c_int64", "c_uint")
    if function is None:
        return None
    return lambda fd, offset, size: function(fd, offset, size, _WRITE_AND_WAIT)


@cache
def fallocate() -> Callable[[int, int], int] | None:
    """`(fd, size)`: have blocks for so many bytes, and the size as it was; 0 or an errno. None as
    above."""
    function = _function("fallocate", "c_int", "c_int64", "c_int64")
    if function is None:
        return None
    return lambda fd, size: function(fd, _KEEP_SIZE, 0, size)


@cache
def sync_volume() -> Callable[[int], int] | None:
    """`(fd)`: return once all that was written on the volume of this descriptor is on stable
    storage; 0 or an errno, which tells of every failed write on the volume since the descriptor
    was opened. None as above, and on a Linux before 5.17: its `syncfs` says nothing of a journal
    that could not be written."""
    if not _is_linux_from(5, 17):
        return None
    return _function("syncfs")


def _is_linux_from(*wanted: int) -> bool:
    system, _node, release, *_rest = os.uname()
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return (
        system == "Linux" and numbers is not None and (int(numbers[1]), int(numbers[2])) >= wanted
    )


def _function(name: str, *arguments: str) -> Callable[..., int] | None:
    """A function of a descriptor and `arguments`, types of ctypes; it gives 0 or an errno."""
    import ctypes

    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return None
    function.argtypes = [getattr(ctypes, argument) for argument in ("c_int", *arguments)]
    return lambda *given: ctypes.get_errno() if function(*given) else 0
