"""Nodes of an `ottla cluster`, killed and started again from another shell.

A broker holds the lock `.lock` of its data folder, which has its process id: by it, a node is found
whether `ottla cluster` or the user started it. Killing and stopping are signals. The running
`ottla cluster` starts a node again, as its child, with the same output file. A file `start` in the
node's folder requests that; `ottla cluster` deletes it before the start. So it also starts a node
that was added to the folder meanwhile. A file `leaving` says that the node's end is no failure,
because another command removes the node from the cluster.

Owns these files. Never starts a process.
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
_LEAVING = "leaving"


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

    def serves(self) -> bool:
        """Return whether the node accepts connections of clients."""
        return accepts(*self._address)

    def start(self) -> None:
        """Have the node started by the running `ottla cluster`, unless it runs, and wait until it
        accepts connections. Raises StartError after WAIT_S."""
        if self._pid() is None:
            ask_to_start(self.folder, self.node_id)
        self._wait(self.serves, "does not serve yet")
        take_request(self.folder, self.node_id)  # a process that was just starting has no lock yet

    def leave(self) -> None:
        """Stop the node cleanly, if it runs, as a node that leaves the cluster. Raises StartError
        if it has not ended after WAIT_S."""
        take_request(self.folder, self.node_id)
        (self.folder / f"broker-{self.node_id}" / _LEAVING).touch()
        if self._pid() is not None:
            self._end(signal.SIGTERM)

    def stay(self) -> None:
        """Have a node that was to leave started again."""
        take_leave_back(self.folder, self.node_id)
        self.start()

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
        self._wait(self.serves, "does not serve yet")
        return self._pid() or 0

    @property
    def _address(self) -> tuple[str, int]:
        """Host and port of the listener for clients."""
        listener = self.config.broker_listeners[0]
        return listener.host or "localhost", listener.port

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


def nodes_asked_to_start(folder: Path) -> list[int]:
    """Return the ids of the nodes whose folders have a file that requests a start."""
    requests = folder.glob(f"broker-*/{_REQUEST}")
    ids = [request.parent.name.removeprefix("broker-") for request in requests]
    return sorted(int(node_id) for node_id in ids if node_id.isdecimal())


def is_leaving(folder: Path, node_id: int) -> bool:
    """Return whether another command removes the node from the cluster."""
    return (folder / f"broker-{node_id}" / _LEAVING).exists()


def take_leave_back(folder: Path, node_id: int) -> None:
    """Let the end of the node be a failure again, as of each node that belongs to the cluster."""
    (folder / f"broker-{node_id}" / _LEAVING).unlink(missing_ok=True)


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
