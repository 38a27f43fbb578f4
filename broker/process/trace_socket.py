"""A tracer's traces, for the console on this machine: a Unix domain socket in a data folder.

`ottla-trace.sock` lies in the node's first log directory, with mode 0600: whoever may connect runs
as the node does, and could read its files as well. It is no way in: who connects says which
revision it has seen, as one line of JSON (`{"since": 0}`), and is told what is new since then, one
JSON object a line, first of which is the node; then the connection ends. Nothing can be changed.

The folder is this node's alone when the socket is made, so one that is there is of a process that
has died, and makes room. A path too long for a socket's address goes through the folder's
descriptor where the system can do so (Linux); elsewhere a line says that there are no traces.

Owns the socket and its file. Never: what is traced (`broker.requests.tracer`).
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
    """Who follows requests, if the configuration says so; by the clock of the connections."""
    if not config.ottla_trace_requests:
        return None
    return Tracer(monotonic, scheduler.wall_ms, way_of)


async def shown_traces(node: Node) -> TraceSocket | None:
    """The socket of a node, if it has a tracer."""
    if node.ports.tracer is None:
        return None
    shown = TraceSocket(node.ports.tracer, node.shared.storage)
    await shown.start(node.config.log_dirs[0])
    return shown


class TraceSocket:
    """See the module."""

    def __init__(self, tracer: Tracer, storage: LogDirectories) -> None:
        """`storage`: whose they are."""
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
        """Listen in `folder`, which this process has locked. If that cannot be, a line says so and
        the node goes on without."""
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
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(self._path).st_mode):
                raise FileExistsError(0, "is there, and no socket")
            os.unlink(self._path)
        # The mode of the file that `bind` makes, on Linux; elsewhere it is set behind it, and
        # nobody can connect before `listen`.
        with contextlib.suppress(OSError):
            os.fchmod(sock.fileno(), 0o600)
        with address_in(folder, SOCKET_NAME) as address:
            sock.bind(address)
        self._file = _identity(self._path)
        os.chmod(self._path, 0o600)

    def stop(self) -> None:
        """Take nobody any more, and remove the file."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._remove()

    def _remove(self) -> None:
        """The file, if it is still the one that was made here."""
        with contextlib.suppress(OSError):
            if self._file is not None and _identity(self._path) == self._file:
                os.unlink(self._path)
        self._file = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Whoever has connected."""
        self._readers += 1
        try:
            if self._readers <= READERS_MAX:
                async with asyncio.timeout(TIMEOUT_S):
                    await self._tell(_since(await reader.readline()), writer)
        except (OSError, ValueError, TimeoutError):
            pass  # it is gone, or slow, or has said something else
        finally:
            self._readers -= 1
            writer.close()

    async def _tell(self, since: int, writer: asyncio.StreamWriter) -> None:
        tracer = self._tracer
        news = tracer.news(since)
        node = self._node | {"revision": tracer.revision, "now_s": tracer.clock_s()}
        writer.write(_line(node))
        for number, one in enumerate(news):
            writer.write(_line(one.report()))
            if number % LINES_A_TURN == LINES_A_TURN - 1:
                await writer.drain()
                await asyncio.sleep(0)
        await writer.drain()


def _identity(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


def _since(line: bytes) -> int:
    """What a reader has seen. Raises ValueError for anything else."""
    asked = json.loads(line)
    since = asked.get("since") if isinstance(asked, dict) else None
    if not isinstance(since, int) or since < 0:
        raise ValueError("no revision")
    return since


def _line(told: object) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"
