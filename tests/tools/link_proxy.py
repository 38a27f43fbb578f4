"""The links of a cluster on one machine, as proxies that can be cut, delayed and held.

Clients and nodes connect to every listener of a node through a port of this proxy, so that no root
and no network namespace is needed. A link is an ordered pair of names: `(1, 2)` for the bytes from
node 1 to node 2, `("client", 2)` for those from clients to node 2. The proxy finds the process of
a connection when it is made. A cut link holds its bytes, as TCP does while the network loses
packets: they arrive when the link is mended, if both ends are still connected. Unlike a real cut,
the proxy accepts new connections, which stay silent.

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
"""A node's number, or `CLIENT` for every other process."""
Link: TypeAlias = tuple[End, End]


@dataclass
class _Door:
    """A listener of a node, and the proxy's port for it."""

    node: int
    target: int
    port: int
    for_clients: bool
    server: asyncio.Server | None = None
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)


def _socket_name(local: int, remote: int) -> str | None:
    """Return the name in `/proc/PID/fd` of the socket that connects these ports, None if there is
    none.

    `local` is the port of its own end.
    """
    line = re.compile(rf":{local:04X} [0-9A-F]+:{remote:04X} \S+ \S+ \S+ \S+ +\d+ +\d+ (\d+)")
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            match = line.search(Path(table).read_text())
            if match:
                return f"socket:[{match[1]}]"
    return None


def _holds(pid: int, socket_name: str) -> bool:
    """Return whether a process has this socket open."""
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{name}") == socket_name:
                    return True
    return False


async def _accepts_end() -> None:
    """Run the loop until connections that were just accepted have their transports.

    asyncio leaves a transport to the garbage collector if its server is closed before.
    """
    for _ in range(3):
        await asyncio.sleep(0)


class LinkProxy:
    """A proxy of all links: `door(node, port)` returns its port for `port` of `node`."""

    def __init__(self, pid_of: Callable[[int], int | None], *, opaque: bool = False) -> None:
        """Start the thread. `opaque`: the links are encrypted, so that requests cannot be
        recognized.
        """
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
        """Hold all bytes on these links until `mend`."""
        self._call(self._change(lambda: self._cut.update(links)))

    def delay(self, link: Link, seconds: float) -> None:
        """Delay each chunk on this link by `seconds` until `mend`."""
        self._call(self._change(lambda: self._delay_s.update({link: seconds})))

    def hold_produce(self, node: int) -> None:
        """Hold the clients' Produce requests to `node` until `mend`.

        If the links are opaque, hold everything that clients send to it.
        """
        self._call(self._change(lambda: self._held.add(node)))

    def mend(self) -> None:
        """Undo all faults; bytes that were held arrive."""

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
        """Return a new port for `target` of `node`; it refuses connections until `open(node)`.

        `for_clients`: only clients connect to it, so that the process is not looked up.
        """
        port = self._ports.take()
        self._doors.append(_Door(node, target, port, for_clients))
        return port

    def open(self, node: int) -> None:
        """Accept connections for the node, whose process is about to listen."""
        self._call(self._open(node))

    def refuse(self, node: int) -> None:
        """Refuse connections to the node, as the system does for a process that is gone."""
        self._call(self._refuse(node))

    def close(self) -> None:
        """Close all connections, give back the ports and end the thread."""
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
        source = self._source_of(door, writer.get_extra_info("peername")[1])
        try:
            back, forth = await asyncio.open_connection(HOST, door.target, limit=CHUNK_BYTES)
        except OSError:
            return
        for end in (writer, forth):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pumps = [
            asyncio.ensure_future(self._pump(reader, forth, (source, door.node))),
            asyncio.ensure_future(self._pump(back, writer, (door.node, source))),
        ]
        try:
            # An end that closes ends both directions, if the link from it is not cut.
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

    def _source_of(self, door: _Door, port: int) -> End:
        """Return the process at the other end of a connection from this local port to a door."""
        if door.for_clients:
            return CLIENT
        socket_name = _socket_name(port, door.port)
        for node in sorted({each_door.node for each_door in self._doors}):
            pid = self._pid_of(node)
            if pid is not None and socket_name is not None and _holds(pid, socket_name):
                return node
        return CLIENT

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
