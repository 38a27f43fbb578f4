"""A process of Ottla's that this one leads over a socket pair: it ends with it, however that ends.

Owns the process, whose program is `host_main.py`, and its channel. `OnePerProcess` is how there is
one of a kind for each process of tests; each worker of xdist has its own.
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

from ottla.testing.channel import CALL_TIMEOUT_S, Channel
from ottla.testing.errors import BrokerGone, OttlaError
from ottla.testing.frames import Json

_MAIN = Path(__file__).with_name("host_main.py")


class LedProcess:
    """See the module."""

    def __init__(self, role: str, who: str) -> None:
        """`role`: one of those of the program; `who` it is, in messages."""
        ours, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-P", str(_MAIN), role, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # a terminal's Ctrl-C is the tests', who still tidy up
            )
        finally:
            theirs.close()
        self.channel = Channel(ours, who)
        self.owner_pid = os.getpid()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it is there, for this process."""
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
        """As `Channel.call`; where the process has ended, OttlaError with what it said."""
        try:
            return self.channel.call(op, args, timeout_s=timeout_s, fds=fds)
        except BrokerGone as error:
            self._said.seek(0)
            said = self._said.read().decode("utf-8", "replace")
            raise OttlaError(f"{error}; it said:\n{said}") from error

    def close(self, patience_s: float) -> None:
        """End it: it sees the end of its channel, and is killed where it goes on for longer."""
        self.channel.close()
        if self.owner_pid == os.getpid():
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._said.close()


class Owned(Protocol):
    """What there is one of for a process."""

    @property
    def running(self) -> bool:
        """Whether it is there, for this process."""

    @property
    def owner_pid(self) -> int:
        """The process that has started it."""

    def close(self) -> None:
        """End it."""


One = TypeVar("One", bound=Owned)


class OnePerProcess(Generic[One]):
    """Started where it is not there; closed when the process exits."""

    def __init__(self, start: Callable[[], One]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._started: list[One] = []
        """The last one is in use. Others have ended, or are those of a process that this one was
        forked from, which are not ours to end."""
        atexit.register(self._close)

    def get(self) -> One:
        """The one of this process."""
        with self._lock:
            if not self._started or not self._started[-1].running:
                self._started.append(self._start())
            return self._started[-1]

    def _close(self) -> None:
        for one in self._started:
            if one.owner_pid == os.getpid():
                one.close()
