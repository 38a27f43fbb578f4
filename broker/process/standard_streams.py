"""The descriptors 0, 1 and 2 of a process, and its signals, as a daemon is given them.

Whoever starts a daemon may have closed them (`>&-`). The next file or socket that is opened would
get such a number, and the event loop refuses to watch it; so what is free gets `/dev/null`, before
anything else is opened. And whoever read the other end of a pipe may be gone, or the disk behind a
file full: `say` then leaves its line out, because a server does not end for want of a listener.
`nohup` ignores SIGHUP before the command begins: `is_heard` says so.

Owns nothing. Never: decides what is said.
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
    """Give `/dev/null` to each of the three descriptors that is closed, and Python its file.

    What the encoding of a terminal or a pipe does not have is written there as an escape.
    """
    for number in (_IN, _OUT, _ERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(_IN, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(_OUT, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(_ERR, "w", closefd=False)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error is by itself


def say(text: str, *, error: bool = False) -> None:
    """Print a text to standard output, or error, without control characters that others may have
    put into it; where nobody can have it, it is left out."""
    stream = sys.stderr if error else sys.stdout
    try:
        print(printable_lines(text), file=stream, flush=True)
    except (OSError, ValueError):
        _give_up(stream)


def is_heard(number: int) -> bool:
    """Whether a signal is to be acted on: not a SIGHUP that whoever began the process ignores.

    A SIGINT that a shell's `&` ignores is heard all the same: whoever sends it there means it.
    """
    return number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN


def flush_standard_streams() -> None:
    """Before the process ends: what cannot be written must not become its exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _give_up(stream)


def _give_up(stream: TextIO) -> None:
    """What is said there goes nowhere from now on."""
    nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if stream is sys.stderr:
        sys.stderr = nowhere
    else:
        sys.stdout = nowhere
