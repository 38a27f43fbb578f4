"""`ottla serve` in a process of its own: for tests and scripts of the command itself.

`ottla.testing.Broker` starts sooner and can do more. Here the process runs the command; the host
(`ottla.testing.host`) starts it, and it ends with the host.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from ottla.launcher import READY, ottla_command
from ottla.testing.errors import StartFailed
from ottla.testing.own_process import STOP_TIMEOUT_S, OwnProcess
from ottla.testing.ports import HOST, held

_POLL_S = 0.01


class BrokerProcess:
    """A broker that runs as a command. `start()` or `with` starts it; it keeps its port when
    restarted.

    `properties`  server keys above the single-node profile, such as `{"num.partitions": "3"}`
    `data_dir`    an existing folder for the data, which is kept; without it, a temporary folder,
                  which `close()` removes
    `port`        the port for clients; 0 picks a free one
    """

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        data_dir: Path | str | None = None,
        port: int = 0,
        start_timeout_s: float = 90,
    ) -> None:
        self.properties = dict(properties or {})
        ports = [] if port else [held(0)]
        self.port = ports[0].number if ports else port
        self._process = OwnProcess("process", ports, data_dir)
        self._start_timeout_s = start_timeout_s

    @property
    def bootstrap_servers(self) -> str:
        """The `bootstrap.servers` of a client: `host:port`."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id while the broker runs. Raises Misuse if it does not."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.running

    @property
    def data_dir(self) -> Path:
        """The folder of the broker's data."""
        return self._process.data_dir

    @property
    def log_file(self) -> Path:
        """The file with all that the broker prints and logs."""
        return self._process.log_file

    def start(self) -> BrokerProcess:
        """Start the broker, and return when it accepts connections. Raises StartFailed, with its
        output."""
        if self._become_ready():
            return self
        text = self.output()
        self.kill()
        raise StartFailed(f"the broker did not start; it said:\n{text}")

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Stop the broker cleanly, as SIGTERM does, wait, and return its exit code. Raises
        StopFailed, and kills it, if it does not end within `timeout_s`."""
        return self._process.stop(timeout_s)

    def kill(self) -> None:
        """End the process as `kill -9` does: no flush, and no message to clients."""
        self._process.kill()

    def restart(self) -> BrokerProcess:
        """Stop the broker if it runs, and start it with the same port and data."""
        self.stop()
        return self.start()

    def output(self) -> str:
        """Return the last lines that the broker printed and logged, over all its starts."""
        return self._process.output()

    def close(self) -> None:
        """Stop the broker, whatever its state, and remove the temporary folder."""
        self._process.close(gently=True)

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

    def _become_ready(self) -> bool:
        """Start the process and wait for the line that says it is ready. Return False if the
        process ended or took too long."""
        offset = self._process.output_size
        self._process.begin_command(self._command())
        deadline = time.monotonic() + self._start_timeout_s
        while time.monotonic() < deadline:
            ended = not self.running
            if READY.encode() in self.log_file.read_bytes()[offset:]:
                return True
            if ended:
                return False
            time.sleep(_POLL_S)
        return False

    def _command(self) -> list[str]:
        """Return the `ottla serve` command, with the properties as overrides."""
        keys = {
            "listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "log.dirs": str(self.data_dir),
            **self.properties,
        }
        overrides = [("--override", f"{key}={value}") for key, value in keys.items()]
        return ottla_command("serve", *(word for override in overrides for word in override))
