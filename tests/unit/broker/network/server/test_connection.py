"""One connection: order of answers, when it reads, what closes it."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import socket
import struct
import termios
import threading
import weakref
from pathlib import Path

import pytest

from broker.network.server.connection_state import FRAMES_PER_TURN, ConnectionState
from broker.network.server.request_channel import ConnectionContext, Responder
from broker.network.server.socket_server import SocketServer
from protocol.errors import ProtocolError
from tests.received_frames import reserved_bytes
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import (
    Client,
    Parking,
    Rig,
    connection_of,
    connections_of,
    framed,
    turns,
    until,
)
from tests.unit.broker.network.server.virtual_time import VirtualTime


async def test_pipelined_requests_are_answered_in_order(rig: Rig):
    server = await rig.serve()
    client = await rig.client(server)
    requests = [b"%d" % n for n in range(5 * FRAMES_PER_TURN)]
    client.send(*requests)
    assert [await client.receive() for _ in requests] == requests


async def test_a_handler_answers_a_request_parked_on_another_connection(rig: Rig):
    order: list[str] = []
    parked: list[Responder] = []

    def handle(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        order.append("in")
        if frame == b"wait":
            parked.append(respond)
        elif frame == b"wake":
            parked.pop()(framed(b"woken"))
            respond(framed(b"ok"))
        else:
            respond(framed(bytes(frame)))
        order.append("out")

    server = await rig.serve(handle)
    waiting, waking = await rig.client(server), await rig.client(server)
    waiting.send(b"wait", b"behind")
    await until(lambda: len(parked) == 1)
    assert await waking.ask(b"wake") == b"ok"
    assert await waiting.receive() == b"woken"
    assert await waiting.receive() == b"behind"
    # No handler runs inside of another one.
    assert order == ["in", "out"] * 3


async def test_protocol_error_closes_that_connection_only(
    rig: Rig, caplog: pytest.LogCaptureFixture
):
    def handle(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        if frame == b"bad":
            raise ProtocolError("no such thing")
        respond(framed(bytes(frame)))

    caplog.set_level("INFO")
    server = await rig.serve(handle)
    bad, good = await rig.client(server), await rig.client(server)
    await good.ask(b"x")
    bad.send(b"bad", b"x")
    assert await bad.closed_by_server()
    assert await good.ask(b"y") == b"y"
    (record,) = [r for r in caplog.records if "no such thing" in r.message]
    assert record.exc_info is None


async def test_a_bug_in_a_handler_closes_its_connection_and_reaches_the_loops_handler(rig: Rig):
    loop = asyncio.get_running_loop()
    caught: list[object] = []
    loop.set_exception_handler(lambda _loop, context: caught.append(context["exception"]))

    def handle(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        assert frame != b"bug", "broken invariant"
        respond(framed(b"ok"))

    server = await rig.serve(handle)
    client = await rig.client(server)
    client.send(b"bug")
    assert await client.closed_by_server()
    assert isinstance(caught[0], AssertionError)
    assert not server.channel.handling
    assert await (await rig.client(server)).ask(b"x") == b"ok"


async def test_close_instead_of_an_answer_sends_earlier_answers_first(rig: Rig):
    def handle(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        if frame == b"close":
            respond.close()
        else:
            respond(framed(bytes(frame)))

    server = await rig.serve(handle)
    client = await rig.client(server)
    client.send(b"1", b"2", b"close")
    assert [await client.receive(), await client.receive()] == [b"1", b"2"]
    assert await client.closed_by_server()


@pytest.mark.parametrize("resets", [False, True])
async def test_the_peer_leaves_while_its_request_is_parked(rig: Rig, resets: bool):
    parking = Parking()
    server = await rig.serve(parking)
    client = await rig.client(server)
    client.send(b"parked")
    await until(lambda: len(parking.responders) == 1)
    connection = connection_of(server)
    if resets:
        sock = client.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    await until(lambda: server.connection_count == 0)
    assert connection.context.closed
    assert connection.core.state is ConnectionState.CLOSING
    parking.responders[0](framed(b"too late"))


async def test_the_context_tells_who_is_asking(rig: Rig):
    contexts: list[ConnectionContext] = []

    def handle(context: ConnectionContext, _frame: memoryview, respond: Responder) -> None:
        contexts.append(context)
        respond(framed(b"ok"))

    server = await rig.serve(handle)
    client = await rig.client(server)
    await client.ask(b"x")
    port = client.writer.get_extra_info("sockname")[1]
    server_port = server.ports["PLAINTEXT"]
    assert contexts[0].connection_id == f"127.0.0.1:{server_port}-127.0.0.1:{port}-0-0"
    assert (contexts[0].client_host, contexts[0].client_port) == ("127.0.0.1", port)
    assert contexts[0].principal == "User:ANONYMOUS"


async def test_a_busy_connection_leaves_others_their_turn(rig: Rig):
    order: list[bytes] = []

    def handle(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        order.append(bytes(frame[:5]))
        respond(None)

    server = await rig.serve(handle)
    greedy, modest = await rig.client(server), await rig.client(server)
    await until(lambda: server.connection_count == 2)
    greedy.send(*[b"greed"] * 2000)
    modest.send(b"modes")
    await until(lambda: len(order) == 2001)
    assert order.index(b"modes") < 1000


def stalled_of(server: SocketServer) -> int:
    """How many connections do not read because the channel is full."""
    return sum(one.core.state is ConnectionState.STALLED for one in connections_of(server))


async def test_full_channel_stops_reading_until_it_drains(rig: Rig):
    for limit in (1, 3):
        parking: list[tuple[bytes, Responder]] = []
        gate = threading.Event()

        def handle(
            _context: ConnectionContext, frame: memoryview, respond: Responder, p=parking, g=gate
        ) -> None:
            payload = bytes(frame)
            p.append((payload, respond))
            answer = framed(payload)
            rig.pools[-1].submit(lambda: g.wait(LIMIT_S), lambda _r, _e: respond(answer))

        server = await rig.serve(handle, num_io_threads=1, queued_max_requests=limit)
        clients = [await rig.client(server) for _ in range(6)]
        for number, client in enumerate(clients):
            client.send(b"%d" % number)
            # In turn, so that the order of their arrival is known.
            await until(
                lambda s=server, p=parking, n=number: (
                    len(p) + s.channel.queue_size + stalled_of(s) == n + 1
                )
            )
        # One has the only slot, `limit` are queued, the others' bytes stay where they are.
        assert len(parking) == 1
        assert server.channel.queue_size == limit
        assert stalled_of(server) == 5 - limit
        for client in clients:
            client.writer.write(framed(bytes(5_000_000)))
        await turns()
        held = [c.received_bytes for c in connections_of(server)]
        assert max(held) < 300_000
        assert server.channel.queue_size == limit
        gate.set()
        for number, client in enumerate(clients):
            assert await client.receive() == b"%d" % number
            assert len(await client.receive()) == 5_000_000
        assert [p for p, _ in parking][:6] == [b"%d" % n for n in range(6)]
        assert stalled_of(server) == 0


async def test_idle_connections_are_closed_and_busy_ones_are_not(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    server = await rig.serve(connections_max_idle_ms=60_000)
    time = VirtualTime(server, monkeypatch)
    idle, busy = await rig.client(server), await rig.client(server)
    for client in (idle, busy):
        await client.ask(b"x")
    time.run_for(59_000)
    assert await busy.ask(b"x") == b"x"
    assert server.connection_count == 2
    time.run_for(4_000)  # its deadline, and a tick of the wheel
    assert await idle.closed_by_server()
    assert await busy.ask(b"still here") == b"still here"


async def test_idle_forever_when_the_key_is_negative(rig: Rig):
    server = await rig.serve(connections_max_idle_ms=-1)
    client = await rig.client(server)
    await client.ask(b"x")
    assert server.processors[0]._timer is None


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\x64", b"\0\0\0\x64half"])
async def test_an_incomplete_frame_is_closed_at_its_deadline(
    rig: Rig, data: bytes, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    caplog.set_level("INFO")
    server = await rig.serve(ottla_partial_frame_timeout_ms=6_000)
    time = VirtualTime(server, monkeypatch)
    client = await rig.client(server)
    client.writer.write(framed(b"x") + data)
    assert await client.receive() == b"x"
    time.run_for(5_900)
    assert server.connection_count == 1
    time.run_for(600)  # its deadline, and a tick of the wheel
    assert await client.closed_by_server()
    assert "a frame was incomplete for 6000 ms" in caplog.text


async def test_a_buffer_of_a_large_frame_is_given_back_when_idle(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    server = await rig.serve(lambda c, f, respond: respond(framed(b"%d" % len(f))))
    time = VirtualTime(server, monkeypatch)
    client = await rig.client(server)
    assert await client.ask(bytes(3_000_000)) == b"3000000"
    reader = connection_of(server).reader
    assert reserved_bytes(reader) >= 3_000_000
    time.run_for(9_900)
    assert reserved_bytes(reader) >= 3_000_000
    time.run_for(1_000)
    assert reserved_bytes(reader) == 0
    assert await client.ask(bytes(3_000_000)) == b"3000000"


async def test_half_closing_peer_is_closed(rig: Rig):
    server = await rig.serve()
    client = await rig.client(server)
    await client.ask(b"x")
    client.writer.write_eof()
    assert await client.closed_by_server()
    await until(lambda: server.connection_count == 0)


async def test_a_connection_that_is_gone_is_garbage_without_a_collection(rig: Rig):
    server = await rig.serve()
    client = await rig.client(server)
    await client.ask(b"x")
    one = weakref.ref(connection_of(server))
    gc.collect()
    gc.disable()
    try:
        client.writer.close()
        await until(lambda: one() is None)
    finally:
        gc.enable()


async def test_no_descriptor_is_left_behind(rig: Rig, tmp_path: Path):
    server = await rig.serve(lambda c, f, respond: respond(framed(bytes(3_000_000))))
    before = 0
    for turn in range(4):
        # The first turn is for what the loop itself opens on first use.
        if turn == 1:
            gc.collect()  # what earlier tests left in cycles would close its own meanwhile
            before = len(os.listdir("/proc/self/fd"))
        client = await Client.connect(server.ports["PLAINTEXT"])
        client.writer.transport.pause_reading()
        client.send(b"x")
        await until(lambda: any(c.pending_bytes for c in connections_of(server)))
        client.writer.transport.abort()
        await until(lambda: server.connection_count == 0)
        await turns()
    await until(lambda: len(os.listdir("/proc/self/fd")) == before)


async def test_who_has_taken_too_much_is_not_read_while_its_time_lasts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    """Seen at the socket: what it sends next stays in the kernel, and nobody else waits."""
    taken: list[bytes] = []

    def handle(context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        taken.append(bytes(frame))
        if frame == b"too much":
            context.throttled(150)
        respond(framed(bytes(frame)))

    server = await rig.serve(handle)
    time = VirtualTime(server, monkeypatch)
    client, other = await rig.client(server), await rig.client(server)
    assert await client.ask(b"too much") == b"too much"
    muted = next(one for one in connections_of(server) if one.core.state is ConnectionState.MUTED)
    assert muted.core.paused
    read = muted.received_bytes
    client.writer.write(framed(bytes(3_000_000)))
    assert await other.ask(b"served") == b"served"
    assert muted.received_bytes == read
    assert muted.socket is not None
    await until(lambda: unread(muted.socket) > 0)
    time.run_for(149)
    await turns()
    assert taken == [b"too much", b"served"] and muted.received_bytes == read
    time.run_for(1)
    assert len(await client.receive()) == 3_000_000
    assert muted.core.state is ConnectionState.READY


def unread(sock: socket.socket | None) -> int:
    """Bytes that wait in the kernel."""
    assert sock is not None
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.FIONREAD, bytes(4)))[0]
