"""A screen that a command draws again and again until a signal ends the command.

The screen is the terminal's alternate one, as `less` and `top` use it: what stood on the terminal
before is there again at the end, also after SIGTERM and SIGHUP. Owns no text: `command.output`
prints it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from command.terminal.ending_signals import EndingSignals, ended_by_signals

_ENTER = "\x1b[?1049h"
_LEAVE = "\x1b[?1049l"
_CLEAR = "\x1b[H\x1b[2J"


def can_redraw(stream: TextIO) -> bool:
    """Return whether the stream is a terminal on which the cursor can move up and back. A terminal
    with TERM=dumb, or without TERM, cannot do that."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class LiveScreen:
    """The screen that is drawn again and again, and the signal that has ended it."""

    def __init__(self, signals: EndingSignals, *, is_drawn: bool) -> None:
        """`is_drawn`: clear the screen before each drawing; else texts follow one another."""
        self.is_drawn = is_drawn
        self._signals = signals

    def clear(self) -> None:
        """Clear the alternate screen. Call it only if `is_drawn`."""
        assert self.is_drawn
        _write(_CLEAR)

    @property
    def is_open(self) -> bool:
        """Whether no signal has ended the screen."""
        return self._signals.number is None

    @property
    def exit_code(self) -> int:
        """The exit code: 0 without a signal or after Ctrl-C, else 128 and the signal's number."""
        return self._signals.exit_code


@contextmanager
def live_screen(*, wanted: bool = True) -> Iterator[LiveScreen]:
    """Use the alternate screen within the block, if standard output is a terminal that has one and
    the screen is `wanted`. SIGINT, SIGTERM and SIGHUP end the block without an exception.

    To be used in the main thread only.
    """
    is_drawn = wanted and can_redraw(sys.stdout)
    with ended_by_signals() as signals:
        try:
            if is_drawn:
                _write(_ENTER)
            yield LiveScreen(signals, is_drawn=is_drawn)
        except KeyboardInterrupt:
            return
        finally:
            if is_drawn:
                _write(_LEAVE)


def _write(sequence: str) -> None:
    """Write an escape sequence to the terminal, also with NO_COLOR."""
    sys.stdout.write(sequence)
    sys.stdout.flush()
