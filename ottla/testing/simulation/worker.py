"""The process of the simulated clusters, as the tests' process sees it.

Started at the first simulation, ends with this process, whatever ends that: its channel is a socket
pair. One for each process; a run uses it alone.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from ottla.testing.channel import Channel
from ottla.testing.errors import BrokerGone, OttlaError
from ottla.testing.frames import Json

_MAIN = Path(__file__).parent.with_name("host_main.py")
CALL_TIMEOUT_S = 300.0
"""Of real time: what no step of a run takes."""


class WorkerProcess:
    """See the module."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-P", str(_MAIN), "simulation", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._channel = Channel(ours, "the process of the simulation")
        self.owner_pid = os.getpid()
        self.in_use = threading.Lock()
        """Held by whoever has a run under way."""

    @property
    def pid(self) -> int:
        """Of that process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it is there, for this process."""
        return (
            self.owner_pid == os.getpid()
            and not self._channel.gone
            and self._process.poll() is None
        )

    def call(self, op: str, args: Mapping[str, Json]) -> Json:
        """One operation of `broker.testing.simulation.users.worker`."""
        try:
            return self._channel.call(op, args, timeout_s=CALL_TIMEOUT_S)
        except BrokerGone as error:
            self._said.seek(0)
            said = self._said.read().decode("utf-8", "replace")
            raise OttlaError(f"{error}; it said:\n{said}") from error

    def close(self) -> None:
        """End it."""
        self._channel.close()
        if self.owner_pid == os.getpid():
            self._process.kill()  # nothing of it is worth an orderly end
            self._process.wait()
        self._said.close()


_lock = threading.Lock()
_the_worker: list[WorkerProcess] = []
_of_parents: list[WorkerProcess] = []
"""Those of the process that this one was forked from: not ours to end."""


def the_worker() -> WorkerProcess:
    """That of this process; started where it is not there."""
    with _lock:
        if _the_worker and not _the_worker[0].running:
            gone = _the_worker.pop()
            if gone.owner_pid == os.getpid():
                gone.close()
            else:
                _of_parents.append(gone)
        if not _the_worker:
            _the_worker.append(WorkerProcess())
        return _the_worker[0]


def _end() -> None:
    if _the_worker and _the_worker[0].owner_pid == os.getpid():
        _the_worker.pop().close()


atexit.register(_end)
