"""How far a load is, as it tells it."""

from __future__ import annotations

from collections.abc import Callable


class Told:
    """`units` of work done since `ready`; each load says what a unit is."""

    def __init__(self, clock: Callable[[], float], tell: Callable[[str], object]) -> None:
        """`clock` in seconds; `tell` is given a line."""
        self._clock, self._tell = clock, tell
        self._began: float | None = None
        self._is_whole = False
        self.units = 0.0

    @property
    def seconds(self) -> float:
        """Since `ready`; 0 before."""
        return self._clock() - self._began if self._began is not None else 0.0

    @property
    def is_ready(self) -> bool:
        return self._began is not None

    def ready(self) -> None:
        """The load is under way: from now on it counts."""
        if not self.is_ready:
            self._began = self._clock()
            self.units = 0.0
            self._tell("ready")

    def did(self, units: float) -> None:
        """So much more is done."""
        self.units += units

    def whole(self) -> None:
        """All of the load was there once."""
        if not self._is_whole:
            self._is_whole = True
            self._tell("whole")
