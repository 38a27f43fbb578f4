"""Lines of the log that strangers cause: not too many of them, and nothing in them that harms.

Whoever may knock at a port can make a node write as often as they like. At most so many lines a
second are written; the others are counted, and told with the next one. Owns the count; who writes a
line asks first.
"""

from __future__ import annotations

from collections.abc import Callable

CHARACTERS_MAX = 300


class LogLimit:
    """Of one kind of lines."""

    def __init__(self, lines_per_second: int, clock_s: Callable[[], float]) -> None:
        self._lines_per_second = lines_per_second
        self._clock_s = clock_s
        self._second = -1
        self._written = 0
        self._left_out = 0

    def next_line(self) -> int | None:
        """How many lines before this one were left out; None: so is this one."""
        second = int(self._clock_s())
        if second != self._second:
            self._second, self._written = second, 0
        if self._written >= self._lines_per_second:
            self._left_out += 1
            return None
        self._written += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


def printable(text: str) -> str:
    """A text that has a peer's words in it, as one short line."""
    line = "".join(one if one.isprintable() else "?" for one in text[:CHARACTERS_MAX])
    return f"{line}…" if len(text) > CHARACTERS_MAX else line
