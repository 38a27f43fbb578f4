"""The process of a broker under test, and what stays over its restarts: folder, log file, ports.

It owns these. The host (`ottla.testing.host`) starts the process, and ends it when the tests end.
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
"""The signal that only checks whether the process is alive."""


class OwnProcess:
    """The process of a broker under test. It can be started again until `close`."""

    def __init__(
        self,
        name: str,
        ports: Sequence[HeldPort],
        data_dir: Path | str | None,
        *,
        keep_data: bool = False,
    ) -> None:
        """Create the folder of the log file, and start the host if it does not run. `data_dir`
        None: data in a temporary folder, which `close` removes unless `keep_data`. `ports` are
        released by `close`."""
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
        """The process id of the last start, also if the process has ended by itself. Raises Misuse
        before a start and after `stop` or `kill`."""
        if self._pid is None:
            raise Misuse("the broker is not running: start() it")
        return self._pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return (
            self._pid is not None
            and self._host.running
            and self._host.signal(self._pid, _NO_SIGNAL)
        )

    def begin(self, channel: socket.socket) -> None:
        """Start a broker's process, which takes the socket `channel`; its peer controls the broker.
        Output is appended to `log_file`. Raises Misuse if the process runs, or `close` was
        called."""
        self._prepare()
        self._pid = self._host.start(channel, self.log_file)

    def begin_command(self, command: Sequence[str]) -> None:
        """Start a command, such as `ottla serve`, with this process's environment. Output is
        appended to `log_file`. Raises Misuse if the process runs, or `close` was called."""
        self._prepare()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._pid = self._host.run(command, self.log_file, environment)

    def begin_stop(self) -> None:
        """Send the process SIGTERM, if it runs, without waiting. A paused process continues, so
        that it stops too."""
        if self._pid is not None:
            self._host.signal(self._pid, signal.SIGCONT)  # a paused process stops too
            self._host.signal(self._pid, signal.SIGTERM)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Stop the process cleanly, as SIGTERM does, wait, and return its exit code; 0 if it does
        not run. Raises StopFailed, and kills it, if it does not end within `timeout_s` seconds."""
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
        self._mark_ended()
        return code

    def kill(self) -> None:
        """End the process as `kill -9` does, and wait for its end: no flush, and no message to
        clients. Does nothing if it does not run."""
        if self._pid is not None:
            self._host.signal(self._pid, signal.SIGKILL)
            self._host.wait(self._pid, STOP_TIMEOUT_S)
            self._mark_ended()

    def pause(self) -> None:
        """Pause the process, as SIGSTOP does. Raises Misuse if it was not started."""
        self._host.signal(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process continue after `pause`. Raises Misuse if it was not started."""
        self._host.signal(self.pid, signal.SIGCONT)

    def wait_for_end(self) -> None:
        """Wait, for at most 60 s, until the process, which is about to end by itself, has ended, so
        that its ports are free."""
        if self._pid is not None and self._host.running:
            with contextlib.suppress(DeadlinePassed):
                self._host.wait(self._pid, _END_TIMEOUT_S)

    def output(self, offset: int = 0) -> str:
        """Return the last 200 lines that the process printed and logged, over all its starts.
        `offset` is the number of bytes to skip. After `close` has removed the file, the text is
        left only without an offset."""
        if not self._closed:
            self._last_output = last_lines(self.log_file)
        return last_lines(self.log_file, offset) if offset else self._last_output

    @property
    def output_size(self) -> int:
        """The number of bytes that the process has printed and logged."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def close(self, *, gently: bool) -> None:
        """End the process, remove the temporary files, and release the ports. `gently`: by a clean
        stop, which raises StopFailed after 10 s; otherwise by a kill. A further call does
        nothing."""
        if self._closed:
            return
        self.output()
        self._closed = True
        try:
            if self._host.running:
                self.stop(_CLOSE_TIMEOUT_S) if gently else self.kill()
        finally:
            if self._host.running:
                self._host.drop(self._folder)
            self._mark_ended()
            for port in self._ports:
                port.release()

    def _prepare(self) -> None:
        """Let the next process listen on the reserved ports. Raises Misuse if the broker runs or
        was closed."""
        if self.running:
            raise Misuse("the broker is running already: stop() or restart() it")
        if self._closed:
            raise Misuse("the broker was closed, and its data removed: make a new one")
        self._mark_ended()
        for port in self._ports:
            port.allow_broker()

    def _mark_ended(self) -> None:
        """Forget the process id, and reserve the ports again."""
        self._pid = None
        for port in self._ports:
            port.reserve_again()
