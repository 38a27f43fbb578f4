"""The order in which flushes of one log count, whichever of them ends first.

A flush leaves out what an earlier one, which may still be under way, has taken upon itself: names
in the folder, leader epochs. So it makes its part of the log durable only together with all that
were begun before it.

Owns: which flushes are under way. Never: syncs anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Counted = Callable[[Exception | None], None]


class FlushOrder:
    """Flushes of one log, oldest first."""

    __slots__ = ("_flushes",)

    def __init__(self) -> None:
        self._flushes: deque[_Flush] = deque()

    def __len__(self) -> int:
        """How many are under way, or wait for an earlier one."""
        return len(self._flushes)

    def begin(self, counted: Counted) -> Counted:
        """A flush begins: call what this gives with its error or None when it has ended.

        `counted` runs when all before it have ended, too: with its own error, or with that of one
        before it.
        """
        flush = _Flush(counted)
        self._flushes.append(flush)

        def ended(error: Exception | None) -> None:
            flush.ended = True
            flush.error = flush.error or error
            self._count()

        return ended

    def _count(self) -> None:
        while self._flushes and self._flushes[0].ended:
            flush = self._flushes.popleft()
            if flush.error is not None and self._flushes:
                following = self._flushes[0]
                following.error = following.error or flush.error
            flush.counted(flush.error)


class _Flush:
    __slots__ = ("counted", "ended", "error")

    def __init__(self, counted: Counted) -> None:
        self.counted = counted
        self.ended = False
        self.error: Exception | None = None
