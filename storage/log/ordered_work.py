"""Pieces of work that have to be done in their order, and may be long: each in slices.

A short piece is done at once where none is before it, so that who has little to do never waits.
While a long one is under way, what comes later waits behind it; all else goes on between its
slices. Who decides on one state has nobody else change it meanwhile.

Owns: whose turn it is among the pieces of one owner. Never: what a piece does, nor when a slice
has its turn (`storage.log.sliced_work`).

In the place of the threads of Kafka's event queues, as `KafkaEventQueue` and `CoordinatorRuntime`
have them: these take one event after the other, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from storage.log.sliced_work import SlicedWork, Steps, in_one_go


class OrderedWork:
    """Pieces of work that one has to do in their order: the next begins when the last has ended.

    A short piece is done at once where none is before it.
    """

    def __init__(self, sliced: SlicedWork | None, failed: Callable[[Exception], None]) -> None:
        """`failed(error)` hears what a piece raised; the next one is begun all the same. Without
        `sliced` each piece is done in one go."""
        self._sliced = sliced
        self._failed = failed
        self._waiting: deque[Steps[Any]] = deque()
        self._busy = False
        self._is_long = False

    @property
    def is_behind(self) -> bool:
        """Whether some piece has not ended."""
        return self._busy

    def take(self, steps: Steps[Any]) -> None:
        """Do it after all before it. A broken invariant of a first slice is raised."""
        self._waiting.append(steps)
        if not self._busy:
            self._busy = True
            while self._waiting and self._begin(self._waiting.popleft()):
                pass  # what came of a short piece may be another one
            self._busy = self._is_long

    def _begin(self, steps: Steps[Any]) -> bool:
        """Whether it has ended already."""
        try:
            if self._sliced is None:
                in_one_go(steps)
                return True
            self._is_long = not self._sliced.begin(steps, self._ended)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  its owner gets it as a value
            self._failed(error)
        return not self._is_long

    def _ended(self, _result: object, error: Exception | None) -> None:
        """A long piece has: the next one has a turn of its own."""
        if error is not None:
            self._failed(error)
        if self._waiting:
            assert self._sliced is not None
            self._sliced.run(self._waiting.popleft(), self._ended)
        else:
            self._busy = self._is_long = False
