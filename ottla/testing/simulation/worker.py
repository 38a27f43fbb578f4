"""The process of the simulated clusters, as the tests' process sees it.

Started at the first simulation, ends with this process, whatever ends that. One for each process; a
run uses it alone.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ottla.testing.frames import Json
from ottla.testing.led_process import LedProcess, OnePerProcess

CALL_TIMEOUT_S = 300.0
"""Of real time: what no step of a run takes."""


class WorkerProcess:
    """See the module."""

    def __init__(self) -> None:
        self._process = LedProcess("simulation", "the process of the simulation")
        self.in_use = threading.Lock()
        """Held by whoever has a run under way."""

    @property
    def pid(self) -> int:
        """Of that process."""
        return self._process.pid

    @property
    def owner_pid(self) -> int:
        """The process that has started it."""
        return self._process.owner_pid

    @property
    def running(self) -> bool:
        """Whether it is there, for this process."""
        return self._process.running

    def call(self, op: str, args: Mapping[str, Json]) -> Json:
        """Call an operation of `simulation.users.worker`, and return its answer."""
        return self._process.call(op, args, timeout_s=CALL_TIMEOUT_S)

    def close(self) -> None:
        """End it: nothing of it is worth an orderly end."""
        self._process.close(0)


_one = OnePerProcess(WorkerProcess)


def the_worker() -> WorkerProcess:
    """That of this process; started where it is not there."""
    return _one.get()
