"""What the Acceptor does where no descriptor is left for connections, or where they come too fast;
the rest of it is tested with its server."""

from __future__ import annotations

import socket

import pytest

from broker.network.server.listening_socket import Listener
from tests.unit.broker.network.conftest import Rig, turns, until, waits_of
from tests.unit.broker.network.server.virtual_time import VirtualTime


async def test_without_descriptors_new_clients_wait_and_the_others_are_served(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("broker.network.server.acceptor._ACCEPT_PAUSE_S", 0.02)
    most = 2
    server = await rig.serve(room=lambda: most - server.connection_count)
    waits = waits_of(server.quotas)
    first, second = await rig.client(server), await rig.client(server)
    assert await first.ask(b"1") == b"1" and await second.ask(b"2") == b"2"
    third = await rig.client(server)
    third.send(b"3")
    await until(lambda: len(waits) > 3)
    assert server.connection_count == 2
    assert await first.ask(b"still here") == b"still here"
    (line,) = [one.getMessage() for one in caplog.records if "descriptor" in one.message]
    assert "2 connections are open" in line and "ulimit -n" in line
    # One that leaves makes room at once, and so does whatever else gives a descriptor back.
    second.close()
    assert await third.receive() == b"3"
    fourth = await rig.client(server)
    fourth.send(b"4")
    most = 3
    assert await fourth.receive() == b"4"


SLOWLY = {"max_connection_creation_rate": 10, "quota_window_num": 2}


async def test_connections_that_come_too_fast_wait_and_are_served(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    """Ten a second and a window of two: ten at once, then one each 100 ms."""
    server = await rig.serve(**SLOWLY)
    time = VirtualTime(server, monkeypatch)
    clients = [await rig.client(server) for _ in range(12)]
    for client in clients:
        client.send(b"x")
    for served in (10, 11, 12):
        await until(lambda served=served: server.connection_count == served)
        time.run_for(90)
        await turns()
        assert server.connection_count == served
        time.run_for(10)
    for client in clients:
        assert await client.receive() == b"x"
    assert server.quotas.not_served("PLAINTEXT")["max.connection.creation.rate"] == 2


async def test_a_listeners_rate_is_its_own_and_the_brokers_spares_the_nodes(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    listeners = [
        Listener("CLIENTS", "127.0.0.1", 0),
        Listener("BROKERS", "127.0.0.1", 0),
        Listener("SLOW", "127.0.0.1", 0, max_connection_creation_rate=1),
    ]
    server = await rig.serve(
        listeners=listeners,
        inter_broker_listener_name="BROKERS",
        max_connection_creation_rate=3,
        quota_window_num=2,
    )
    VirtualTime(server, monkeypatch)  # which stands still
    for _ in range(20):
        client = await rig.client(server, "BROKERS")
        assert await client.ask(b"x") == b"x"
    slow = [await rig.client(server, "SLOW") for _ in range(2)]
    assert await slow[0].ask(b"x") == b"x"
    slow[1].send(b"x")
    await until(lambda: server.quotas.not_served("SLOW")["max.connection.creation.rate"] == 1)
    fast = await rig.client(server, "CLIENTS")
    assert await fast.ask(b"x") == b"x"
    assert server.quotas.not_served("BROKERS")["max.connection.creation.rate"] == 0


async def test_who_makes_too_many_is_not_served_and_closed_later(rig: Rig):
    """The client quota of an address: one is served, the second is left alone and then closed."""
    waits_ms = [0.0, 60_000.0, 0.0]
    asked: list[str] = []

    def opened_from(address: str, _now_ms: float) -> float:
        asked.append(address)
        return waits_ms.pop(0)

    server = await rig.serve(opened_from=opened_from)
    first, second = await rig.client(server), await rig.client(server)
    assert await first.ask(b"x") == b"x"
    second.send(b"x")
    await until(lambda: len(server.throttled) == 1)
    assert server.connection_count == 2
    assert server.quotas.total == 1
    server.throttled.close_all()
    assert await second.closed_by_server()
    assert server.quotas.not_served("PLAINTEXT")["connection_creation_rate"] == 1
    third = await rig.client(server)
    assert await third.ask(b"x") == b"x"
    assert asked == ["127.0.0.1"] * 3


async def test_a_server_that_stops_closes_those_who_wait(rig: Rig):
    server = await rig.serve(opened_from=lambda _address, _now_ms: 60_000.0)
    second = await rig.client(server)
    await until(lambda: len(server.throttled) == 1)
    await server.stop(0.2)
    assert await second.closed_by_server()
    assert server.connection_count == 0


async def test_how_long_a_limit_kept_it_from_accepting_is_counted(rig: Rig):
    server = await rig.serve(max_connections=1)
    (acceptor,) = server.acceptors
    first = await rig.client(server)
    assert await first.ask(b"1") == b"1"
    assert acceptor.blocked_s == 0
    second = await rig.client(server)
    second.send(b"2")
    await until(lambda: acceptor.blocked_s > 0.01)
    assert server.quotas.not_served("PLAINTEXT")["max.connections"] == 1
    first.close()
    assert await second.receive() == b"2"
    blocked_s = acceptor.blocked_s
    assert acceptor.blocked_s == blocked_s


async def test_one_without_an_address_is_gone_and_the_next_is_served(rig: Rig):
    """As macOS gives one whose peer has reset it already."""
    server = await rig.serve()
    (acceptor,) = server.acceptors
    listening, gone = acceptor._socket, list[socket.socket]()

    class Listening:
        def accept(self) -> tuple[socket.socket, object]:
            sock, address = listening.accept()
            if gone:
                return sock, address
            gone.append(sock)
            return sock, None

        def __getattr__(self, name: str) -> object:
            return getattr(listening, name)

    acceptor._socket = Listening()  # type: ignore[assignment]
    reset = await rig.client(server)
    assert await reset.closed_by_server()
    client = await rig.client(server)
    assert await client.ask(b"x") == b"x"
    assert gone[0].fileno() == -1 and server.connection_count == 1
