"""Limits on log lines that remote peers cause: on their rate, their length and their characters.

Any peer that can connect to a port can make a node write log lines as often as it likes. So only
some lines a second are written; the others are counted, and the next line reports the count. Owns:
the count. Never: writes a line; the caller asks before it does.
"""

from __future__ import annotations

from collections.abc import Callable

CHARACTERS_MAX = 300


class LogLimit:
    """The rate limit of one kind of lines."""

    def __init__(self, lines_per_second: int, clock_s: Callable[[], float]) -> None:
        self._lines_per_second = lines_per_second
        self._clock_s = clock_s
        self._second = -1
        self._written = 0
        self._left_out = 0

    def next_line(self) -> int | None:
        """Count a line, and return how many lines were left out before it. Return None if this line
        must be left out, too."""
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
    """Return the first 300 characters of a peer's text as one line, with `…` if there were more.
    Characters that are not printable become `?`."""
    line = "".join(char if char.isprintable() else "?" for char in text[:CHARACTERS_MAX])
    return f"{line}…" if len(text) > CHARACTERS_MAX else line
