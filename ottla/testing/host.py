"""The host process, as the tests' process sees it: started at first use, gone with the last of it.

There is one for each process of tests (each xdist worker has
its own): `the_host()`. Never: speaks to a broker, which has a channel of its own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ottla.testing.errors import BrokerGone
from ottla.testing.led_process import LedProcess, OnePerProcess

_END_TIMEOUT_S = 60.0
_DROP_TIMEOUT_S = 300.0


def can_fork() -> bool:
    """Whether brokers are forked. macOS' own libraries do not stand it; a variable forbids it."""
    return sys.platform.startswith("linux") and os.environ.get("OTTLA_TESTING_FORK", "1") != "0"


class HostProcess:
    """See the module."""

    def __init__(self) -> None:
        role = "host" if can_fork() else "spawning-host"
        self._process = LedProcess(role, "the host of the brokers")

    @property
    def pid(self) -> int:
        """Of the host."""
        return self._process.pid

    @property
    def owner_pid(self) -> int:
        """The process that has started it."""
        return self._process.owner_pid

    @property
    def running(self) -> bool:
        """Whether it is there, for this process."""
        return self._process.running

    def load(self) -> None:
        """Let it load what the first broker needs; nobody waits for that."""
        with contextlib.suppress(BrokerGone):  # told by the first call that needs it
            self._process.channel.tell("load")

    def folder(self, name: str, *, keep: bool = False) -> Path:
        """A new folder for one broker's files, which goes with the host unless it is kept."""
        return Path(self._process.call("folder", {"name": name, "keep": keep}))

    def start(self, channel: socket.socket, log: Path) -> int:
        """A process for a broker, led by the other end of `channel`; its pid."""
        args = {"log": str(log)}
        return int(self._process.call("start", args, fds=(channel.fileno(),)))

    def run(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        """Any command, as a process that ends with the host; its pid."""
        args = {"command": list(command), "log": str(log), "environment": dict(environment)}
        return int(self._process.call("run", args))

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to a process of `start` or `run`; whether it was still there."""
        return bool(self._process.call("signal", {"pid": pid, "signal": int(number)}))

    def wait(self, pid: int, timeout_s: float) -> int:
        """How a process ended: its exit code, or minus the signal. Raises DeadlinePassed."""
        return int(self._process.call("wait", {"pid": pid}, timeout_s=timeout_s))

    def drop(self, folder: Path) -> None:
        """Remove a folder of `folder`; that of 10,000 partitions is 50,000 files."""
        self._process.call("drop", {"folder": str(folder)}, timeout_s=_DROP_TIMEOUT_S)

    def close(self) -> None:
        """End it, with all that it started; their folders are gone then."""
        self._process.close(_END_TIMEOUT_S)


_one = OnePerProcess(HostProcess)


def the_host() -> HostProcess:
    """That of this process; started where it is not there."""
    return _one.get()
