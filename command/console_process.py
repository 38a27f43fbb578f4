"""The console of `ottla serve --console`: a process beside the broker's.

Owns that process. The process starts when clients can connect, and ends with the broker. If the
broker is killed, the console's standard input is closed, which ends it. Its output goes to the
broker's terminal.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from importlib.util import find_spec

from broker.config.start_error import StartError
from command.admin.decode_options import DecodeOptions
from ottla.launcher import needs_packages, ottla_command

_NEEDED = ("starlette", "uvicorn")
_STOP_WITHIN_S = 5.0
_ANYWHERE = (None, "", "0.0.0.0", "::")


def check_console_installed() -> None:
    """Check that the console's packages are installed. Raises StartError if any is missing, as
    after `pip install --no-deps`."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise StartError(needs_packages("the console needs", *missing))


class ConsoleProcess:
    """The console process that belongs to a broker."""

    def __init__(
        self, folders: Sequence[str], port: int, decode: DecodeOptions, *, allow_writes: bool
    ) -> None:
        """Begin without a process; `folders` are the broker's data folders.

        Raises StartError if packages of the console are missing.
        """
        check_console_installed()
        self._folders = folders
        self._port = port
        self._decode = decode
        self._allow_writes = allow_writes
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, host: str | None, port: int) -> None:
        """Start the process for the broker that listens at this address."""
        broker_host = "localhost" if host in _ANYWHERE else host
        words = ["console", "--bootstrap-server", f"{broker_host}:{port}"]
        for folder in self._folders:
            words += ["--data", folder]
        words += ["--port", str(self._port), "--while-stdin", *self._decode.words()]
        if self._allow_writes:
            words.append("--allow-writes")
        self._process = subprocess.Popen(  # noqa: S603 - this installation's own command
            ottla_command(*words), stdin=subprocess.PIPE
        )

    def stop(self) -> None:
        """Close the standard input of the process, which ends it, and wait for its end; kill it
        after _STOP_WITHIN_S. Do nothing if it was not started."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
