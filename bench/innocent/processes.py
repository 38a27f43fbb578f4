"""The processes beside the broker: that of the innocent client, and that of the load."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from bench.innocent.client import Trips
from bench.peers import ROOT
from broker.network.readiness import readable

END_S = 60.0


class LineProcess:
    """A process that prints lines, and is killed at the end of the `with` block."""

    def __init__(self, module: str, words: Sequence[str]) -> None:
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._unread = b""

    def line(self, timeout_s: float) -> str | None:
        """Return the next line, or None if none comes in time.

        Raises RuntimeError if the process has ended.
        """
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            left = max(0.0, deadline - time.monotonic())
            if not readable([self._process.stdout], left):
                return None
            part = self._process.stdout.read(1 << 20)
            if not part:
                raise RuntimeError(f"{self._module} ended: {self._complaint()}")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def expect(self, wanted: str, timeout_s: float) -> None:
        """Read the line `wanted`.

        Raises TimeoutError if no line comes, and RuntimeError if another does.
        """
        line = self.line(timeout_s)
        if line is None:
            raise TimeoutError(f"{self._module} is not {wanted} after {timeout_s:.0f} s")
        if line != wanted:
            raise RuntimeError(f"{self._module} says {line!r}, not {wanted!r}")

    def last(self) -> Any:
        """Return the last line, decoded from JSON."""
        line = self.line(END_S)
        if line is None:
            raise TimeoutError(f"{self._module} does not end")
        return json.loads(line)

    def close_input(self) -> None:
        """Close the process's standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        self._process.terminate()

    def _complaint(self) -> str:
        assert self._process.stderr is not None
        text = self._process.stderr.read().decode().strip()
        return text.rpartition("\n")[2]

    def __enter__(self) -> LineProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The work of a load."""

    units: float
    seconds: float


def innocent_client(port: int, topic: str, per_s: float) -> LineProcess:
    """Start an innocent client; it prints `ready` and then sends requests."""
    return LineProcess("bench.innocent.client", [str(port), topic, str(per_s)])


def load(name: str, port: int) -> LineProcess:
    """Start a load; it prints `ready`, and later `whole`."""
    return LineProcess("bench.innocent.load", [name, str(port)])


def trips_of(client: LineProcess) -> Trips:
    """End an innocent client, and return its round trips."""
    client.close_input()
    return Trips(**client.last())


def ended(process: LineProcess) -> Loaded:
    """End a load and return its work; a line `whole` may come before."""
    process.terminate()
    while isinstance(line := _read_result(process), str):
        if line != "whole":
            raise RuntimeError(f"a load says {line!r}")
    return Loaded(**line)


def _read_result(process: LineProcess) -> Any:
    """Return the process's next line, parsed if it is JSON.

    Raises TimeoutError after END_S seconds.
    """
    line = process.line(END_S)
    if line is None:
        raise TimeoutError("a load does not end")
    return json.loads(line) if line.startswith("{") else line
