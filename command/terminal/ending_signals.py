"""Signals that end a run between two pieces of work, not within one.

A batch that was printed and not yet counted would be printed again by the next run. So a signal
during `whole` takes effect after it; a second signal takes effect at once.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from broker.process.standard_streams import is_heard

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndingSignals:
    """The state of the signals: the first one received, and whether it may interrupt now."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The number of the first signal received, None before."""
        self._waits = False

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Delay the first signal until the block has ended; raise KeyboardInterrupt for it then. A
        second signal raises KeyboardInterrupt within the block."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
        if self.number is not None:
            raise KeyboardInterrupt

    def came(self, number: int, _frame: FrameType | None) -> None:
        """Store the number of the first signal. Raise KeyboardInterrupt, unless it is the first and
        a `whole` block is under way."""
        is_first = self.number is None
        if is_first:
            self.number = number
        if not (self._waits and is_first):
            raise KeyboardInterrupt

    @property
    def exit_code(self) -> int:
        """The exit code: 0 without a signal or after Ctrl-C, else 128 and the signal's number."""
        return 0 if self.number in (None, signal.SIGINT) else 128 + (self.number or 0)


@contextmanager
def ended_by_signals() -> Iterator[EndingSignals]:
    """Handle SIGINT, SIGTERM and SIGHUP in the block by the EndingSignals that it gets: they raise
    KeyboardInterrupt. A SIGHUP that the parent process has set to ignored stays so.

    To be used in the main thread only.
    """
    signals = EndingSignals()
    before = {number: signal.signal(number, signals.came) for number in _ENDING if is_heard(number)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
