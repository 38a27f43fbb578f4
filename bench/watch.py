"""Every wait of a scenario ends: a timer looks whether the peer lives and whether time is over."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bench.peers import Peer

TICK_S = 1.0


class PeerDiedError(RuntimeError):
    """The broker ended while it was measured; the message has the last lines of its log."""


class TooSlowError(RuntimeError):
    """A scenario did not end in its time."""


@contextmanager
def watched(peer: Peer, seconds: float) -> Iterator[None]:
    """Raise in the main thread when the peer dies, or after so many seconds, whatever it waits for.

    What waits inside C code without giving Python a turn is not reached: such calls are made short.
    """
    deadline = time.monotonic() + seconds

    def look(_number: int, _frame: FrameType | None) -> None:
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
