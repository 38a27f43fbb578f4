"""The Unix domain socket in a data folder that gives a tracer's traces to the console.

`ottla-trace.sock` is in the node's first log directory, with mode 0600: a process that may connect
runs as the node's user, and could read its files as well. The socket is read-only. A client sends
the revision that it has seen, as one line of JSON (`{"since": 0}`). It gets all newer traces, one
JSON object a line after a first line about the node; then the connection is closed.

The node has locked the folder when it creates the socket, so an existing socket belongs to a dead
process and is replaced. A path too long for a socket's address is replaced on Linux by one through
the folder's descriptor; on other systems a warning says that there are no traces.

Owns: the socket and its file. Never: what is traced (`broker.requests.tracer`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import stat
from time import monotonic

from broker.config.values import BrokerConfig
from broker.network.file_slice import way_of
from broker.network.socket_calls import address_in
from broker.node.node import Node
from broker.requests.tracer import Tracer
from controller.storage_format import LogDirectories
from ground.ports import Scheduler

_log = logging.getLogger(f"ottla.{__name__}")

SOCKET_NAME = "ottla-trace.sock"
READERS_MAX = 8
LINE_MAX_BYTES = 256
TIMEOUT_S = 5.0
LINES_A_TURN = 16


def new_tracer(config: BrokerConfig, scheduler: Scheduler) -> Tracer | None:
    """Return a tracer of requests if `ottla.trace.requests` is set, else None."""
    if not config.ottla_trace_requests:
        return None
    return Tracer(monotonic, scheduler.wall_ms, way_of)


async def start_trace_socket(node: Node) -> TraceSocket | None:
    """Start the trace socket of a node, and return it; None if the node has no tracer."""
    if node.ports.tracer is None:
        return None
    trace_socket = TraceSocket(node.ports.tracer, node.shared.storage)
    await trace_socket.start(node.config.log_dirs[0])
    return trace_socket


class TraceSocket:
    """The socket that serves a tracer's traces."""

    def __init__(self, tracer: Tracer, storage: LogDirectories) -> None:
        """Create a socket that does not listen yet. It will serve the traces of `tracer`; `storage`
        has the ids of the node and its cluster."""
        self._tracer = tracer
        self._node = {
            "kind": "node",
            "node_id": storage.node_id,
            "cluster_id": storage.cluster_id,
        }
        self._server: asyncio.Server | None = None
        self._path = ""
        self._file: tuple[int, int] | None = None
        self._readers = 0

    async def start(self, folder: str) -> None:
        """Listen in `folder`, which this process has locked. If that fails, log a warning; the node
        runs without the socket."""
        self._path = os.path.join(folder, SOCKET_NAME)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind(sock, folder)
            self._server = await asyncio.start_unix_server(
                self._serve, sock=sock, limit=LINE_MAX_BYTES
            )
        except OSError as error:
            sock.close()
            self._remove()
            _log.warning(
                "traces cannot be seen (ottla.trace.requests): %s: %s; use a log directory with a "
                "shorter path that this process may write to",
                self._path,
                error.strerror or error,
            )

    def _bind(self, sock: socket.socket, folder: str) -> None:
        """Bind the socket's file, which only this user may open. An old socket there is replaced.

        Raises FileExistsError if the path is another kind of file, OSError if it cannot be bound.
        """
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(self._path).st_mode):
                raise FileExistsError(0, "is there, and no socket")
            os.unlink(self._path)
        # On Linux this sets the mode of the file that `bind` creates. On other systems the mode is
        # set after `bind`, and before `listen` no process can connect.
        with contextlib.suppress(OSError):
            os.fchmod(sock.fileno(), 0o600)
        with address_in(folder, SOCKET_NAME) as address:
            sock.bind(address)
        self._file = _identity(self._path)
        os.chmod(self._path, 0o600)

    def stop(self) -> None:
        """Accept no more connections, and remove the file."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._remove()

    def _remove(self) -> None:
        """Remove the file if it is still the one that was created here."""
        with contextlib.suppress(OSError):
            if self._file is not None and _identity(self._path) == self._file:
                os.unlink(self._path)
        self._file = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a client's line with the traces, and close the connection. An invalid line, a slow
        client and a client beyond READERS_MAX get no answer."""
        self._readers += 1
        try:
            if self._readers <= READERS_MAX:
                async with asyncio.timeout(TIMEOUT_S):
                    await self._send_traces(_since(await reader.readline()), writer)
        except (OSError, ValueError, TimeoutError):
            pass  # the client is gone, is slow, or has sent an invalid line
        finally:
            self._readers -= 1
            writer.close()

    async def _send_traces(self, since: int, writer: asyncio.StreamWriter) -> None:
        """Write the node's line, then the traces of revisions after `since`."""
        tracer = self._tracer
        traces = tracer.changes_since(since)
        node = self._node | {"revision": tracer.revision, "now_s": tracer.clock_s()}
        writer.write(_json_line(node))
        for number, trace in enumerate(traces):
            writer.write(_json_line(trace.report()))
            if number % LINES_A_TURN == LINES_A_TURN - 1:
                await writer.drain()
                await asyncio.sleep(0)
        await writer.drain()


def _identity(path: str) -> tuple[int, int]:
    """Return the file's device and inode."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _since(line: bytes) -> int:
    """Return the revision in a client's line. Raises ValueError if the line has none."""
    query = json.loads(line)
    since = query.get("since") if isinstance(query, dict) else None
    if not isinstance(since, int) or since < 0:
        raise ValueError("no revision")
    return since


def _json_line(entry: object) -> bytes:
    """Return the entry as one line of compact JSON."""
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"
