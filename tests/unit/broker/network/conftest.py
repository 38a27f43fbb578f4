"""A SocketServer on a free port, on both event loops, with handlers that a test writes."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from broker.config.parse import single_node_config
from broker.loop.scheduler import BlockingPool
from broker.network.limits.connection_quotas import UNLIMITED, ConnectionQuotas
from broker.network.limits.creation_rates import IpConnectionDelay, no_ip_delay
from broker.network.server.connection import Connection
from broker.network.server.listening_socket import Listener
from broker.network.server.request_channel import (
    ConnectionContext,
    Expect,
    Handle,
    HandleAtOnce,
    RequestChannel,
    Requester,
    Responder,
    never_at_once,
    never_expected,
)
from broker.network.server.socket_server import SocketServer
from broker.requests.context import Answer, Later
from tests.tools.waiting import LIMIT_S, wait_until_async


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test here runs on the fallback loop too."""
    return {"asyncio": asyncio.SelectorEventLoop, "uvloop": uvloop.new_event_loop}


def framed(payload: bytes) -> bytes:
    """A request or response as it goes on the wire."""
    return struct.pack(">i", len(payload)) + payload


def echo(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
    """Answers a request with its own bytes, at once."""
    respond(framed(bytes(frame)))


def known(context: ConnectionContext, frame: memoryview, later: Later) -> bytes | None:
    """Answers at once what begins with k; b"" where no answer is wanted."""
    if frame[:1] == b"k":
        return framed(b"at once " + bytes(frame))
    return b"" if frame == b"no answer" else None


class Parking:
    """Keeps requests waiting until the test answers them; b"now…" is answered at once."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.responders: list[Responder] = []

    def __call__(self, _context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        self.taken.append(bytes(frame))
        if frame[:3] == b"now":
            respond(framed(bytes(frame)))
        else:
            self.responders.append(respond)


def connections_of(server: SocketServer) -> list[Connection]:
    """The server's side of all connections."""
    return [connection for processor in server.processors for connection in processor._connections]


def connection_of(server: SocketServer) -> Connection:
    """The server's side of the only connection."""
    (connection,) = connections_of(server)
    return connection


class Handled:
    """Counts the requests that a channel has handled from now on, whichever way they came."""

    def __init__(self, channel: RequestChannel) -> None:
        self.count = 0
        for way in ("handle_at_once", "handle_expected"):
            setattr(channel, way, self._counting(getattr(channel, way)))
        handle_now = channel.handle_now

        def counted(requester: Requester, frame: memoryview) -> None:
            self.count += 1
            handle_now(requester, frame)

        channel.handle_now = counted  # type: ignore[method-assign]

    def _counting(self, handle: Callable[..., Answer | None]) -> Callable[..., Answer | None]:
        def counted(requester: Requester, asked: object) -> Answer | None:
            answer = handle(requester, asked)
            self.count += answer is not None
            return answer

        return counted


def waits_of(quotas: ConnectionQuotas) -> list[str]:
    """The listeners that wait for a connection to close from now on, once for each wait."""
    waits: list[str] = []
    wait_for_slot = quotas.wait_for_slot

    def noted(listener: str, resume: Callable[[], None]) -> None:
        waits.append(listener)
        wait_for_slot(listener, resume)

    quotas.wait_for_slot = noted  # type: ignore[method-assign]
    return waits


class Client:
    """One connection to a server under test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, host: str = "127.0.0.1", **options: object) -> Client:
        reader, writer = await asyncio.open_connection(host, port, **options)
        return cls(reader, writer)

    def send(self, *payloads: bytes) -> None:
        self.writer.write(b"".join(map(framed, payloads)))

    async def receive(self) -> bytes:
        async with asyncio.timeout(LIMIT_S):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def ask(self, payload: bytes) -> bytes:
        self.send(payload)
        return await self.receive()

    async def closed_by_server(self) -> bool:
        """Whether the server closes this connection without another byte."""
        async with asyncio.timeout(LIMIT_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True

    def close(self) -> None:
        self.writer.close()


CONFIG = single_node_config(
    {"socket.send.buffer.bytes": "102400", "socket.receive.buffer.bytes": "102400"}
)._replace(
    queued_max_request_bytes=1024 * 1024 * 1024,
    ottla_queued_max_response_bytes=512 * 1024 * 1024,
    inter_broker_listener_name="",
)


class Rig:
    """Servers, pools and clients of one test, all closed at its end."""

    def __init__(self) -> None:
        self.servers: list[SocketServer] = []
        self.pools: list[BlockingPool] = []
        self.clients: list[Client] = []

    async def serve(
        self,
        handle: Handle = echo,
        *,
        num_io_threads: int = 2,
        listeners: list[Listener] | None = None,
        accept: bool = True,
        at_once: HandleAtOnce = never_at_once,
        expect: Expect = never_expected,
        room: Callable[[], int] = lambda: UNLIMITED,
        opened_from: IpConnectionDelay = no_ip_delay,
        **settings: object,
    ) -> SocketServer:
        loop = asyncio.get_running_loop()
        pool = BlockingPool(loop, num_io_threads, "test-io")
        self.pools.append(pool)
        server = SocketServer(
            listeners or [Listener("PLAINTEXT", "127.0.0.1", 0)],
            CONFIG._replace(**settings),
            handle,
            pool,
            at_once=at_once,
            expect=expect,
            room=room,
            opened_from=opened_from,
        )
        self.servers.append(server)
        await server.start(accept=accept)
        return server

    @staticmethod
    def now() -> float:
        """Seconds of the loop's clock."""
        return asyncio.get_running_loop().time()

    async def client(self, server: SocketServer, listener: str = "PLAINTEXT") -> Client:
        client = await Client.connect(server.ports[listener])
        self.clients.append(client)
        return client

    async def close(self) -> None:
        for client in self.clients:
            client.close()
        for server in self.servers:
            await server.stop(timeout_s=0.2)
        for pool in self.pools:
            assert await pool.close(LIMIT_S)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    yield made
    await made.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what other callbacks of the loop bring about."""
    await wait_until_async(condition, "what other callbacks bring about", pause_s=0.001)


async def turns(count: int = 50) -> None:
    """Let the loop turn, and take each time what has come at its sockets."""
    for _ in range(count):
        await asyncio.sleep(0)
