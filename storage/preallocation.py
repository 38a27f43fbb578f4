"""Blocks of the disk that a growing file is given ahead of its large appends.

A file system that looks for blocks as late as it can (ext4) keeps account of each until it has
written it: in batches of 830 KB, a GB costs 0.23 s of CPU; into blocks that are there already,
0.14 s. They lie beyond the file's end: its size does not tell of them, and no reader sees them.

Owns: how much is allocated ahead, and the calls. Never: remembers a file; who appends to it knows
how far it got (`storage.filesystem.LocalFile`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

LARGE_APPEND = 64 * 1024
"""Bytes of an append from which on it is worth the call."""

_AHEAD_MIN = 1024 * 1024
_AHEAD_MAX = 16 * 1024 * 1024
_LEFT_MIN = 64 * 1024  # the rest of the last block, and the file system's own, are also counted
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE

_Fallocate = Callable[[int, int, int, int], int]


def allocate_ahead(fd: int, size: int) -> int | None:
    """Allocate beyond the end of a file of `size` bytes; gives the offset up to which it reached.

    No more than the file has already: many small logs do not hold a disk for what may never come.
    `size` where it is too small to begin with. None where there was no room, or where the file
    system, or the C library, cannot do it: a part may be allocated even then. Never raises.
    """
    ahead = min(size, _AHEAD_MAX)
    if ahead < _AHEAD_MIN:
        return size
    fallocate = _fallocate()
    if fallocate is None or fallocate(fd, _KEEP_SIZE, size, ahead) != 0:
        return None
    return size + ahead


def give_back(fd: int, size: int) -> None:
    """Free the blocks beyond the end of a file of `size` bytes, where it has any to speak of.

    A cut frees them, though nothing is cut off. When the file was written stays as it was:
    retention goes by it where records have no time. Waits where the file's end is being written to
    the disk. Raises OSError.
    """
    now = os.fstat(fd)
    if now.st_blocks * 512 - size < _LEFT_MIN:
        return
    os.ftruncate(fd, size)
    os.utime(fd, ns=(now.st_atime_ns, now.st_mtime_ns))


@cache
def _fallocate() -> _Fallocate | None:
    """The C library's: Python's own, `os.posix_fallocate`, changes the size."""
    try:
        import ctypes  # only where a file grows by large appends: a start must stay fast

        function = ctypes.CDLL(None).fallocate
    except (ImportError, OSError, AttributeError):  # none on this system
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)
    return function
