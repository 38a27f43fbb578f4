"""Calls about sockets and threads that not every system has, or has in another form: each is looked
up here, once, with what takes its place elsewhere.

| call | where it is | elsewhere |
| --- | --- | --- |
| `os.sendfile` | Linux, macOS | the bytes are read and sent |
| `MSG_MORE` | Linux | a header leaves in a packet of its own |
| `TCP_CONGESTION` | Linux | the system's own choice stays |
| `/proc/self/fd` | Linux | a Unix socket has no address where its path is too long |
| `pthread_getcpuclockid` | Linux | a thread is told of its own CPU time alone |

The C library's `sendfile` has its arguments in another order on macOS, where zero bytes mean the
whole rest of a file, and where a full socket is told (EAGAIN) along with what was sent before.
Python's `os.sendfile` has the same four first arguments everywhere, and gives what was sent, if it
was anything, rather than raise. So it is called by position, never for zero bytes.

Owns nothing. Never: waits.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

_COPIED_BYTES = 64 * 1024

MORE: int = getattr(socket, "MSG_MORE", 0)
"""A flag of `send`: more follows at once, so a packet that is not full may wait for it."""
TCP_CONGESTION: int | None = getattr(socket, "TCP_CONGESTION", None)
"""The socket option that names a congestion control; None where there is none."""


ADDRESS_MAX_BYTES = 103
"""Of a Unix socket's path: as long as it may be on macOS; Linux has 107."""
DESCRIPTORS = "/proc/self/fd"


@contextlib.contextmanager
def address_in(folder: str, name: str) -> Iterator[str]:
    """The address of a Unix socket of that name in a folder, as long as this lasts. Where the path
    is too long it goes through a descriptor of the folder. Raises OSError, also if there is no such
    way here."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) <= ADDRESS_MAX_BYTES:
        yield path
        return
    if not os.path.isdir(DESCRIPTORS):
        raise OSError(f"the path has more than {ADDRESS_MAX_BYTES} bytes")
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield f"{DESCRIPTORS}/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def _send_copied(out: int, file: int, position: int, count: int) -> int:
    """`sendfile` for a system that has none."""
    return os.write(out, os.pread(file, min(count, _COPIED_BYTES), position))


send_file: Callable[[int, int, int, int], int] = getattr(os, "sendfile", _send_copied)
"""`(socket, file, position, count)`, with `count` above 0: how many bytes of the file the socket
took, 0 where the file has ended. Raises BlockingIOError where the socket is full."""


def thread_cpu_clock() -> Callable[[], float]:
    """What tells the CPU seconds of the thread that calls this. Where a thread is told of its own
    alone, the others are told what that was when it asked last."""
    thread, told_s = threading.get_ident(), 0.0
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is not None:
        clock = clock_of(thread)
        return lambda: time.clock_gettime(clock)

    def own_s() -> float:
        nonlocal told_s
        if threading.get_ident() == thread:
            told_s = time.thread_time()
        return told_s

    return own_s
