"""The processes of the demo: each in a session of its own, its lines shown and kept.

Owns start, lines and end of a process. Ends only processes of the demo, by their ids.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from pipeline.errors import PipelineError

_POLL_S = 0.1
_HIDDEN = ("Using incubator modules",)
_PORTS_NEEDED = 20


class Background:
    """A Python module in a process: `Background("stream", ["-m", "pipeline", "stream", …])`."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        say: Callable[[str], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.lines: list[str] = []
        self._say = say
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
            start_new_session=True,  # Ctrl-C reaches the demo alone, which ends all in order
        )
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def find(self, pattern: str, since: int = 0) -> re.Match[str] | None:
        """Return the match in the last line with the pattern, from line `since` on, or None."""
        for line in reversed(self.lines[since:]):
            match = re.search(pattern, line)
            if match is not None:
                return match
        return None

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        """Wait for a line with the pattern, and return the match in the last such line.

        Raises PipelineError if the process ends without the line, or after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while True:
            alive = self.running
            match = self.find(pattern)
            if match is not None:
                return match
            if not alive or time.monotonic() > deadline:
                last = self.lines[-1] if self.lines else "nothing"
                raise PipelineError(f"demo: {self.name} did not come up; it said: {last}")
            time.sleep(_POLL_S)

    def wait(self, seconds: float) -> int:
        """Wait for the end of the process, and return its exit code.

        Raises PipelineError if the process has not ended after `seconds`.
        """
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise PipelineError(f"demo: {self.name} has not ended within {seconds:g} s") from error
        self._reader.join(seconds)
        return code

    def kill(self) -> None:
        """Kill the process and its children, as `kill -9` does."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def end(self, seconds: float) -> None:
        """Interrupt the process, and kill it if it has not ended after `seconds`."""
        if self.running:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        if self.running:
            self.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for line in out:
                text = line.rstrip("\n")
                if any(word in text for word in _HIDDEN):
                    continue
                self.lines.append(text)
                self._say(text)


def free_ports() -> int:
    """Return the first of twenty free ports in a row. Raises PipelineError if there are none."""
    for base in range(19092, 60000, 1000):
        if all(_is_free(port) for port in range(base, base + _PORTS_NEEDED)):
            return base
    raise PipelineError("demo: no twenty free ports in a row were found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
