"""The standard streams and signals of a process, as a shell or daemon manager may leave them.

The streams may be closed (`>&-`). The next file or socket would then get the descriptor 0, 1 or 2,
which the event loop refuses to watch. So closed ones are opened on `/dev/null` before any other
file. The reader of a pipe may end, or the disk of a file may be full: `say` then drops its line,
because a server must not end for that. `nohup` ignores SIGHUP before the command begins, and
`is_heard` respects this.

Owns nothing. Never: decides what is printed.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import TextIO

from ground.printable import printable_lines

_IN, _OUT, _ERR = 0, 1, 2


def open_standard_streams() -> None:
    """Open each closed standard descriptor on `/dev/null`, with its Python file.

    Characters that the encoding of standard output lacks are written as escapes from then on.
    """
    for number in (_IN, _OUT, _ERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(_IN, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(_OUT, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(_ERR, "w", closefd=False)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as Python does for standard error


def say(text: str, *, error: bool = False) -> None:
    """Print a text to standard output or error, with its control characters made visible. Drop it
    if the stream cannot be written to."""
    stream = sys.stderr if error else sys.stdout
    try:
        print(printable_lines(text), file=stream, flush=True)
    except (OSError, ValueError):
        _discard(stream)


def is_heard(number: int) -> bool:
    """Return whether the process handles a signal: all but a SIGHUP that its parent set to ignored.

    A SIGINT that a shell's `&` set to ignored is handled, because it is then sent on purpose.
    """
    return number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN


def flush_standard_streams() -> None:
    """Flush both streams before the process ends, so that a failure does not change the exit
    code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _discard(stream)


def _discard(stream: TextIO) -> None:
    """Replace a standard stream by one to `/dev/null`, because it cannot be written to."""
    nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if stream is sys.stderr:
        sys.stderr = nowhere
    else:
        sys.stdout = nowhere
