"""System calls on sockets and threads that some systems lack, with their replacements there.

| call | systems that have it | elsewhere |
| --- | --- | --- |
| `os.sendfile` | Linux, macOS | the bytes are read and sent |
| `MSG_MORE` | Linux | a header leaves in a packet of its own |
| `TCP_CONGESTION` | Linux | the system's own choice stays |
| `/proc/self/fd` | Linux | a Unix socket has no address where its path is too long |
| `pthread_getcpuclockid` | Linux | a thread can read only its own CPU time |

The C library's `sendfile` differs on macOS. Its arguments are in another order, zero bytes mean the
whole rest of a file, and a full socket reports EAGAIN together with the bytes sent before. Python's
`os.sendfile` has the same four first arguments everywhere, and returns the bytes sent, if any,
instead of raising an error. So it is called with positional arguments, never for zero bytes.

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
"""The flag of `send` that says more follows at once, so a packet that is not full may wait."""
TCP_CONGESTION: int | None = getattr(socket, "TCP_CONGESTION", None)
"""The socket option that names a congestion control; None if the system has no such option."""


ADDRESS_MAX_BYTES = 103
"""The longest path of a Unix socket on macOS; Linux allows 107 bytes."""
DESCRIPTORS = "/proc/self/fd"


@contextlib.contextmanager
def address_in(folder: str, name: str) -> Iterator[str]:
    """Yield an address for the Unix socket `name` in `folder`, valid inside the `with` block.

    A path that is too long is replaced by one through a descriptor of the folder. Raises OSError if
    the folder cannot be opened, or if this system has no such paths."""
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
    """Send bytes of a file from `position` to a socket, as `os.sendfile` does, at most
    _COPIED_BYTES. Return how many the socket took."""
    return os.write(out, os.pread(file, min(count, _COPIED_BYTES), position))


send_file: Callable[[int, int, int, int], int] = getattr(os, "sendfile", _send_copied)
"""`os.sendfile` or its replacement: `(socket, file, position, count)`, with `count` above 0. It
returns how many bytes of the file the socket took, 0 at the file's end. Raises BlockingIOError if
the socket is full."""


def thread_cpu_clock() -> Callable[[], float]:
    """Return a function that gives the CPU seconds of the current thread, to any thread.

    On systems where a thread can read only its own time, other threads get the value that the
    current thread read last."""
    thread, used_s = threading.get_ident(), 0.0
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is not None:
        clock = clock_of(thread)
        return lambda: time.clock_gettime(clock)

    def own_s() -> float:
        """Return the CPU seconds of the thread that made this clock; others get its last value."""
        nonlocal used_s
        if threading.get_ident() == thread:
            used_s = time.thread_time()
        return used_s

    return own_s
