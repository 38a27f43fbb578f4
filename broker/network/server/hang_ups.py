"""The closing of connections whose peers have hung up, a few in each turn of the loop.

A client that dies may end thousands of connections in one turn of the loop, and closing each takes
some 30 µs. Owns: the queue of connections to close. Never: how a connection is closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

PER_TURN = 16


class HangUps:
    """The hang-ups of one processor. All calls on the loop's thread."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """Create an empty queue. `call_soon` makes a call in the loop's next turn."""
        self._call_soon = call_soon
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_scheduled = False

    def add(self, close: Callable[[], None]) -> None:
        """Call `close` in a later turn."""
        self._waiting.append(close)
        self._schedule()

    def _schedule(self) -> None:
        """Close some connections in the loop's next turn, unless that is scheduled already."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call_soon(self._close_some)

    def _close_some(self) -> None:
        """Close up to PER_TURN connections, and the rest in later turns."""
        self._is_scheduled = False
        waiting = self._waiting
        try:
            for _ in range(min(PER_TURN, len(waiting))):
                waiting.popleft()()
        finally:
            if waiting:
                self._schedule()
