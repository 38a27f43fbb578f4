"""Nodes of an `ottla cluster`, killed and started again from another shell.

A broker holds the lock `.lock` of its data folder, which has its process id: by it, a node is found
whether `ottla cluster` or the user started it. Killing and stopping are signals. The running
`ottla cluster` starts a node again, as its child, with the same output file. A file `start` in the
node's folder requests that; `ottla cluster` deletes it before the start.

Owns that file. Never starts a process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from broker.config.file import load_config
from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import accepts
from storage.log.checkpoints import LOCK_FILE

WAIT_S = 60.0
"""The time for a node to end, or to accept connections: it may have much to write or to read."""
_POLL_S = 0.05
_REQUEST = "start"


def holder_of(folder: Path) -> int | None:
    """Return the id of the process that holds the lock of a folder, None if no process does or the
    id cannot be read.

    The test itself holds the lock for an instant: do not call this while the node may be starting.
    """
    try:
        fd = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(fd, 32).decode("ascii", "replace").strip()
        return int(text) if text.isdecimal() else None
    else:
        return None
    finally:
        os.close(fd)


class RunningNode:
    """A node of a cluster's folder. Raises StartError if the folder has no such node."""

    def __init__(self, folder: str, node_id: int) -> None:
        """Load the node's configuration. Raises StartError if the folder has no such node, or the
        configuration is wrong."""
        self.folder, self.node_id = Path(folder), node_id
        file = self.folder / f"broker-{node_id}.properties"
        if not file.exists():
            raise StartError(
                f"there is no node {node_id} in {folder}: no file {file} (--dir names a cluster)"
            )
        self.config = load_config(str(file), ())

    def kill_and_wait(self) -> int:
        """Kill the node's process, wait until it has ended, and return its id. Raises StartError if
        it does not run, or has not ended after WAIT_S."""
        return self._end(signal.SIGKILL)

    def restart(self) -> int:
        """Stop the node cleanly if it runs, and have it started again.

        Return the id of its new process, once it accepts connections. Raises StartError, also if no
        `ottla cluster` runs that could start the node.
        """
        if holder_of(self.folder) is None:
            raise StartError(
                f"no ottla cluster runs in {self.folder}: start it with "
                f"ottla cluster --dir {self.folder}"
            )
        if self._pid() is not None:
            self._end(signal.SIGTERM, ask=True)
        else:
            ask_to_start(self.folder, self.node_id)
        self._wait(
            lambda: not _start_request_file(self.folder, self.node_id).exists(),
            "is not started again",
        )
        port = self.config.broker_listeners[0].port
        host = self.config.broker_listeners[0].host or "localhost"
        self._wait(lambda: accepts(host, port), "does not serve yet")
        return self._pid() or 0

    def _pid(self) -> int | None:
        """Return the id of the process that locks the data folder, None if there is none."""
        return holder_of(Path(self.config.log_dirs[0]))

    def _end(self, number: int, *, ask: bool = False) -> int:
        """Signal the process, wait until it has ended, and return its id.

        `ask`: first request by a file that the running `ottla cluster` starts the node again.
        Raises StartError if the node does not run or has not ended after WAIT_S.
        """
        process = self._pid()
        if process is None:
            raise StartError(f"node {self.node_id} does not run")
        if ask:
            ask_to_start(self.folder, self.node_id)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
        self._wait(lambda: not _runs(process), "is still stopping")
        return process

    def _wait(self, done: Callable[[], bool], complaint: str) -> None:
        """Wait until `done()`. Raises StartError with the complaint after WAIT_S seconds."""
        deadline = time.monotonic() + WAIT_S
        while not done():
            if time.monotonic() > deadline:
                log = self.folder / f"broker-{self.node_id}" / "ottla.log"
                raise StartError(f"node {self.node_id} {complaint} after {WAIT_S:.0f} s: see {log}")
            time.sleep(_POLL_S)


def ask_to_start(folder: Path, node_id: int) -> None:
    """Create the file that requests a start of the node; the `ottla cluster` of `folder` starts it
    as soon as it has ended."""
    request = _start_request_file(folder, node_id)
    request.parent.mkdir(parents=True, exist_ok=True)
    request.touch()


def is_asked_to_start(folder: Path, node_id: int) -> bool:
    """Return whether the file that requests a start of the node exists."""
    return _start_request_file(folder, node_id).exists()


def take_request(folder: Path, node_id: int) -> None:
    """Delete the file that requests a start of the node, if it exists."""
    _start_request_file(folder, node_id).unlink(missing_ok=True)


def _start_request_file(folder: Path, node_id: int) -> Path:
    """Return the path of the file that requests a start of the node."""
    return folder / f"broker-{node_id}" / _REQUEST


def _runs(process: int) -> bool:
    """Return whether a process exists. It exists until its parent reaps it, also if it has
    ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
