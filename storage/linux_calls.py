"""Two calls of Linux that Python's `os` does not have, by way of the C library.

Each gives 0 or an errno. Loaded when first needed: most brokers have no replicas.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

_WRITE_AND_WAIT = 2 | 4  # SYNC_FILE_RANGE_WRITE, SYNC_FILE_RANGE_WAIT_AFTER
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE


@cache
def sync_file_range() -> Callable[[int, int, int], int] | None:
    """`(fd, offset, size)`: have the disk take these bytes. None where the system has no such
    call."""
    function = _function("sync_file_range", "c_int64", "c_int64", "c_uint")
    if function is None:
        return None
    return lambda fd, offset, size: function(fd, offset, size, _WRITE_AND_WAIT)


@cache
def fallocate() -> Callable[[int, int], int] | None:
    """`(fd, size)`: have blocks for so many bytes, and the size as it was. None as above."""
    function = _function("fallocate", "c_int", "c_int64", "c_int64")
    if function is None:
        return None
    return lambda fd, size: function(fd, _KEEP_SIZE, 0, size)


def _function(name: str, *arguments: str) -> Callable[..., int] | None:
    """A function of a descriptor and `arguments`, types of ctypes; it gives 0 or an errno."""
    import ctypes

    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return None
    function.argtypes = [getattr(ctypes, argument) for argument in ("c_int", *arguments)]
    return lambda *given: ctypes.get_errno() if function(*given) else 0
