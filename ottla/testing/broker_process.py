"""`ottla serve` in a process of its own: for tests of the command, and for whoever scripts one.

`ottla.testing.Broker` starts sooner and can do more. Here the process is the command itself,
started by the host (`ottla.testing.host`), with which it ends. Owns its port, its data folder and
its log file.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from ottla.__main__ import READY, ottla_command
from ottla.testing.errors import DeadlinePassed, StartFailed, StopFailed
from ottla.testing.host import the_host
from ottla.testing.log_lines import last_lines
from ottla.testing.ports import HOST, held

_POLL_S = 0.01
_NO_SIGNAL = 0
_KILL_TIMEOUT_S = 30.0


class BrokerProcess:
    """One broker. It is started with `start()` or by `with`, and keeps its port when restarted.

    `properties`  server keys above the single-node profile, such as `{"num.partitions": "3"}`
    `data_dir`    an existing folder to keep; else a temporary one, removed by `close()`
    `port`        0 takes a free one
    """

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        start_timeout_s: float = 30,
    ) -> None:
        self.properties = dict(properties or {})
        self._held = held(0) if port == 0 else None
        self.port = port if self._held is None else self._held.number
        self._host = the_host()
        self._folder = self._host.folder("process")
        self.data_dir = Path(data_dir) if data_dir is not None else self._folder / "data"
        self.log_file = self._folder / "broker.log"
        self._start_timeout_s = start_timeout_s
        self._pid: int | None = None

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for a client."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        assert self._pid is not None, "the broker is not running"
        return self._pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return (
            self._pid is not None
            and self._host.running
            and self._host.signal(self._pid, _NO_SIGNAL)
        )

    def start(self) -> BrokerProcess:
        """Start and return once it accepts connections. StartFailed, with its output, if not."""
        assert not self.running, "the broker is running already"
        if self._came_up():
            return self
        text = self.output()
        self.kill()
        raise StartFailed(f"the broker did not start; it said:\n{text}")

    def stop(self, timeout_s: float = 30) -> int:
        """Stop it as SIGTERM does and wait; its exit code. StopFailed if it does not end."""
        if self._pid is None:
            return 0
        self._host.signal(self._pid, signal.SIGTERM)
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
            self._host.wait(self._pid, _KILL_TIMEOUT_S)
            self._ended()

    def restart(self) -> BrokerProcess:
        """Stop it if it runs, and start it on the same port and data."""
        self.stop()
        return self.start()

    def output(self) -> str:
        """The last lines that it printed and logged, over all its starts."""
        return last_lines(self.log_file)

    def close(self) -> None:
        """Stop it whatever its state, and remove the temporary folder."""
        try:
            if self.running:
                self.stop(timeout_s=10)
        finally:
            if self._host.running:
                self.kill()
                self._host.drop(self._folder)
            if self._held is not None:
                self._held.release()

    def __enter__(self) -> BrokerProcess:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _came_up(self) -> bool:
        """Start the process and wait for its line; False when it ended or took too long."""
        offset = self.log_file.stat().st_size if self.log_file.exists() else 0
        if self._held is not None:
            self._held.lend()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._pid = self._host.run(self._command(), self.log_file, environment)
        deadline = time.monotonic() + self._start_timeout_s
        while time.monotonic() < deadline:
            ended = not self.running
            if READY.encode() in self.log_file.read_bytes()[offset:]:
                return True
            if ended:
                return False
            time.sleep(_POLL_S)
        return False

    def _ended(self) -> None:
        self._pid = None
        if self._held is not None:
            self._held.take_again()

    def _command(self) -> list[str]:
        keys = {
            "listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "log.dirs": str(self.data_dir),
            **self.properties,
        }
        overrides = [("--override", f"{key}={value}") for key, value in keys.items()]
        return ottla_command("serve", *(word for override in overrides for word in override))


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
