"""The signals that end a run which has something to finish: between two pieces of work, not in one.

A batch that is printed and not yet known to be is printed again by the next run. So a signal that
comes while `whole` runs takes effect behind it; the second one takes effect at once.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from broker.process.standard_streams import is_heard

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndingSignals:
    """Which of them has come, and whether it may interrupt now."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The first that came."""
        self._waits = False

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Let the block end before the first signal takes effect. Raises KeyboardInterrupt."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
        if self.number is not None:
            raise KeyboardInterrupt

    def came(self, number: int, _frame: FrameType | None) -> None:
        """Note a signal, and interrupt what runs, if it may be. Raises KeyboardInterrupt."""
        is_first = self.number is None
        if is_first:
            self.number = number
        if not (self._waits and is_first):
            raise KeyboardInterrupt

    @property
    def exit_code(self) -> int:
        """0 after Ctrl-C, as without a group; else 128 and the signal's number."""
        return 0 if self.number in (None, signal.SIGINT) else 128 + (self.number or 0)


@contextmanager
def ended_by_signals() -> Iterator[EndingSignals]:
    """Let the block be ended by signals, but for those that its parent has it ignore. For the main
    thread alone."""
    signals = EndingSignals()
    before = {number: signal.signal(number, signals.came) for number in _ENDING if is_heard(number)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
