"""An Ottla broker in a process of its own: for tests, and for whoever scripts one.

Owns the process, its port, its data folder and its log file. It knows nothing of pytest
(`ottla.testing.pytest_plugin` does) and imports nothing of the broker itself: what it runs is the
command.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from ottla.__main__ import READY, ottla_command

HOST = "127.0.0.1"
_PORT_ATTEMPTS = 5
_POLL_S = 0.01
_SHOWN_LINES = 200


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
        self.port = port
        self._keeps_data = data_dir is not None
        self._folder = Path(tempfile.mkdtemp(prefix="ottla-"))
        self.data_dir = Path(data_dir) if data_dir is not None else self._folder / "data"
        self.log_file = self._folder / "broker.log"
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` for a client."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        assert self._process is not None, "the broker is not running"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> BrokerProcess:
        """Start and return once it accepts connections. RuntimeError, with its output, if not."""
        assert not self.running, "the broker is running already"
        chosen = self.port != 0
        for attempt in range(_PORT_ATTEMPTS):
            if not chosen:
                self.port = free_port()
            if self._came_up():
                return self
            taken = "address already in use" in self.output().lower()
            if chosen or not taken or attempt == _PORT_ATTEMPTS - 1:
                break
        text = self.output()
        self.kill()
        raise RuntimeError(f"the broker did not start; it said:\n{text}")

    def stop(self, timeout_s: float = 30) -> int:
        """Stop it as SIGTERM does and wait; its exit code. RuntimeError if it does not end."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(
                f"the broker did not stop within {timeout_s} s; it said:\n{self.output()}"
            ) from None
        self._process = None
        return code

    def kill(self) -> None:
        """End it as `kill -9` does: nothing is flushed, nobody is told."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> BrokerProcess:
        """Stop it if it runs, and start it on the same port and data."""
        if self.running:
            self.stop()
        self._process = None
        return self.start()

    def output(self) -> str:
        """The last lines that it printed and logged, over all its starts."""
        with contextlib.suppress(FileNotFoundError):
            text = self.log_file.read_text("utf-8", "replace")
            return "\n".join(text.splitlines()[-_SHOWN_LINES:])
        return ""

    def close(self) -> None:
        """Stop it whatever its state, and remove the temporary folder."""
        try:
            if self.running:
                self.stop(timeout_s=10)
        finally:
            self.kill()
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> BrokerProcess:
        return self.start()

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
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        deadline = time.monotonic() + self._start_timeout_s
        while time.monotonic() < deadline:
            ended = self._process.poll() is not None
            if READY.encode() in self.log_file.read_bytes()[offset:]:
                return True
            if ended:
                return False
            time.sleep(_POLL_S)
        return False

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
