"""Work that must be done in order, where each piece may be long and is done in slices.

A short piece is done at once if no other is before it, so short work never waits. While a long one
is under way, later pieces wait behind it, and other work of the loop runs between its slices. So no
other piece changes the state on which a piece bases a decision.

It owns the order of the pieces of one owner. It never knows what a piece does, nor when a slice is
run (`ground.sliced_work`).

It replaces the threads of Kafka's event queues (`KafkaEventQueue`, `CoordinatorRuntime`), which
also handle one event after another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ground.sliced_work import SlicedWork, Steps, in_one_go

Done = Callable[[Any, Exception | None], None]
"""A callback that takes the result of a piece, or the exception that it raised."""


def raise_error(_result: object, error: Exception | None) -> None:
    """Raise the error of a piece whose result is not used. So a failure in a later slice is raised
    like one in the first, and the event loop logs it."""
    if error is not None:
        raise error


class _Piece(NamedTuple):
    steps: Steps[object]
    done: Done


class OrderedWork:
    """The pieces of work of one owner: each begins when the one before it has ended.

    A short piece is done at once if no other is before it.
    """

    def __init__(self, sliced: SlicedWork | None) -> None:
        """Create an empty queue. Without `sliced`, each piece is done at once as a whole."""
        self._sliced = sliced
        self._waiting: deque[_Piece] = deque()
        self._busy = False
        self._current_done: Done | None = None

    @property
    def is_behind(self) -> bool:
        """Whether a piece has not ended yet."""
        return self._busy

    def take(self, steps: Steps[object], done: Done) -> None:
        """Do a piece after all pieces before it, and call `done(result, error)` at its end. If no
        piece is before it, its first slice is done at once.

        Raises the error of that first slice; `done` is not called then.
        """
        if self._busy:
            self._waiting.append(_Piece(steps, done))
            return
        self._busy = True
        try:
            self._begin(steps, done)
        finally:
            # The `done` of a short piece may have added others; after a failed piece none is
            # waiting.
            while self._current_done is None and self._waiting:
                self._begin_later(self._waiting.popleft())
            self._busy = self._current_done is not None

    def take_later(self, steps: Steps[object], done: Done) -> None:
        """Do a piece as `take` does, but begin it only in a later turn: for callers with work for
        many owners. Without `sliced`, this is `take`."""
        if self._busy or self._sliced is None:
            self.take(steps, done)
        else:
            self._busy = True
            self._current_done = done
            self._sliced.run(steps, self._ended)

    def _begin(self, steps: Steps[object], done: Done) -> None:
        """Do a piece up to the end of its first slice, and call `done` if it has ended. Raises the
        error of that slice; `done` is then not called."""
        if self._sliced is None:
            done(in_one_go(steps), None)
            return
        self._current_done = done
        try:
            ended = self._sliced.begin(steps, self._ended)
        except Exception:
            self._current_done = None
            raise
        if ended:
            self._current_done = None
            done(ended[0], None)

    def _begin_later(self, piece: _Piece) -> None:
        """Begin a piece that has waited. `done` gets the error of its first slice, except an
        AssertionError, which is raised."""
        try:
            self._begin(*piece)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001  its owner gets the error as a value
            piece.done(None, error)

    def _ended(self, result: object, error: Exception | None) -> None:
        """Call `done` of the long piece that has ended, then begin the next piece in a later
        turn."""
        done, self._current_done = self._current_done, None
        assert done is not None
        try:
            done(result, error)
        finally:
            if self._waiting:
                assert self._sliced is not None
                piece = self._waiting.popleft()
                self._current_done = piece.done
                self._sliced.run(piece.steps, self._ended)
            else:
                self._busy = False
