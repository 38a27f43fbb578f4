"""The host process, which starts brokers and other processes for the tests' process.

It starts at first use, and ends with the tests' process. Each process of tests has one host
(`the_host()`); so has each xdist worker. It never speaks to a broker, which has a channel of its
own.
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
    """Return whether the host forks brokers: on Linux, unless `OTTLA_TESTING_FORK=0` is set. macOS'
    own libraries do not survive a fork."""
    return sys.platform.startswith("linux") and os.environ.get("OTTLA_TESTING_FORK", "1") != "0"


class HostProcess:
    """The host process that belongs to this process of tests."""

    def __init__(self) -> None:
        """Start the host process. It forks brokers if `can_fork()`, and otherwise starts each as a
        new process."""
        role = "host" if can_fork() else "spawning-host"
        self._process = LedProcess(role, "the host of the brokers")

    @property
    def pid(self) -> int:
        """The process id of the host."""
        return self._process.pid

    @property
    def owner_pid(self) -> int:
        """The id of the process that started the host."""
        return self._process.owner_pid

    @property
    def running(self) -> bool:
        """Whether the host is alive and this process started it."""
        return self._process.running

    def load(self) -> None:
        """Let the host import the modules that a broker needs. Return without waiting until it has.
        A host that has ended is ignored."""
        with contextlib.suppress(BrokerGone):  # the next call to the host raises it
            self._process.channel.tell("load")

    def folder(self, name: str, *, keep: bool = False) -> Path:
        """Create a folder for one broker's files, and return its path. The name ends with a number.
        It is removed with the host unless `keep` is set."""
        return Path(self._process.call("folder", {"name": name, "keep": keep}))

    def start(self, channel: socket.socket, log: Path) -> int:
        """Start a process for a broker, which takes the socket `channel`, and return its pid. Its
        peer controls the broker. Output is appended to the file `log`."""
        args = {"log": str(log)}
        return int(self._process.call("start", args, fds=(channel.fileno(),)))

    def run(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        """Start a command as a process that ends with the host, and return its pid. `environment`
        is its whole environment. Output is appended to the file `log`. Raises OttlaError if it
        cannot be run."""
        args = {"command": list(command), "log": str(log), "environment": dict(environment)}
        return int(self._process.call("run", args))

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to a process that `start` or `run` began. Return whether it was still
        alive. Raises OttlaError for any other process."""
        return bool(self._process.call("signal", {"pid": pid, "signal": int(number)}))

    def wait(self, pid: int, timeout_s: float) -> int:
        """Wait for the end of a process. Return its exit code, or minus the number of the signal
        that ended it. Raises DeadlinePassed after `timeout_s` seconds."""
        return int(self._process.call("wait", {"pid": pid}, timeout_s=timeout_s))

    def drop(self, folder: Path) -> None:
        """Remove a folder that `folder` created, unless it was created with `keep`. The time-out is
        long: 10,000 partitions are 50,000 files."""
        self._process.call("drop", {"folder": str(folder)}, timeout_s=_DROP_TIMEOUT_S)

    def close(self) -> None:
        """End the host with all processes that it started, and remove their folders."""
        self._process.close(_END_TIMEOUT_S)


_host_of_process = OnePerProcess(HostProcess)


def the_host() -> HostProcess:
    """Return the host of this process. Start it if it does not run."""
    return _host_of_process.get()
