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
        """Create the folder; `start()` starts the process. `data_dir` None: a temporary folder,
        which `close()` removes. `port` 0: reserve a free port; any other is not reserved."""
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
        """The process id of the last start, also if the process has ended by itself. Raises Misuse
        before `start` and after `stop` or `kill`."""
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
        """Start the broker, and return this object when it accepts connections. Raises Misuse if it
        runs already or was closed. Raises StartFailed, with the output, if it does not start in
        time."""
        if self._become_ready():
            return self
        text = self.output()
        self.kill()
        raise StartFailed(f"the broker did not start; it said:\n{text}")

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Stop the broker cleanly, as SIGTERM does, wait, and return its exit code; 0 if it does
        not run. Raises StopFailed, and kills it, if it does not end within `timeout_s` seconds."""
        return self._process.stop(timeout_s)

    def kill(self) -> None:
        """End the process as `kill -9` does, and wait for its end: no flush, and no message to
        clients. Does nothing if it does not run."""
        self._process.kill()

    def restart(self) -> BrokerProcess:
        """Stop the broker if it runs, start it with the same port and data, and return this object.
        Raises StopFailed, StartFailed."""
        self.stop()
        return self.start()

    def output(self) -> str:
        """Return the last 200 lines that the broker printed and logged, over all its starts."""
        return self._process.output()

    def close(self) -> None:
        """Stop the broker cleanly if it runs, remove the temporary folder, and release the port. A
        further call does nothing. Raises StopFailed, and kills it, if the stop takes more than 10
        s."""
        self._process.close(gently=True)

    def __enter__(self) -> BrokerProcess:
        """Start the broker, and return this object. If that fails, close the broker and raise the
        error."""
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
        """Start the process, and return True when its log has the line that says it is ready.
        Return False if the process ended or took longer than `start_timeout_s`."""
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
