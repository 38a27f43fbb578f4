"""What connections hold of requests: nothing once they are gone, and no more than there may be."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from broker.network.server import processor
from broker.network.server.connection_state import INCOMPLETE_PROGRESS_BYTES
from broker.network.server.listening_socket import Listener
from broker.network.server.request_channel import ConnectionContext, Responder
from tests.unit.broker.network.conftest import Client, Rig, connections_of, framed, turns, until
from tests.unit.broker.network.server.virtual_time import VirtualTime

MIB = 1024 * 1024
LARGE = 9 * MIB


class Tracked(bytearray):
    """A buffer that tells whether it is still there."""


class Buffers:
    """The buffers that connections have been given and that are still in memory."""

    def __init__(self) -> None:
        self.live_bytes = 0
        self.most_bytes = 0
        self._known: list[weakref.ref[Tracked]] = []

    def __call__(self, size: int) -> Tracked:
        made = Tracked(size)

        def gone(_ref: object) -> None:
            self.live_bytes -= size

        self._known.append(weakref.ref(made, gone))
        self.live_bytes += size
        self.most_bytes = max(self.most_bytes, self.live_bytes)
        return made


@pytest.fixture
def buffers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Buffers]:
    """Without the collector: no memory may depend on it."""
    made = Buffers()
    monkeypatch.setattr(processor, "frame_buffer", made)
    gc.disable()
    yield made
    gc.enable()


def answers_its_size(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
    respond(framed(str(len(frame)).encode()))


async def test_a_connection_that_is_gone_holds_no_part_of_a_frame(
    rig: Rig, buffers: Buffers
) -> None:
    server = await rig.serve()
    for _ in range(3):
        clients = [await rig.client(server) for _ in range(4)]
        for client in clients:
            client.writer.write(framed(bytes(LARGE))[: 2 * MIB])
        await until(lambda: server.processors[0].received_bytes >= 0 and _received(server) == 8)
        assert buffers.live_bytes == server.memory.held_bytes == 4 * (LARGE + 4)
        for client in clients:
            client.close()
        await until(lambda: server.connection_count == 0)
        assert buffers.live_bytes == server.memory.held_bytes == 0


def _received(server) -> float:
    return sum(c.received_bytes for c in connections_of(server)) / MIB


async def test_nor_a_whole_request_answered_or_not(rig: Rig, buffers: Buffers) -> None:
    waiting: list[Responder] = []

    def parks_the_first(_context: ConnectionContext, _frame: memoryview, respond: Responder):
        if len(waiting) < 4:
            waiting.append(respond)
        else:
            respond(framed(b"x"))

    server = await rig.serve(parks_the_first)
    clients = [await rig.client(server) for _ in range(4)]
    for count, client in enumerate(clients, 1):
        # One a turn: what is there when a turn is over waits in the queue, and is not lent.
        client.send(bytes(LARGE))
        await until(lambda count=count: len(waiting) == count)
    assert buffers.live_bytes == 0, "nobody has kept a view"
    assert server.memory.held_bytes == 4 * (LARGE + 4), "but one may be: it is not answered"
    for client in clients:
        client.writer.write(framed(b"next") + framed(bytes(LARGE)))
    await until(lambda: sum(c.core.paused for c in connections_of(server)) == 4)
    for client in clients:
        client.writer.transport.abort()
    for respond in waiting:
        respond(framed(b"x"))
    await until(lambda: server.connection_count == 0)
    assert buffers.live_bytes == server.memory.held_bytes == 0


async def test_nor_a_request_that_waits_for_a_handler(rig: Rig, buffers: Buffers) -> None:
    server = await rig.serve(num_io_threads=1)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()
    rig.pools[0].submit(
        lambda: asyncio.run_coroutine_threadsafe(release.wait(), loop).result(), lambda *_: None
    )
    clients = [await rig.client(server) for _ in range(4)]
    for client in clients:
        client.send(bytes(LARGE))
    await until(lambda: server.channel.queue_size == 4)
    assert server.memory.held_bytes == 4 * LARGE
    for client in clients[:3]:
        client.writer.transport.abort()
    # It is not read from while its request waits: that it is gone shows when it is answered.
    release.set()
    assert await clients[3].receive() == bytes(LARGE)
    await until(lambda: server.connection_count == 1)
    assert server.channel.queue_size == 0
    assert buffers.live_bytes == server.memory.held_bytes == 0


async def test_unfinished_frames_stay_within_the_bound_and_all_finish(
    rig: Rig, buffers: Buffers
) -> None:
    limit = 24 * MIB
    server = await rig.serve(
        answers_its_size,
        queued_max_request_bytes=limit,
        socket_request_max_bytes=10 * MIB,
    )
    clients = [await rig.client(server) for _ in range(24)]
    for client in clients:
        client.writer.write(framed(bytes(LARGE))[: 5 * MIB])
    await until(lambda: server.memory.waiting_count == 22 and _received(server) > 10)
    assert buffers.live_bytes == 2 * (LARGE + 4)
    assert _received(server) < 10 + 22 / 4, "who waits is not read from"
    other = await rig.client(server)
    other.writer.write(framed(bytes(500_000))[:300_000])
    await until(lambda: _received(server) > 10.2)
    other.writer.write(framed(bytes(500_000))[300_000:])
    assert await other.receive() == b"500000", "a small one has room all the time"
    for client in clients:
        client.writer.write(framed(bytes(LARGE))[5 * MIB :])
    assert [await client.receive() for client in clients] == [str(LARGE).encode()] * 24
    assert buffers.most_bytes <= limit
    assert server.memory.waiting_count == 0
    assert server.memory.held_bytes == buffers.live_bytes <= 600_000


async def test_who_stops_in_the_middle_loses_its_place(
    rig: Rig, buffers: Buffers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await rig.serve(
        answers_its_size,
        queued_max_request_bytes=0,
        socket_request_max_bytes=10 * MIB,
        ottla_partial_frame_timeout_ms=60_000,
    )
    time = VirtualTime(server, monkeypatch)
    stalled = [await rig.client(server) for _ in range(3)]
    for client in stalled:
        client.writer.write(framed(bytes(LARGE))[:INCOMPLETE_PROGRESS_BYTES])
    await until(lambda: server.memory.waiting_count == 2)
    patient: Client = await rig.client(server)
    patient.send(bytes(LARGE))
    answered = asyncio.ensure_future(patient.receive())
    await turns()
    assert not answered.done() and server.connection_count == 4
    while not answered.done():
        time.run_for(5_000)
        await turns()
    assert await answered == str(LARGE).encode()
    for client in stalled:
        assert await client.closed_by_server()
    assert buffers.live_bytes == server.memory.held_bytes == 0


async def test_brokers_do_not_wait_for_clients(rig: Rig, buffers: Buffers) -> None:
    server = await rig.serve(
        answers_its_size,
        listeners=[Listener("PLAINTEXT", "127.0.0.1", 0), Listener("BETWEEN", "127.0.0.1", 0)],
        inter_broker_listener_name="BETWEEN",
        queued_max_request_bytes=0,
        socket_request_max_bytes=10 * MIB,
    )
    clients = [await rig.client(server) for _ in range(2)]
    for client in clients:
        client.writer.write(framed(bytes(LARGE))[: 2 * MIB])
    await until(lambda: server.memory.waiting_count == 1)
    broker = await rig.client(server, "BETWEEN")
    assert await broker.ask(bytes(LARGE)) == str(LARGE).encode()


async def test_a_large_frame_may_be_kept_until_it_is_answered(rig: Rig, buffers: Buffers) -> None:
    kept: list[tuple[memoryview, Responder]] = []
    server = await rig.serve(lambda _context, frame, respond: kept.append((frame, respond)))
    client = await rig.client(server)
    client.send(b"a" * LARGE)
    await until(lambda: len(kept) == 1)
    other = await rig.client(server)
    other.send(b"b" * LARGE)
    await until(lambda: len(kept) == 2)
    assert buffers.live_bytes == server.memory.held_bytes == 2 * (LARGE + 4)
    (first, respond), (second, _) = kept
    assert first[::1000] == b"a" * (LARGE // 1000 + 1) and second[-1] == ord("b")
    kept.clear()
    del first, second
    respond(framed(b"done"))
    assert await client.receive() == b"done"
    assert server.memory.held_bytes == LARGE + 4
    other.writer.transport.abort()
    await until(lambda: server.connection_count == 1)
    assert buffers.live_bytes == server.memory.held_bytes == 0
