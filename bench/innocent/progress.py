"""The progress of a load, as the load reports it."""

from __future__ import annotations

from collections.abc import Callable


class LoadProgress:
    """The `units` of work done since `ready`; each load defines its unit."""

    def __init__(self, clock: Callable[[], float], tell: Callable[[str], object]) -> None:
        """Start with no work. `clock` is in seconds; `tell` gets each line."""
        self._clock, self._tell = clock, tell
        self._began: float | None = None
        self._is_whole = False
        self.units = 0.0

    @property
    def seconds(self) -> float:
        """The seconds since `ready`; 0 before."""
        return self._clock() - self._began if self._began is not None else 0.0

    @property
    def is_ready(self) -> bool:
        return self._began is not None

    def ready(self) -> None:
        """Report that the load has begun; its work counts from now on."""
        if not self.is_ready:
            self._began = self._clock()
            self.units = 0.0
            self._tell("ready")

    def did(self, units: float) -> None:
        """Add units of work."""
        self.units += units

    def whole(self) -> None:
        """Report that all of the load was done once."""
        if not self._is_whole:
            self._is_whole = True
            self._tell("whole")
