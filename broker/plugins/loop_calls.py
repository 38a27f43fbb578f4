"""Calls of a plug-in on the event loop: timed, and told of where they are slow or fail.

Owns: what is logged about one class, at most once in a while, with what was left out since.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

_log = logging.getLogger(f"ottla.{__name__}")

SLOW_MS = 1.0
"""Of one call: meanwhile all clients wait."""
TOLD_EVERY_MS = 10_000.0


class LoopCalls:
    """Of one plug-in."""

    __slots__ = ("_failed", "_slow", "clock_ms", "name")

    def __init__(self, name: str, clock_ms: Callable[[], float]) -> None:
        """`name`: its class, as the configuration names it."""
        self.name = name
        self.clock_ms = clock_ms
        """To be read before a call, for `ended`."""
        self._slow = _Told(clock_ms)
        self._failed = _Told(clock_ms)

    def ended(self, began_ms: float) -> None:
        """A call is over."""
        took_ms = self.clock_ms() - began_ms
        if took_ms > SLOW_MS and (left_out := self._slow.is_due()) is not None:
            _log.warning(
                "%s took %.1f ms of the event loop, on which all clients wait%s",
                self.name,
                took_ms,
                _more(left_out),
            )

    def failed(self, error: Exception) -> None:
        """A call raised that."""
        if (left_out := self._failed.is_due()) is not None:
            _log.error("%s failed%s", self.name, _more(left_out), exc_info=error)

    def misled(self, text: str) -> None:
        """A call gave what is no answer."""
        if (left_out := self._failed.is_due()) is not None:
            _log.error("%s %s%s", self.name, text, _more(left_out))


class _Told:
    """When something was told last, and how often it was not."""

    __slots__ = ("_at_ms", "_clock_ms", "_left_out")

    def __init__(self, clock_ms: Callable[[], float]) -> None:
        self._clock_ms = clock_ms
        self._at_ms = -math.inf
        self._left_out = 0

    def is_due(self) -> int | None:
        """How often it was left out since, where it is to be told now."""
        now_ms = self._clock_ms()
        if now_ms - self._at_ms < TOLD_EVERY_MS:
            self._left_out += 1
            return None
        self._at_ms = now_ms
        left_out, self._left_out = self._left_out, 0
        return left_out


def _more(left_out: int) -> str:
    return f" ({left_out} times more since it was last said)" if left_out else ""
