"""The order in which flushes of a log take effect, whichever of them ends first.

A flush leaves out files that an earlier flush, which may be under way, syncs: names in the folder,
leader epochs. So its part of the log is durable only after all earlier flushes have ended.

Owns: which flushes are under way. Never: syncs a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Counted = Callable[[Exception | None], None]


class FlushOrder:
    """The flushes of one log, oldest first."""

    __slots__ = ("_flushes",)

    def __init__(self) -> None:
        self._flushes: deque[_Flush] = deque()

    def __len__(self) -> int:
        """Return how many flushes are under way, or wait for an earlier one."""
        return len(self._flushes)

    def begin(self, counted: Counted) -> Counted:
        """Add a flush. Return the function to call, with its error or None, at its end.

        `counted` is called after the flush and all earlier ones have ended, with its error or with
        that of an earlier one.
        """
        flush = _Flush(counted)
        self._flushes.append(flush)

        def ended(error: Exception | None) -> None:
            """Mark the flush as ended, with its error or None. Call `counted` of each flush that
            has ended with all before it."""
            flush.ended = True
            flush.error = flush.error or error
            self._report_ended()

        return ended

    def _report_ended(self) -> None:
        """Call `counted` of each flush that has ended with all before it. The error of a flush is
        passed to all that wait behind it."""
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
