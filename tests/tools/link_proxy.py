"""The links of a cluster on one machine, as proxies that can be cut, delayed and held.

Every listener of a node is reached through a port of this proxy, so that no root and no network
namespace is needed. A link is an ordered pair of names, `(1, 2)` for what node 1 sends to node 2
and `("client", 2)` for what clients send to it; whose process a connection comes from is looked up
when it is made. A cut link holds its bytes, as a network that loses packets does under TCP: they
arrive when it is mended, if both ends still want them. What differs from a real cut: a new
connection is accepted, and stays silent.

One thread with an event loop of its own; every method may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.tools.ports import Ports

HOST = "127.0.0.1"
CLIENT = "client"
CHUNK_BYTES = 1 << 16
PRODUCE = 0

End: TypeAlias = int | str
"""A node's number, or `CLIENT` for everybody else."""
Link: TypeAlias = tuple[End, End]


@dataclass
class _Door:
    """One listener of a node behind the proxy."""

    node: int
    target: int
    port: int
    for_clients: bool
    server: asyncio.Server | None = None
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)


def _socket_name(local: int, remote: int) -> str | None:
    """How `/proc/PID/fd` names the socket of the connection between these ports, from its side."""
    line = re.compile(rf":{local:04X} [0-9A-F]+:{remote:04X} \S+ \S+ \S+ \S+ +\d+ +\d+ (\d+)")
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            found = line.search(Path(table).read_text())
            if found:
                return f"socket:[{found[1]}]"
    return None


def _holds(pid: int, socket_name: str) -> bool:
    """Whether a process has this socket open."""
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{name}") == socket_name:
                    return True
    return False


async def _accepts_end() -> None:
    """Let connections that were accepted a moment ago come to us.

    One whose transport is made after its server was closed is left to the garbage by asyncio.
    """
    for _ in range(3):
        await asyncio.sleep(0)


class LinkProxy:
    """`door(node, port)` gives the port to reach `port` of `node` by."""

    def __init__(self, pid_of: Callable[[int], int | None], *, opaque: bool = False) -> None:
        """`opaque`: nobody can see what goes over the links."""
        self._pid_of = pid_of
        self._opaque = opaque
        self._doors: list[_Door] = []
        self._ports = Ports()
        self._cut: set[Link] = set()
        self._delay_s: dict[Link, float] = {}
        self._held: set[int] = set()
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Condition()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    # --- faults ----------------------------------------------------------------------------------

    def cut(self, *links: Link) -> None:
        """Hold what is sent over these links, until `mend`."""
        self._call(self._change(lambda: self._cut.update(links)))

    def delay(self, link: Link, seconds: float) -> None:
        """Each chunk over this link takes so long, until `mend`."""
        self._call(self._change(lambda: self._delay_s.update({link: seconds})))

    def hold_produce(self, node: int) -> None:
        """Produce requests of clients to `node` stay on their way, until `mend`; all that they
        send, where nobody can see what it is."""
        self._call(self._change(lambda: self._held.add(node)))

    def mend(self) -> None:
        """All links carry again; what they hold arrives."""

        def everything() -> None:
            self._cut.clear()
            self._delay_s.clear()
            self._held.clear()

        self._call(self._change(everything))

    async def _change(self, change: Callable[[], Any]) -> None:
        async with self._changed:
            change()
            self._changed.notify_all()

    # --- doors -----------------------------------------------------------------------------------

    def door(self, node: int, target: int, *, for_clients: bool = False) -> int:
        """A port for `target` of `node`; it refuses until `open(node)`.

        `for_clients`: no node ever comes through it, so that nobody is looked up.
        """
        port = self._ports.take()
        self._doors.append(_Door(node, target, port, for_clients))
        return port

    def open(self, node: int) -> None:
        """The node's process is about to listen: accept for it."""
        self._call(self._open(node))

    def refuse(self, node: int) -> None:
        """The node's process is gone: a connection to it is refused, as the system would."""
        self._call(self._refuse(node))

    def close(self) -> None:
        """End everything."""
        for node in {door.node for door in self._doors}:
            self.refuse(node)
        self._ports.close()
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _open(self, node: int) -> None:
        for door in self._doors:
            if door.node == node and door.server is None:
                door.server = await asyncio.start_server(
                    lambda r, w, door=door: self._accept(door, r, w),
                    HOST,
                    door.port,
                    reuse_address=True,
                    limit=CHUNK_BYTES,
                )

    async def _refuse(self, node: int) -> None:
        for door in self._doors:
            if door.node == node and door.server is not None:
                server, door.server = door.server, None
                for listener in server.sockets:
                    self._loop.remove_reader(listener.fileno())
                await _accepts_end()
                server.close()

    async def _end(self) -> None:
        await _accepts_end()
        for door in self._doors:
            connections = dict(door.connections)
            for task, writer in connections.items():
                task.cancel()  # one that never ran closes nothing itself
                writer.transport.abort()
            await asyncio.gather(*connections, return_exceptions=True)

    # --- connections -----------------------------------------------------------------------------

    def _accept(
        self, door: _Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = self._loop.create_task(self._serve(door, reader, writer))
        door.connections[task] = writer
        task.add_done_callback(door.connections.pop)

    async def _serve(
        self, door: _Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await self._carry(door, reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()

    async def _carry(
        self, door: _Door, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        source = self._who(door, writer.get_extra_info("peername")[1])
        try:
            back, forth = await asyncio.open_connection(HOST, door.target, limit=CHUNK_BYTES)
        except OSError:
            return
        for one in (writer, forth):
            one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pumps = [
            asyncio.ensure_future(self._pump(reader, forth, (source, door.node))),
            asyncio.ensure_future(self._pump(back, writer, (door.node, source))),
        ]
        try:
            # Either end that hangs up ends both ways, when its own way is open.
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            forth.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: Link
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                delay_s = self._delay_s.get(link)
                if delay_s:
                    await asyncio.sleep(delay_s)
                if self._stops(link, chunk):
                    async with self._changed:
                        await self._changed.wait_for(lambda c=chunk: not self._stops(link, c))
                writer.write(chunk)
                await writer.drain()
            if self._stops(link, b""):
                async with self._changed:
                    await self._changed.wait_for(lambda: not self._stops(link, b""))
            await writer.drain()

    def _stops(self, link: Link, chunk: bytes) -> bool:
        if link in self._cut:
            return True
        held = link[0] == CLIENT and link[1] in self._held
        if held and self._opaque:
            return True
        if held and len(chunk) >= 8:
            size, api_key = struct.unpack_from(">ih", chunk)
            return api_key == PRODUCE and size > 60
        return False

    def _who(self, door: _Door, port: int) -> End:
        """Whose process the connection from this local port to a door belongs to."""
        if door.for_clients:
            return CLIENT
        socket_name = _socket_name(port, door.port)
        for node in sorted({one.node for one in self._doors}):
            pid = self._pid_of(node)
            if pid is not None and socket_name is not None and _holds(pid, socket_name):
                return node
        return CLIENT

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
