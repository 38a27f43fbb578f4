"""Pieces of work that have to be done in their order, and may be long: each in slices.

A short piece is done at once where none is before it, so that who has little to do never waits.
While a long one is under way, what comes later waits behind it; all else goes on between its
slices. Who decides on one state has nobody else change it meanwhile.

Owns: whose turn it is among the pieces of one owner. Never: what a piece does, nor when a slice
has its turn (`ground.sliced_work`).

In the place of the threads of Kafka's event queues, as `KafkaEventQueue` and `CoordinatorRuntime`
have them: these take one event after the other, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ground.sliced_work import SlicedWork, Steps, in_one_go

Done = Callable[[Any, Exception | None], None]
"""Takes what came of a piece, or what it raised."""


def raise_error(_result: object, error: Exception | None) -> None:
    """For a piece from which nobody waits to hear: what fails in a later slice is raised, as in the
    first, and the loop tells of it."""
    if error is not None:
        raise error


class _Piece(NamedTuple):
    steps: Steps[object]
    done: Done


class OrderedWork:
    """Pieces of work that one has to do in their order: the next begins when the last has ended.

    A short piece is done at once where none is before it.
    """

    def __init__(self, sliced: SlicedWork | None) -> None:
        """Without `sliced` each piece is done in one go."""
        self._sliced = sliced
        self._waiting: deque[_Piece] = deque()
        self._busy = False
        self._present: Done | None = None

    @property
    def is_behind(self) -> bool:
        """Whether some piece has not ended."""
        return self._busy

    def take(self, steps: Steps[object], done: Done) -> None:
        """Do it after all before it; then `done(result, error)`, once.

        What is raised in the first slice of a piece that nothing is before is raised here.
        """
        if self._busy:
            self._waiting.append(_Piece(steps, done))
            return
        self._busy = True
        try:
            self._begin(steps, done)
        finally:
            # What came of a short piece may be another one. Of a failed one nothing is left.
            while self._present is None and self._waiting:
                self._begin_later(self._waiting.popleft())
            self._busy = self._present is not None

    def take_later(self, steps: Steps[object], done: Done) -> None:
        """The same, none of it now: for who has work for many."""
        if self._busy or self._sliced is None:
            self.take(steps, done)
        else:
            self._busy = True
            self._present = done
            self._sliced.run(steps, self._ended)

    def _begin(self, steps: Steps[object], done: Done) -> None:
        if self._sliced is None:
            done(in_one_go(steps), None)
            return
        self._present = done
        try:
            ended = self._sliced.begin(steps, self._ended)
        except Exception:
            self._present = None
            raise
        if ended:
            self._present = None
            done(ended[0], None)

    def _begin_later(self, piece: _Piece) -> None:
        try:
            self._begin(*piece)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  its owner gets it as a value
            piece.done(None, error)

    def _ended(self, result: object, error: Exception | None) -> None:
        """A long piece has: the next one has a turn of its own."""
        done, self._present = self._present, None
        assert done is not None
        try:
            done(result, error)
        finally:
            if self._waiting:
                assert self._sliced is not None
                piece = self._waiting.popleft()
                self._present = piece.done
                self._sliced.run(piece.steps, self._ended)
            else:
                self._busy = False
