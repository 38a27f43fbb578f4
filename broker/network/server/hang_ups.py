"""Peers that have hung up: some of them in each turn of the loop.

A client that dies, or a storm that is over, ends thousands of connections in one turn of the loop;
to let go of each takes some 30 µs. Owns: those that wait for it. Never: what letting go means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

PER_TURN = 16


class HangUps:
    """Of one processor. All calls on the loop's thread."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` has a call come in the loop's next turn."""
        self._call_soon = call_soon
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_announced = False

    def add(self, let_go: Callable[[], None]) -> None:
        """Call it, in a later turn."""
        self._waiting.append(let_go)
        self._announce()

    def _announce(self) -> None:
        if not self._is_announced:
            self._is_announced = True
            self._call_soon(self._some)

    def _some(self) -> None:
        self._is_announced = False
        waiting = self._waiting
        try:
            for _ in range(min(PER_TURN, len(waiting))):
                waiting.popleft()()
        finally:
            if waiting:
                self._announce()
