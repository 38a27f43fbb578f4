"""The settings of Python's garbage collector, which must not traverse all objects of a busy node.

By default, a full collection traverses all objects as soon as their number has grown by a quarter.
With 5,000 connections or 10,000 topics that takes 100 ms, during which no client is served. So
objects that survive a full collection are frozen (`gc.freeze`), as modules are at the start. The
next full collection traverses only newer objects; one is made for every few thousand new objects
that stay.

A frozen object is still freed with its last reference. Only garbage in reference cycles stays, so
classes with many long-lived objects break their cycles themselves (`ResponseSender.close`). For
other cycles, all objects are traversed again when memory has stayed above FACTOR times that of the
last such traversal throughout REVIEW_EVERY collections. A shorter peak does not count: a request of
300,000 items is a million temporary objects, whose traversal would take a quarter of a second.

Owns: the collector's settings. Never: starts a collection. Python 3.14 collects incrementally, so
only the objects of the start are frozen there.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Protocol

THRESHOLDS = (700, 10, 2)
"""The thresholds of `gc.set_threshold`: new objects until a young collection, young collections
until an older one, and older ones until a full one."""
FACTOR = 4
REVIEW_EVERY = 64
"""The number of full collections between two reviews whether to traverse all objects."""
_FULL = 2
IS_INCREMENTAL = sys.version_info >= (3, 14)


class Collector(Protocol):
    """The functions of the module `gc` that are used here."""

    def freeze(self) -> None:
        """Exclude all current objects from collections."""

    def unfreeze(self) -> None:
        """Include the frozen objects again, in the oldest generation."""


class Garbage:
    """The policy of freezing objects, with the callback `collected` for `gc.callbacks`."""

    def __init__(
        self, collector: Collector = gc, blocks: Callable[[], int] = sys.getallocatedblocks
    ) -> None:
        """Freeze all current objects. `blocks` returns the memory in use, as an estimate of the
        number of objects, which could only be counted by traversing them."""
        self._collector = collector
        self._blocks = blocks
        self._until_review = REVIEW_EVERY
        self._traverses_all = False
        collector.freeze()
        self._blocks_max = FACTOR * blocks()
        self._blocks_min: int | None = None

    def collected(self, phase: str, info: dict[str, int]) -> None:
        """Freeze the survivors of a full collection. Python calls this before a collection, with
        the phase `start`, and after it, with `stop`.

        Every REVIEW_EVERY full collections, unfreezes all objects for the next one, if memory has
        stayed above FACTOR times that of the last such collection.
        """
        if phase != "stop" or info["generation"] != _FULL:
            return
        self._collector.freeze()
        count = self._blocks()
        if self._traverses_all:
            self._traverses_all = False
            self._blocks_max = FACTOR * count
        self._blocks_min = count if self._blocks_min is None else min(count, self._blocks_min)
        self._until_review -= 1
        if not self._until_review:
            self._until_review = REVIEW_EVERY
            if self._blocks_min > self._blocks_max:
                self._traverses_all = True  # by the next full collection
                self._collector.unfreeze()
            self._blocks_min = None


def begin() -> None:
    """Freeze all objects of this process, and enable garbage collection for newer ones. Before
    Python 3.14, also set its thresholds, and freeze the survivors of each full collection."""
    garbage = Garbage()
    if not IS_INCREMENTAL:
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(garbage.collected)
    gc.enable()
