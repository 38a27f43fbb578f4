"""A sequence that differs made as short as it can be: first fewer steps, then less in each.

`still` runs a candidate and says whether it shows the same difference. What is given back does, and
no single step and no single item of a list can be left out of it. Owns no broker.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.differential.sequence import Sequence, Step

Still = Callable[[Sequence], bool]
RUNS_MAX = 150
SECONDS_MAX = 30.0


class Shrinker:
    """One sequence; no more than `runs_max` runs, and none begins after `SECONDS_MAX`."""

    def __init__(self, sequence: Sequence, still: Still, runs_max: int = RUNS_MAX) -> None:
        self._best = sequence
        self._still = still
        self._left = runs_max
        self._until = time.monotonic() + SECONDS_MAX

    def shortest(self) -> Sequence:
        """The shortest that was found."""
        self._fewer_steps()
        self._less_in_each()
        return self._best

    def _holds(self, candidate: Sequence) -> bool:
        if self._left <= 0 or time.monotonic() > self._until:
            return False
        self._left -= 1
        if not self._still(candidate):
            return False
        self._best = candidate
        return True

    def _fewer_steps(self) -> None:
        size = max(1, len(self._best.steps) // 2)
        while size:
            at = len(self._best.steps)
            while at > 0:
                at = min(at, len(self._best.steps))
                steps = self._best.steps
                kept = steps[: max(0, at - size)] + steps[at:]
                self._holds(replace(self._best, steps=kept))
                at -= size
            size //= 2

    def _less_in_each(self) -> None:
        for index in range(len(self._best.steps)):
            while self._less_in(index):
                pass

    def _less_in(self, index: int) -> bool:
        """One pass over a step; whether anything could be left out."""
        shorter = False
        tried = 0
        while tried < len(candidates := list(_smaller(self._best.steps[index]))):
            steps = list(self._best.steps)
            steps[index] = candidates[tried]
            if self._holds(replace(self._best, steps=steps)):
                shorter = True
            else:
                tried += 1
        return shorter


def _smaller(step: Step) -> Iterator[Step]:
    """The step with one item of a list, or one field, left out."""
    for path in _paths(step.body):
        smaller = copy.deepcopy(step)
        holder: Any = smaller.body
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        yield smaller


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and not any(key.startswith("$") for key in value):
        for key, item in value.items():
            yield (*path, key)
            yield from _paths(item, (*path, key))
    elif isinstance(value, dict) and "$records" in value:
        yield from _paths(value["$records"], (*path, "$records"))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if len(value) > 1:
                yield (*path, index)
            yield from _paths(item, (*path, index))
