"""The timeline of a run, as lines of text: faults and clients' operations, by virtual time."""

from __future__ import annotations

from collections import deque

from ottla.testing.simulation.driver import Operation

LINES_MAX = 40
_RESULT_CHARACTERS = 60


class Timeline:
    """The last lines of what happened in a run."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds of virtual time since the brokers were started."""
        self._lines: deque[tuple[float, str]] = deque(maxlen=LINES_MAX)

    def move_to(self, now: float) -> None:
        """Set the current virtual time."""
        self.now = now

    def say(self, text: str, when: float | None = None) -> None:
        """Add a line at the second `when`; None: now. Above LINES_MAX lines, the oldest is
        dropped."""
        self._lines.append((self.now if when is None else when, text))

    def ended(self, operation: Operation) -> None:
        """Add a line with the outcome and the duration of an operation that has ended. Operations
        without a text to show are left out."""
        if not operation.shown:
            return
        client = f"{operation.client}: " if operation.client else ""
        took = self.now - operation.began
        self.say(f"{client}{operation.shown} → {_outcome(operation)} ({took:.3f} s)")

    def cancelled(self, operation: Operation) -> None:
        """Add a line about an operation whose task was killed. Operations without a text to show
        are left out."""
        if operation.shown:
            client = f"{operation.client}: " if operation.client else ""
            self.say(f"{client}{operation.shown} … was under way")

    def under_way(self, operation: Operation) -> None:
        """Add a line about an operation that had not ended when the scenario ended. Operations
        without a text to show are left out."""
        if operation.shown:
            client = f"{operation.client}: " if operation.client else ""
            self.say(f"{client}{operation.shown} … since {operation.began:.3f}")

    def lines(self) -> list[str]:
        """Return the lines in the order of time, each with its second of virtual time."""
        ordered = sorted(self._lines, key=lambda line: line[0])
        return [f"{when:9.3f}  {text}" for when, text in ordered]


def _outcome(operation: Operation) -> str:
    """Return the operation's error or result, in a few words."""
    if operation.error is not None:
        return f"{operation.error}"
    if operation.name == "produce":
        partition, offset = operation.result
        return f"{partition}@{offset}" if offset >= 0 else f"{partition}@?"
    if operation.name == "fetch":
        records: list[list[object]] = operation.result[0]
        shown = ", ".join(f"{record[2]}={record[5]!r}" for record in records)
        return _short(shown or "nothing")
    if operation.name == "request":
        return "answered"
    return "done" if operation.result is None else _short(repr(operation.result))


def _short(text: str) -> str:
    """Return the text, cut off after _RESULT_CHARACTERS characters."""
    return text if len(text) <= _RESULT_CHARACTERS else f"{text[:_RESULT_CHARACTERS]}…"
