"""A process of a broker under test, with what it keeps over its starts: folder, log file, ports.

Owns these. The host (`ottla.testing.host`) begins the process, and ends it when the tests end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from ottla.testing.errors import DeadlinePassed, Misuse, StopFailed
from ottla.testing.host import the_host
from ottla.testing.log_lines import last_lines
from ottla.testing.ports import HeldPort

STOP_TIMEOUT_S = 60.0
_CLOSE_TIMEOUT_S = 10.0
_END_TIMEOUT_S = 60.0
_NO_SIGNAL = 0
"""Only whether the process is there."""


class OwnProcess:
    """See the module. `close` is its end; it may be begun again until then."""

    def __init__(
        self,
        name: str,
        ports: Sequence[HeldPort],
        data_dir: Path | str | None,
        *,
        keep_data: bool = False,
    ) -> None:
        """`data_dir` None: a temporary folder, removed by `close` unless `keep_data`."""
        self._host = the_host()
        self._folder = self._host.folder(name, keep=keep_data)
        self._ports = ports
        self.data_dir = Path(data_dir).absolute() if data_dir is not None else self._folder / "data"
        self.log_file = self._folder / "broker.log"
        self.is_temporary = data_dir is None
        self._pid: int | None = None
        self._last_output = ""
        self._closed = False

    @property
    def pid(self) -> int:
        """The process id while it runs. Raises Misuse."""
        if self._pid is None:
            raise Misuse("the broker is not running: start() it")
        return self._pid

    @property
    def running(self) -> bool:
        """Whether it lives."""
        return (
            self._pid is not None
            and self._host.running
            and self._host.signal(self._pid, _NO_SIGNAL)
        )

    def begin(self, channel: socket.socket) -> None:
        """A broker, led by the other end of `channel`. Raises Misuse if it runs, or was closed."""
        self._prepare()
        self._pid = self._host.start(channel, self.log_file)

    def begin_command(self, command: Sequence[str]) -> None:
        """A command, such as `ottla serve`. Raises Misuse if it runs, or was closed."""
        self._prepare()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._pid = self._host.run(command, self.log_file, environment)

    def begin_stop(self) -> None:
        """Tell it to stop, if it runs."""
        if self._pid is not None:
            self._host.signal(self._pid, signal.SIGCONT)  # one that is paused stops, too
            self._host.signal(self._pid, signal.SIGTERM)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Stop it as SIGTERM does and wait; its exit code. StopFailed if it does not end."""
        if self._pid is None:
            return 0
        self.begin_stop()
        try:
            code = self._host.wait(self._pid, timeout_s)
        except DeadlinePassed:
            self.kill()
            raise StopFailed(
                f"the broker did not stop within {timeout_s} s; it said:\n{self.output()}"
            ) from None
        self._ended()
        return code

    def kill(self) -> None:
        """End it as `kill -9` does: nothing is flushed, nobody is told."""
        if self._pid is not None:
            self._host.signal(self._pid, signal.SIGKILL)
            self._host.wait(self._pid, STOP_TIMEOUT_S)
            self._ended()

    def pause(self) -> None:
        """Stop it where it is."""
        self._host.signal(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._host.signal(self.pid, signal.SIGCONT)

    def see_its_end(self) -> None:
        """It is about to end by itself: wait for that, so that its ports are free."""
        if self._pid is not None and self._host.running:
            with contextlib.suppress(DeadlinePassed):
                self._host.wait(self._pid, _END_TIMEOUT_S)

    def output(self, offset: int = 0) -> str:
        """The last lines that it printed and logged, over all its starts; from `offset` on."""
        if not self._closed:
            self._last_output = last_lines(self.log_file)
        return last_lines(self.log_file, offset) if offset else self._last_output

    @property
    def output_size(self) -> int:
        """How many bytes it has printed and logged."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def close(self, *, gently: bool) -> None:
        """End it, with a clean stop or without, and remove what is temporary."""
        if self._closed:
            return
        self.output()
        self._closed = True
        try:
            if self._host.running:
                self.stop(_CLOSE_TIMEOUT_S) if gently else self.kill()
                self._host.drop(self._folder)
        finally:
            self._ended()
            for port in self._ports:
                port.release()

    def _prepare(self) -> None:
        if self.running:
            raise Misuse("the broker is running already: stop() or restart() it")
        if self._closed:
            raise Misuse("the broker was closed, and its data removed: make a new one")
        self._ended()
        for port in self._ports:
            port.lend()

    def _ended(self) -> None:
        self._pid = None
        for port in self._ports:
            port.take_again()
