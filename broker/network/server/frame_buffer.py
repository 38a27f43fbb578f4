"""Memory for one frame: its pages are allocated as bytes arrive, and freed with the last view.

Owns nothing. Never: counts (`request_memory`), or grows a buffer.

Creating a bytearray fills it with zeros, on the loop, and the process's allocator may keep its
memory after it is freed. An anonymous memory map has neither cost.
"""

from __future__ import annotations

import mmap

from protocol.frames.frame_memory import Buffer

_OWN_PAGES_FROM = 256 * 1024


def frame_buffer(size: int) -> Buffer:
    """Return a writable buffer of `size` bytes."""
    if size < _OWN_PAGES_FROM:
        return bytearray(size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
