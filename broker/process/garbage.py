"""What Python's collector of garbage looks at: never at all that there is, while the node serves.

It looks at all objects as soon as a quarter more of them have grown old. Beside 5,000 connections
or 10,000 topics that takes 100 ms, for which nobody is served. So what has outlived a full
collection is set aside (`gc.freeze`), as modules are at the start: the next one looks at what has
come since, and there is one for each few thousand objects that stay.

What is set aside is still freed with its last reference. Only what becomes garbage in a cycle
stays, so whoever lives long and ends often cuts its cycles by hand (`ResponseSender.close`). For
what does not, all is looked at again when there is FACTOR times as much as the last time, and has
been throughout LOOK_EVERY collections: a request of 300,000 items is a million objects that come
and go, and to look at those would take a quarter of a second.

Owns: the collector's settings. Never: a collection out of its turn. Python 3.14 collects little by
little by itself and is left as it is.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Protocol

THRESHOLDS = (700, 10, 2)
"""New objects until a collection; collections until an older one, and until a full one."""
FACTOR = 4
LOOK_EVERY = 64
"""Full collections."""
_FULL = 2
IS_INCREMENTAL = sys.version_info >= (3, 14)


class Collector(Protocol):
    """What is used of the module `gc`."""

    def freeze(self) -> None:
        """Set all aside."""

    def unfreeze(self) -> None:
        """Nothing is set aside any more; it is old."""


class Garbage:
    """The policy; `collected` is one of `gc.callbacks`."""

    def __init__(
        self, collector: Collector = gc, blocks: Callable[[], int] = sys.getallocatedblocks
    ) -> None:
        """All that there is now is set aside. `blocks()`: how much memory is in use. It stands for
        the number of objects, as to count these takes a walk through them."""
        self._collector = collector
        self._blocks = blocks
        self._until_look = LOOK_EVERY
        self._is_all_looked_at = False
        collector.freeze()
        self._most = FACTOR * blocks()
        self._least: int | None = None

    def collected(self, phase: str, info: dict[str, int]) -> None:
        """Before a collection, phase `start`, and behind it, `stop`."""
        if phase != "stop" or info["generation"] != _FULL:
            return
        self._collector.freeze()
        count = self._blocks()
        if self._is_all_looked_at:
            self._is_all_looked_at = False
            self._most = FACTOR * count
        self._least = count if self._least is None else min(count, self._least)
        self._until_look -= 1
        if not self._until_look:
            self._until_look = LOOK_EVERY
            if self._least > self._most:
                self._is_all_looked_at = True  # by the next one, soon
                self._collector.unfreeze()
            self._least = None


def begin() -> None:
    """From now on garbage is collected, in this process."""
    garbage = Garbage()
    if not IS_INCREMENTAL:
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(garbage.collected)
    gc.enable()
