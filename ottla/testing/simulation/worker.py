"""The worker process, which runs simulated clusters for the tests' process.

It starts at the first simulation, and ends with the tests' process. Each process of tests has a
worker of its own, which runs one seed at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ottla.testing.frames import Json
from ottla.testing.led_process import LedProcess, OnePerProcess

CALL_TIMEOUT_S = 300.0
"""Seconds of real time, more than any step of a run takes."""


class WorkerProcess:
    """The worker process that belongs to this process of tests."""

    def __init__(self) -> None:
        """Start the worker process."""
        self._process = LedProcess("simulation", "the process of the simulation")
        self.in_use = threading.Lock()
        """The lock that a `simulate` call holds while it runs."""

    @property
    def pid(self) -> int:
        """The process id of the worker."""
        return self._process.pid

    @property
    def owner_pid(self) -> int:
        """The id of the process that started the worker."""
        return self._process.owner_pid

    @property
    def running(self) -> bool:
        """Whether the worker is alive and this process started it."""
        return self._process.running

    def call(self, op: str, args: Mapping[str, Json]) -> Json:
        """Call an operation of `simulation.users.worker`, and return its answer. Raises OttlaError
        if the operation fails or the worker has ended, DeadlinePassed after CALL_TIMEOUT_S."""
        return self._process.call(op, args, timeout_s=CALL_TIMEOUT_S)

    def close(self) -> None:
        """Kill the worker at once; it has nothing to save."""
        self._process.close(0)


_worker_of_process = OnePerProcess(WorkerProcess)


def the_worker() -> WorkerProcess:
    """Return the worker of this process. Start it if it does not run."""
    return _worker_of_process.get()
