"""Memory for one frame: pages are taken as bytes arrive, and given back when the last view goes.

Owns nothing. Never: counts (`request_memory`), or grows a buffer.

A bytearray is written over with zeros before it is there, on the loop, and what the allocator of
the process gets back it may keep. Anonymous memory of its own has neither.
"""

from __future__ import annotations

import mmap

from protocol.frames.frame_memory import Buffer

_OWN_PAGES_FROM = 256 * 1024


def frame_buffer(size: int) -> Buffer:
    """A writable buffer of `size` bytes."""
    if size < _OWN_PAGES_FROM:
        return bytearray(size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
