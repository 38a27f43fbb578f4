"""A child process of Ottla that this process controls over a socket pair, and that ends with it.

It owns the process, whose program is `host_main.py`, and the channel to it. `OnePerProcess` keeps a
single object of a kind for each process of tests; each xdist worker has its own.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from ottla.testing.channel import CALL_TIMEOUT_S, ProcessChannel
from ottla.testing.errors import BrokerGone, OttlaError
from ottla.testing.frames import Json

_MAIN = Path(__file__).with_name("host_main.py")


class LedProcess:
    """A child process that runs `host_main.py`, and the channel to it."""

    def __init__(self, role: str, peer_name: str) -> None:
        """Start the process and open the channel to it. `role` is a role of `host_main.py`; error
        messages call the process `peer_name`. Its output goes to a temporary file."""
        ours, theirs = socket.socketpair()
        self._output_file = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-P", str(_MAIN), role, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._output_file,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                # Ctrl-C in a terminal is for the tests, which still clean up
                start_new_session=True,
            )
        finally:
            theirs.close()
        self.channel = ProcessChannel(ours, peer_name)
        self.owner_pid = os.getpid()

    @property
    def pid(self) -> int:
        """The process id of the child process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the child process is alive and this process started it."""
        return (
            self.owner_pid == os.getpid() and not self.channel.gone and self._process.poll() is None
        )

    def call(
        self,
        op: str,
        args: Mapping[str, Json],
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        fds: Sequence[int] = (),
    ) -> Json:
        """Return the answer of an operation, as `ProcessChannel.call` does. Raises OttlaError, with
        the process's output, if the process has ended."""
        try:
            return self.channel.call(op, args, timeout_s=timeout_s, fds=fds)
        except BrokerGone as error:
            self._output_file.seek(0)
            output = self._output_file.read().decode("utf-8", "replace")
            raise OttlaError(f"{error}; it said:\n{output}") from error

    def close(self, patience_s: float) -> None:
        """End the process: close its channel, and kill it if it still runs after `patience_s`
        seconds. In a process forked from the owner, close only this copy of the channel."""
        self.channel.close()
        if self.owner_pid == os.getpid():
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._output_file.close()


class Owned(Protocol):
    """An object of which each process has at most one."""

    @property
    def running(self) -> bool:
        """Whether the object is usable, and this process started it."""

    @property
    def owner_pid(self) -> int:
        """The id of the process that started the object."""

    def close(self) -> None:
        """Release what the object holds, and end its process."""


Resource = TypeVar("Resource", bound=Owned)


class OnePerProcess(Generic[Resource]):
    """A holder that starts its object at the first use, and closes it when the process exits."""

    def __init__(self, start: Callable[[], Resource]) -> None:
        """Prepare the holder; `start` creates the object at the first `get`. Registers the closing
        of the object with `atexit`."""
        self._start = start
        self._lock = threading.Lock()
        self._started: list[Resource] = []
        """The last object is in use. The others have ended, or belong to a process from which this
        one was forked; then this process must not close them."""
        atexit.register(self._close_own)

    def get(self) -> Resource:
        """Return this process's object. Create it if there is none, or if the last one is not
        running or belongs to a parent process."""
        with self._lock:
            if not self._started or not self._started[-1].running:
                self._started.append(self._start())
            return self._started[-1]

    def _close_own(self) -> None:
        """Close the objects that this process started, but not those that its parent started before
        a fork."""
        for resource in self._started:
            if resource.owner_pid == os.getpid():
                resource.close()
