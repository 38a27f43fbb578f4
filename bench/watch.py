"""A time limit for scenarios: a timer ends every wait when the peer dies or time is over."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bench.peers import BenchPeer

TICK_S = 1.0


class PeerDiedError(RuntimeError):
    """The broker ended while it was measured; the message has the last lines of its log."""


class TooSlowError(RuntimeError):
    """A scenario did not end within its time limit."""


@contextmanager
def watched(peer: BenchPeer, seconds: float) -> Iterator[None]:
    """Raise in the main thread when the peer dies, or after `seconds`, even during a wait.

    Waits inside C code that does not return to Python are not interrupted: keep such calls short.
    """
    deadline = time.monotonic() + seconds

    def look(_number: int, _frame: FrameType | None) -> None:
        """Raise an error if the peer has died or the time is over.

        The errors are PeerDiedError and TooSlowError; the timer stops then.
        """
        reason: RuntimeError | None = None
        if (death := peer.death()) is not None:
            reason = PeerDiedError(f"{peer.name} {death}")
        elif time.monotonic() > deadline:
            reason = TooSlowError(f"{peer.name} is given up after {seconds:.0f} s")
        if reason is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise reason

    before = signal.signal(signal.SIGALRM, look)
    timer = signal.setitimer(signal.ITIMER_REAL, TICK_S, TICK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
