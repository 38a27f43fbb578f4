"""SocketServer: listeners, processors, limits of connections, starting and stopping."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading

import pytest

from broker.config.endpoints import ListenerLimits
from broker.network.server.listening_socket import Listener
from broker.network.server.request_channel import ConnectionContext, Responder
from tests.tools.ports import free_port
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import (
    Client,
    Parking,
    Rig,
    framed,
    turns,
    until,
    waits_of,
)
from tests.unit.broker.network.server.virtual_time import VirtualTime


@pytest.mark.parametrize(("threads", "expected"), [(1, [6]), (2, [3, 3]), (3, [2, 2, 2])])
async def test_num_network_threads_spreads_connections(rig: Rig, threads: int, expected: list[int]):
    server = await rig.serve(num_network_threads=threads)
    for _ in range(6):
        client = await rig.client(server)
        assert await client.ask(b"x") == b"x"
    assert [p.connection_count for p in server.processors] == expected
    assert [p.processor_id for p in server.processors] == list(range(threads))


async def test_listeners_have_processors_of_their_own(rig: Rig):
    names: list[tuple[str, str, str]] = []

    def handle(context: ConnectionContext, _frame: memoryview, respond: Responder) -> None:
        names.append((context.listener_name, context.security_protocol, context.client_host))
        respond(framed(b"ok"))

    server = await rig.serve(
        handle,
        listeners=[
            Listener("INSIDE", "127.0.0.1", 0, num_network_threads=1),
            Listener("OUTSIDE", "", 0),
        ],
    )
    assert [len(a.processors) for a in server.acceptors] == [1, 3]
    assert server.ports["INSIDE"] != server.ports["OUTSIDE"]
    for name in ("INSIDE", "OUTSIDE"):
        await (await rig.client(server, name)).ask(b"x")
    assert names == [("INSIDE", "PLAINTEXT", "127.0.0.1"), ("OUTSIDE", "PLAINTEXT", "127.0.0.1")]


async def test_a_taken_port_is_one_clear_error_and_binds_nothing(rig: Rig):
    free = free_port()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listeners = [Listener("A", "127.0.0.1", free), Listener("B", "127.0.0.1", port)]
        with pytest.raises(OSError, match=f"cannot listen on B://127.0.0.1:{port}") as caught:
            await rig.serve(listeners=listeners)
        assert caught.value.errno == errno.EADDRINUSE
        socket.create_server(("127.0.0.1", free)).close()


async def test_connections_wait_until_accepting_begins(rig: Rig):
    server = await rig.serve(accept=False)
    client = await rig.client(server)
    client.send(b"early")
    await turns()
    assert server.connection_count == 0
    server.accept()
    assert await client.receive() == b"early"


async def test_per_ip_limit_closes_the_connection(rig: Rig, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    server = await rig.serve(max_connections_per_ip=2)
    kept = [await rig.client(server) for _ in range(2)]
    for client in kept:
        await client.ask(b"x")
    third = await rig.client(server)
    assert await third.closed_by_server()
    assert [one.args for one in caplog.records if "max.connections.per.ip" in one.message] == [
        ("PLAINTEXT", "127.0.0.1")
    ]
    kept[0].close()
    await until(lambda: server.connection_count == 1)
    assert await (await rig.client(server)).ask(b"again") == b"again"


async def test_per_ip_override_by_name_replaces_the_limit(rig: Rig):
    server = await rig.serve(
        max_connections_per_ip=0, max_connections_per_ip_overrides={"localhost": 1}
    )
    assert await (await rig.client(server)).ask(b"x") == b"x"
    assert await (await rig.client(server)).closed_by_server()


async def test_listener_limit_leaves_other_listeners_alone(rig: Rig):
    listeners = [
        Listener("A", "127.0.0.1", 0, max_connections=1),
        Listener("B", "127.0.0.1", 0),
    ]
    server = await rig.serve(listeners=listeners)
    await (await rig.client(server, "A")).ask(b"x")
    waiting = await rig.client(server, "A")
    waiting.send(b"later")
    assert await (await rig.client(server, "B")).ask(b"b") == b"b"
    assert server.connection_count == 2


async def test_inter_broker_listener_takes_the_place_of_the_least_recently_used(rig: Rig):
    listeners = [Listener("CLIENTS", "127.0.0.1", 0), Listener("BROKERS", "127.0.0.1", 0)]
    server = await rig.serve(
        listeners=listeners, max_connections=2, inter_broker_listener_name="BROKERS"
    )
    old, young = await rig.client(server, "CLIENTS"), await rig.client(server, "CLIENTS")
    await old.ask(b"x")
    await young.ask(b"x")
    await old.ask(b"used again")
    broker = await rig.client(server, "BROKERS")
    assert await broker.ask(b"b") == b"b"
    assert await young.closed_by_server()
    assert await old.ask(b"still here") == b"still here"


async def test_a_lower_limit_of_the_broker_closes_those_longest_silent(rig: Rig):
    listeners = [Listener("CLIENTS", "127.0.0.1", 0), Listener("BROKERS", "127.0.0.1", 0)]
    server = await rig.serve(listeners=listeners, inter_broker_listener_name="BROKERS")
    broker = await rig.client(server, "BROKERS")
    assert await broker.ask(b"b") == b"b"
    clients = [await rig.client(server, "CLIENTS") for _ in range(4)]
    for client in clients:
        await client.ask(b"x")
    server.reconfigure(server.config._replace(max_connections=3))
    assert await clients[0].closed_by_server()
    assert await clients[1].closed_by_server()
    assert await broker.ask(b"b") == b"b"
    assert await clients[2].ask(b"2") == b"2"
    assert await clients[3].ask(b"3") == b"3"
    server.reconfigure(server.config._replace(max_connections=0))
    assert await clients[2].closed_by_server()
    assert await clients[3].closed_by_server()
    assert await broker.ask(b"nobody else") == b"nobody else"


async def test_more_than_a_turn_closes_are_closed_in_several(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("broker.network.server.socket_server._CLOSES_PER_TURN", 1)
    server = await rig.serve()
    clients = [await rig.client(server) for _ in range(5)]
    for client in clients:
        await client.ask(b"x")
    server.reconfigure(server.config._replace(max_connections=1))
    for client in clients[:4]:
        assert await client.closed_by_server()
    assert await clients[4].ask(b"x") == b"x"


async def test_connections_that_are_not_up_yet_are_given_up_when_they_are(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("broker.network.server.socket_server._OPENING_S", 0.005)
    server = await rig.serve(num_network_threads=1)
    client = await rig.client(server)
    assert await client.ask(b"x") == b"x"
    (processor,) = server.processors
    (connection,) = processor.connections()
    monkeypatch.setattr(processor, "_connections", {})  # as while its TLS handshake is under way
    server.reconfigure(server.config._replace(max_connections=0))
    assert not connection.context.closed
    processor._connections[connection] = None
    assert await client.closed_by_server()


async def test_higher_limits_let_those_in_who_wait(rig: Rig):
    server = await rig.serve(max_connections=1)
    waits = waits_of(server.quotas)
    first, second = await rig.client(server), await rig.client(server)
    assert await first.ask(b"1") == b"1"
    second.send(b"2")
    await until(lambda: waits == ["PLAINTEXT"])
    server.reconfigure(server.config._replace(max_connections=2))
    assert await second.receive() == b"2"


async def test_a_listeners_limit_changes_and_what_is_open_stays(rig: Rig):
    server = await rig.serve()
    first, second = await rig.client(server), await rig.client(server)
    assert await first.ask(b"1") == b"1"
    assert await second.ask(b"2") == b"2"
    waits = waits_of(server.quotas)
    limits = {"PLAINTEXT": ListenerLimits(max_connections=1)}
    server.reconfigure(server.config._replace(listener_limits=limits))
    third = await rig.client(server)
    third.send(b"3")
    await until(lambda: waits == ["PLAINTEXT"])
    assert await first.ask(b"1") == b"1"
    assert await second.ask(b"2") == b"2"
    server.reconfigure(server.config._replace(listener_limits={}))
    assert await third.receive() == b"3"


async def test_limits_of_addresses_change(rig: Rig, caplog: pytest.LogCaptureFixture):
    server = await rig.serve()
    assert await (await rig.client(server)).ask(b"x") == b"x"
    server.reconfigure(server.config._replace(max_connections_per_ip=1))
    await until(lambda: server.quotas.max_connections_per_ip == 1)
    assert await (await rig.client(server)).closed_by_server()
    server.reconfigure(server.config._replace(max_connections_per_ip_overrides={"localhost": 2}))
    await until(lambda: server.quotas.per_ip_overrides.get("127.0.0.1") == 2)
    assert await (await rig.client(server)).ask(b"x") == b"x"
    # A name that is no host changes nothing, and is told of.
    wrong = {"no-such-host.invalid": 9}
    server.reconfigure(server.config._replace(max_connections_per_ip_overrides=wrong))
    await until(lambda: "no-such-host.invalid" in caplog.text)
    assert server.quotas.per_ip_overrides["127.0.0.1"] == 2


async def test_num_network_threads_changes_and_no_connection_is_lost(rig: Rig):
    server = await rig.serve(num_network_threads=2)
    clients = [await rig.client(server) for _ in range(2)]
    for client in clients:
        assert await client.ask(b"x") == b"x"
    (acceptor,) = server.acceptors
    server.reconfigure(server.config._replace(num_network_threads=4))
    assert [one.processor_id for one in acceptor.processors] == [0, 1, 2, 3]
    server.reconfigure(server.config._replace(num_network_threads=1))
    assert [one.processor_id for one in acceptor.processors] == [0]
    # The two that had nothing are gone; the third keeps what it has.
    assert [one.processor_id for one in acceptor.leaving] == [1]
    assert [one.connection_count for one in server.processors] == [1, 1]
    for client in [*clients, await rig.client(server)]:
        assert await client.ask(b"y") == b"y"
    assert [one.connection_count for one in server.processors] == [2, 1]
    clients[1].close()
    await until(lambda: server.connection_count == 2)
    limits = {"PLAINTEXT": ListenerLimits(num_network_threads=2)}
    server.reconfigure(server.config._replace(listener_limits=limits))
    assert [one.processor_id for one in server.processors] == [0, 4]


async def test_accept_without_descriptors_waits_and_goes_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    server = await rig.serve()
    acceptor = server.acceptors[0]
    time = VirtualTime(server, monkeypatch)
    real = acceptor._socket

    class Exhausted:
        calls = 0

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def accept(self) -> tuple[socket.socket, object]:
            self.calls += 1
            if self.calls <= 3:
                raise OSError(errno.EMFILE, "Too many open files")
            return real.accept()

    exhausted = Exhausted()
    monkeypatch.setattr(acceptor, "_socket", exhausted)
    client = await rig.client(server)
    client.send(b"x")
    for tries in range(1, 4):
        await until(lambda tries=tries: exhausted.calls == tries)
        await turns()
        assert exhausted.calls == tries and time.pending() == 1, "one try a pause, no busy loop"
        time.step()
    assert await client.receive() == b"x"
    assert len([r for r in caplog.records if "Too many open files" in r.message]) == 1


async def test_an_error_of_one_connection_does_not_hold_up_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    server = await rig.serve()

    def refuse(*_args: object) -> None:
        raise OSError(errno.ENOTCONN, "gone already")

    processor = server.processors[0]
    monkeypatch.setattr(processor, "adopt", refuse)
    assert await (await rig.client(server)).closed_by_server()
    assert await (await rig.client(server)).ask(b"x") == b"x"


async def test_quiet_since_the_last_bytes_of_any_connection(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    listeners = [Listener("A", "127.0.0.1", 0), Listener("B", "127.0.0.1", 0)]
    server = await rig.serve(listeners=listeners)
    time = VirtualTime(server, monkeypatch)
    assert server.quiet_s == time.seconds(), "nothing has come yet"
    one, other = await rig.client(server, "A"), await rig.client(server, "B")
    for client in (one, other, one):
        await client.ask(b"x")
        assert server.quiet_s == 0
        time.run_for(1_000)
        assert server.quiet_s == 1


async def test_stop_answers_what_is_under_way_and_refuses_the_rest(rig: Rig):
    parked: list[Responder] = []

    def handle(_context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        if frame == b"park":
            parked.append(respond)
        else:
            respond(framed(bytes(frame)))

    server = await rig.serve(handle)
    busy, idle = await rig.client(server), await rig.client(server)
    await idle.ask(b"x")
    busy.send(b"park", b"never taken")
    await until(lambda: len(parked) == 1)
    stopping = asyncio.ensure_future(server.stop(timeout_s=LIMIT_S))
    assert await idle.closed_by_server()
    with pytest.raises(ConnectionError):
        await Client.connect(_port_of(busy))
    assert not stopping.done()
    parked[0](framed(b"done"))
    assert await busy.receive() == b"done"
    await stopping
    assert server.connection_count == 0


async def test_all_connections_but_the_spared_are_closed_and_new_ones_are_taken(rig: Rig):
    seen: list[str] = []

    def handle(context: ConnectionContext, frame: memoryview, respond: Responder) -> None:
        seen.append(context.connection_id)
        respond(framed(bytes(frame)))

    server = await rig.serve(handle)
    spared, other = await rig.client(server), await rig.client(server)
    for client in (spared, other):
        await client.ask(b"x")
    assert server.close_connections("a test", lambda one: one == seen[0]) == 1
    assert await other.closed_by_server()
    assert await spared.ask(b"y") == b"y"
    newer = await rig.client(server)
    assert await newer.ask(b"z") == b"z"
    assert server.close_connections("a test") == 2


async def test_stop_is_bounded(rig: Rig):
    parking = Parking()
    server = await rig.serve(parking)
    client = await rig.client(server)
    client.send(b"never answered")
    await until(lambda: len(parking.taken) == 1)
    await server.stop(timeout_s=0.05)
    assert await client.closed_by_server()
    assert server.connection_count == 0


@pytest.mark.parametrize("threads", [1, 3])
async def test_num_io_threads_is_how_many_jobs_run_at_once(rig: Rig, threads: int):
    running = 0
    most = 0
    lock = threading.Lock()
    go = threading.Event()

    def job() -> bytes:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        go.wait(LIMIT_S)
        with lock:
            running -= 1
        return framed(b"ok")

    def handle(_context: ConnectionContext, _frame: memoryview, respond: Responder) -> None:
        rig.pools[-1].submit(job, lambda result, _error: respond(result))

    server = await rig.serve(handle, num_io_threads=threads)
    clients = [await rig.client(server) for _ in range(5)]
    for client in clients:
        client.send(b"x")
    await until(lambda: server.channel.queue_size == 5 - threads)
    await until(lambda: most == threads)
    assert server.channel.busy_slots == threads
    go.set()
    for client in clients:
        assert await client.receive() == b"ok"
    assert most == threads
    assert server.channel.busy_slots == 0


def _port_of(client: Client) -> int:
    return client.writer.get_extra_info("peername")[1]
