"""Nodes of an `ottla cluster`, killed and started again from another shell.

A broker holds `.lock` of its data folder and has its process id written there: that is how a node
is found, whoever started it. Killing and stopping are signals. It is the running `ottla cluster`
that starts a node again, as its child, with its output where it was: a file `start` in the node's
folder asks for that, and is gone when it was heard.

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
"""For a node to end, or to serve: it may have much to write or to read."""
_POLL_S = 0.05
_REQUEST = "start"


def holder_of(folder: Path) -> int | None:
    """The process that holds the lock of a folder; None where nobody does.

    Whoever looks holds it for an instant: do not ask while the node may be starting.
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
    """A node of a cluster's folder. Raises StartError where the folder has no such node."""

    def __init__(self, folder: str, node_id: int) -> None:
        self.folder, self.node_id = Path(folder), node_id
        file = self.folder / f"broker-{node_id}.properties"
        if not file.exists():
            raise StartError(
                f"there is no node {node_id} in {folder}: no file {file} (--dir names a cluster)"
            )
        self.config = load_config(str(file), ())

    def kill(self) -> int:
        """End its process at once, as a failure does; the process. Raises StartError."""
        return self._end(signal.SIGKILL)

    def restart(self) -> int:
        """Stop it cleanly if it runs and have it started again; its new process, which serves.

        Raises StartError, also where no `ottla cluster` runs that could start it.
        """
        if holder_of(self.folder) is None:
            raise StartError(
                f"no ottla cluster runs in {self.folder}: start it with "
                f"ottla cluster --dir {self.folder}"
            )
        if self._process() is not None:
            self._end(signal.SIGTERM, ask=True)
        else:
            ask_to_start(self.folder, self.node_id)
        self._wait(lambda: not _request(self.folder, self.node_id).exists(), "is not started again")
        port = self.config.broker_listeners[0].port
        host = self.config.broker_listeners[0].host or "localhost"
        self._wait(lambda: accepts(host, port), "does not serve yet")
        return self._process() or 0

    def _process(self) -> int | None:
        return holder_of(Path(self.config.log_dirs[0]))

    def _end(self, number: int, *, ask: bool = False) -> int:
        process = self._process()
        if process is None:
            raise StartError(f"node {self.node_id} does not run")
        if ask:
            ask_to_start(self.folder, self.node_id)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
        self._wait(lambda: not _runs(process), "is still stopping")
        return process

    def _wait(self, done: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not done():
            if time.monotonic() > deadline:
                log = self.folder / f"broker-{self.node_id}" / "ottla.log"
                raise StartError(f"node {self.node_id} {complaint} after {WAIT_S:.0f} s: see {log}")
            time.sleep(_POLL_S)


def ask_to_start(folder: Path, node_id: int) -> None:
    """Let the cluster that runs in `folder` start a node as soon as it has ended."""
    request = _request(folder, node_id)
    request.parent.mkdir(parents=True, exist_ok=True)
    request.touch()


def is_asked_to_start(folder: Path, node_id: int) -> bool:
    """Whether somebody asked for it."""
    return _request(folder, node_id).exists()


def take_request(folder: Path, node_id: int) -> None:
    """It was heard, or comes from an earlier run."""
    _request(folder, node_id).unlink(missing_ok=True)


def _request(folder: Path, node_id: int) -> Path:
    return folder / f"broker-{node_id}" / _REQUEST


def _runs(process: int) -> bool:
    """Whether a process is there: one that ended and is not reaped yet counts for some time."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
