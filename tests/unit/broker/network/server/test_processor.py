"""Processor: opening, counting and closing connections; deadlines are in test_connection."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest

from broker.network.file_slice import CHUNK_BYTES
from broker.network.server import processor as processor_module
from broker.network.server.connection import Connection
from broker.network.server.connection_state import ConnectionState
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import Rig, connection_of, framed, turns, until


async def test_counts_follow_connections(rig: Rig):
    server = await rig.serve(num_network_threads=1)
    (processor,) = server.processors
    clients = [await rig.client(server) for _ in range(3)]
    for client in clients:
        await client.ask(b"12345678")
    assert processor.connection_count == 3
    assert processor.received_bytes == processor.sent_bytes == 3 * 12
    clients[0].close()
    await until(lambda: processor.connection_count == 2)
    assert processor.received_bytes == processor.sent_bytes == 3 * 12
    assert processor.unsent_answers == 0


async def test_a_connection_that_fails_to_open_gives_its_place_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    server = await rig.serve(num_network_threads=1)
    loop = asyncio.get_running_loop()
    (processor,) = server.processors

    class Loop:
        def __getattr__(self, name: str) -> object:
            return getattr(loop, name)

        async def connect_accepted_socket(self, *_args: object, **_options: object) -> None:
            raise OSError(errno.ENOTCONN, "gone")

    processor.loop = Loop()  # type: ignore[assignment]
    assert await (await rig.client(server)).closed_by_server()
    await until(lambda: processor.connection_count == 0)
    assert server.connection_count == 0
    processor.loop = loop
    assert await (await rig.client(server)).ask(b"x") == b"x"


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_opens_while_stopping_is_closed(rig: Rig, turns: int):
    """However far its opening has come. uvloop tells a protocol that it was connected two turns
    before it tells whoever opens it."""
    server = await rig.serve(num_network_threads=1)
    (processor,) = server.processors
    ours, theirs = socket.socketpair()
    with theirs:
        listening = socket.create_server(("127.0.0.1", 0))
        ours.close()
        client = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        listening.close()
        accepted.setblocking(False)
        processor.adopt(accepted, "127.0.0.1", 1)
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.stop(timeout_s=LIMIT_S)
        assert processor.connection_count == 0
        client.settimeout(LIMIT_S)
        assert client.recv(1) == b""
        client.close()


async def test_the_transports_way_of_sending_keeps_order_and_back_pressure(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    """What TLS connections use: no socket to write past the transport."""

    def through_transport(*args: object) -> Connection:
        return Connection(*args[:-1], None)  # type: ignore[arg-type]

    monkeypatch.setattr(processor_module, "Connection", through_transport)
    handled = 0

    def handle(_context: object, frame: memoryview, respond: object) -> None:
        nonlocal handled
        handled += 1
        respond((framed(bytes(frame) * CHUNK_BYTES),))  # type: ignore[operator]

    server = await rig.serve(handle)
    client = await rig.client(server)
    client.writer.transport.pause_reading()
    client.send(*[b"%d" % (n % 10) for n in range(100)])
    await until(lambda: connection_of(server).core.state is ConnectionState.SENDING)
    await turns()
    assert handled < 90
    client.writer.transport.resume_reading()
    for n in range(100):
        assert await client.receive() == b"%d" % (n % 10) * CHUNK_BYTES
