"""The host process, as the tests' process sees it: started at first use, gone with the last of it.

Owns that process and its channel. There is one for each process of tests (each xdist worker has
its own): `the_host()`. Never: speaks to a broker, which has a channel of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ottla.testing.channel import CALL_TIMEOUT_S, Channel
from ottla.testing.errors import BrokerGone, OttlaError
from ottla.testing.frames import Json

_MAIN = Path(__file__).with_name("host_main.py")
_END_TIMEOUT_S = 10.0
_WAIT_MARGIN_S = 1.0


def can_fork() -> bool:
    """Whether brokers are forked. macOS' own libraries do not stand it; a variable forbids it."""
    return sys.platform.startswith("linux") and os.environ.get("OTTLA_TESTING_FORK", "1") != "0"


class HostProcess:
    """See the module."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        role = "host" if can_fork() else "spawning-host"
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
        self._channel = Channel(ours, "the host of the brokers")
        self.owner_pid = os.getpid()

    @property
    def pid(self) -> int:
        """Of the host."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it is there, for this process."""
        return (
            self.owner_pid == os.getpid()
            and not self._channel.gone
            and self._process.poll() is None
        )

    def load(self) -> None:
        """Let it load what the first broker needs; nobody waits for that."""
        with contextlib.suppress(BrokerGone):  # told by the first call that needs it
            self._channel.tell("load")

    def folder(self, name: str, *, keep: bool = False) -> Path:
        """A new folder for one broker's files, which goes with the host unless it is kept."""
        return Path(self._call("folder", {"name": name, "keep": keep}))

    def start(self, channel: socket.socket, log: Path) -> int:
        """A process for a broker, led by the other end of `channel`; its pid."""
        args = {"log": str(log)}
        return int(self._call("start", args, fds=(channel.fileno(),)))

    def run(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        """Any command, as a process that ends with the host; its pid."""
        args = {"command": list(command), "log": str(log), "environment": dict(environment)}
        return int(self._call("run", args))

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to a process of `start` or `run`; whether it was still there."""
        return bool(self._call("signal", {"pid": pid, "signal": int(number)}))

    def wait(self, pid: int, timeout_s: float) -> int:
        """How a process ended: its exit code, or minus the signal. Raises DeadlinePassed."""
        return int(self._call("wait", {"pid": pid}, timeout_s=timeout_s))

    def drop(self, folder: Path) -> None:
        """Remove a folder of `folder`."""
        self._call("drop", {"folder": str(folder)})

    def close(self) -> None:
        """End it, with all that it started; their folders are gone then."""
        self._channel.close()
        if self.owner_pid == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_TIMEOUT_S)
        self._said.close()

    def _call(
        self,
        op: str,
        args: Mapping[str, Json],
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        fds: Sequence[int] = (),
    ) -> Json:
        try:
            return self._channel.call(op, args, timeout_s=timeout_s, fds=fds)
        except BrokerGone as error:
            raise OttlaError(f"{error}; it said:\n{self._output()}") from error

    def _output(self) -> str:
        self._said.seek(0)
        return self._said.read().decode("utf-8", "replace")


_lock = threading.Lock()
_hosts: list[HostProcess] = []
"""The last one is in use. Others have ended, or are those of a process that this one was forked
from."""


def the_host() -> HostProcess:
    """That of this process; started where it is not there."""
    with _lock:
        if not _hosts or not _hosts[-1].running:
            _hosts.append(HostProcess())
        return _hosts[-1]


def _end() -> None:
    for one in _hosts:
        if one.owner_pid == os.getpid():
            one.close()


atexit.register(_end)
