"""SIGTERM and SIGHUP as Ctrl-C is: a run that has something to finish is interrupted first."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from broker.process.standard_streams import is_heard

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class EndingSignals:
    """Whether one of them has come."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The first that came."""
        self._held = False

    def hold(self) -> None:
        """Interrupt nothing from now on: what runs is the end of the run."""
        self._held = True

    def came(self, number: int, _frame: FrameType | None) -> None:
        """Interrupt the run. Raises KeyboardInterrupt."""
        if self.number is None:
            self.number = number
        if not self._held:
            raise KeyboardInterrupt


@contextmanager
def ended_by_signals() -> Iterator[EndingSignals]:
    """Let the block be interrupted by the signals that end a process, but for those that whoever
    began it ignores; the main thread's alone."""
    signals = EndingSignals()
    before = {number: signal.signal(number, signals.came) for number in _ENDING if is_heard(number)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
