"""The process that holds a port which this process could not bind, for the error of the start.

Linux has this in `/proc`; on other systems, and if the holder's descriptors may not be read, the
holder is unknown. Owns nothing. Never: opens or closes a port.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_LISTENS = "0A"
_LOCAL, _STATE, _INODE = 1, 3, 9
"""The columns of `/proc/net/tcp` that are read."""


def holder_of_port(port: int, proc: Path = _PROC) -> str | None:
    """Return the holder of a TCP port, such as `process 4711 (java)`; None if it is unknown, or if
    it is this process. If no process listens but a connection was made from the port, say so."""
    listening = ""
    outgoing = False
    for local_port, state, inode in _sockets(proc):
        if local_port == port and state == _LISTENS:
            listening = inode
        outgoing |= local_port == port
    if not listening:
        return "a connection that somebody made from it; it ends by itself" if outgoing else None
    process = _owner_of(listening, proc)
    if process is None or process == os.getpid():
        return None
    return f"process {process} ({_name_of(process, proc)})"


def _sockets(proc: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the local port, state and inode of each TCP socket."""
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            yield int(columns[_LOCAL].rpartition(":")[2], 16), columns[_STATE], columns[_INODE]


def _owner_of(inode: str, proc: Path) -> int | None:
    """Return the id of the process that has the socket open, or None if it cannot be seen."""
    for process in proc.iterdir():
        if not process.name.isdecimal():
            continue
        try:
            links = [os.readlink(descriptor) for descriptor in (process / "fd").iterdir()]
        except OSError:  # another user's process, or one that has ended
            continue
        if f"socket:[{inode}]" in links:
            return int(process.name)
    return None


def _name_of(process: int, proc: Path) -> str:
    """Return the name of a process, or "?" if it cannot be read."""
    try:
        return (proc / str(process) / "comm").read_text("utf-8", "replace").strip() or "?"
    except OSError:
        return "?"
