"""Log lines about a plug-in's calls on the event loop that are slow or fail.

Owns: the log lines about one class, at most one every `LINE_EVERY_MS` for slow calls and one for
failed ones, with the number left out since. Never: calls the plug-in.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

_log = logging.getLogger(f"ottla.{__name__}")

SLOW_MS = 1.0
"""The duration above which a call is logged as slow: meanwhile all clients wait."""
LINE_EVERY_MS = 10_000.0


class LoopCalls:
    """The log lines about one plug-in's calls."""

    __slots__ = ("_failed", "_slow", "clock_ms", "name")

    def __init__(self, name: str, clock_ms: Callable[[], float]) -> None:
        """Begin without a call. `name` is the plug-in's class in the log lines, as the
        configuration names it."""
        self.name = name
        self.clock_ms = clock_ms
        """The clock to read before a call, for `ended`."""
        self._slow = _LineLimit(clock_ms)
        self._failed = _LineLimit(clock_ms)

    def ended(self, began_ms: float) -> None:
        """Log a warning if the call that began at `began_ms` took more than SLOW_MS; at most one
        such line every LINE_EVERY_MS."""
        took_ms = self.clock_ms() - began_ms
        if took_ms > SLOW_MS and (left_out := self._slow.next_line()) is not None:
            _log.warning(
                "%s took %.1f ms of the event loop, on which all clients wait%s",
                self.name,
                took_ms,
                _more(left_out),
            )

    def failed(self, error: Exception) -> None:
        """Log the exception that a call raised as an error with its traceback; at most one line
        about failures every LINE_EVERY_MS."""
        if (left_out := self._failed.next_line()) is not None:
            _log.error("%s failed%s", self.name, _more(left_out), exc_info=error)

    def invalid_answer(self, text: str) -> None:
        """Log the error that a call returned an invalid value; `text` says which. The limit on
        lines is that of `failed`."""
        if (left_out := self._failed.next_line()) is not None:
            _log.error("%s %s%s", self.name, text, _more(left_out))


class _LineLimit:
    """The time of the last line of one kind, and the count of lines left out since."""

    __slots__ = ("_at_ms", "_clock_ms", "_left_out")

    def __init__(self, clock_ms: Callable[[], float]) -> None:
        self._clock_ms = clock_ms
        self._at_ms = -math.inf
        self._left_out = 0

    def next_line(self) -> int | None:
        """Return how many lines were left out before the next line, which may be written now.
        Return None, and count it, if it comes within LINE_EVERY_MS of the last line."""
        now_ms = self._clock_ms()
        if now_ms - self._at_ms < LINE_EVERY_MS:
            self._left_out += 1
            return None
        self._at_ms = now_ms
        left_out, self._left_out = self._left_out, 0
        return left_out


def _more(left_out: int) -> str:
    """Return the end of a line: how many similar lines were left out; empty if none were."""
    return f" ({left_out} times more since it was last said)" if left_out else ""
