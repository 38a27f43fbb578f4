"""TLS on a listener: who is let in and as whom, and what those hear who are not."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import time
import weakref
from dataclasses import replace
from typing import Any

import pytest

from broker.config.security_settings import ListenerSecurity
from broker.network.server.listening_socket import Listener
from broker.network.server.socket_server import SocketServer
from broker.security.listener_guard import ListenerGuard
from broker.security.logins import Logins
from broker.security.tls.alerts import NO_TLS_ALERT
from broker.security.tls.contexts import client_context
from tests import certificates
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import Client, Rig, connection_of, framed, turns, until


def guard(client_auth: str = "none", rules: str = "DEFAULT") -> ListenerGuard:
    tls = replace(
        certificates.pem_values(certificates.server(), certificates.authority()),
        client_auth=client_auth,
        principal_mapping_rules=rules,
    )
    security = ListenerSecurity("SSL", "SSL", tls)
    return ListenerGuard(
        security, Logins("SSL", 100, time.monotonic), None, lambda *_: None, between_nodes=False
    )


async def serve(rig: Rig, door: ListenerGuard, **settings: Any) -> SocketServer:
    listener = Listener("SSL", "127.0.0.1", 0, "SSL", guard=door)
    return await rig.serve(listeners=[listener], **settings)


def context(identity: certificates.Identity | None = None) -> ssl.SSLContext:
    return client_context("", certificates.pem_values(identity))


async def connect(
    server: SocketServer, rig: Rig, identity: certificates.Identity | None = None
) -> Client:
    client = await Client.connect(
        server.ports["SSL"], ssl=context(identity), server_hostname="localhost"
    )
    rig.clients.append(client)
    return client


async def test_requests_and_answers_of_any_size_go_through(rig: Rig) -> None:
    server = await serve(rig, guard())
    client = await connect(server, rig)
    assert await client.ask(b"small") == b"small"
    large = bytes(range(256)) * 20_000
    assert await client.ask(large) == large
    client.send(b"one", b"two", b"three")
    assert [await client.receive() for _ in range(3)] == [b"one", b"two", b"three"]
    assert connection_of(server).socket is None, "nothing is written beside the TLS layer"


async def test_a_connection_that_is_gone_is_garbage_without_a_collection(rig: Rig) -> None:
    server = await serve(rig, guard())
    client = await connect(server, rig)
    await client.ask(b"x")
    connection = weakref.ref(connection_of(server))
    gc.collect()
    gc.disable()
    try:
        client.writer.transport.abort()
        await until(lambda: connection() is None)
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("client_auth", "shows", "principal"),
    [
        ("none", True, "User:ANONYMOUS"),
        ("requested", False, "User:ANONYMOUS"),
        ("requested", True, "User:CN=alice,OU=Data,O=Acme,C=AT"),
        ("required", True, "User:CN=alice,OU=Data,O=Acme,C=AT"),
    ],
)
async def test_the_principal_is_the_certificates_name(
    rig: Rig, client_auth: str, shows: bool, principal: str
) -> None:
    door = guard(client_auth)
    server = await serve(rig, door)
    client = await connect(server, rig, certificates.client() if shows else None)
    assert await client.ask(b"x") == b"x"
    assert connection_of(server).context.principal == principal
    assert (door.logins.succeeded, door.logins.failed) == (1, 0)


async def test_a_name_that_no_rule_maps_is_not_let_in(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    server = await serve(rig, guard("required", "RULE:^CN=nobody$/x/"))
    client = await connect(server, rig, certificates.client())
    client.send(b"x")
    assert await client.closed_by_server()
    (line,) = [one for one in caplog.messages if one.startswith("Failed authentication")]
    assert "ssl.principal.mapping.rules" in line


async def test_what_is_no_tls_hears_an_alert_and_is_closed(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    door = guard()
    server = await serve(rig, door)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.ports["SSL"])
    writer.write(framed(b"\0\x12\0\3\0\0\0\1\0\1x\0" * 4))
    async with asyncio.timeout(LIMIT_S):
        assert await reader.read() == NO_TLS_ALERT
    writer.close()
    assert "listener SSL" in caplog.text and "SSL handshake failed" in caplog.text
    assert "Traceback" not in caplog.text
    assert (door.logins.failed, server.connection_count) == (1, 0)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_who_shows_no_certificate_hears_why(rig: Rig, version: ssl.TLSVersion) -> None:
    server = await serve(rig, guard("required"))
    plain = context()
    plain.maximum_version = version
    with pytest.raises(ssl.SSLError, match="ALERT"):
        client = await Client.connect(server.ports["SSL"], ssl=plain, server_hostname="localhost")
        rig.clients.append(client)
        await client.ask(b"x")


async def test_half_a_handshake_holds_nobody_up_and_ends_in_time(rig: Rig) -> None:
    server = await serve(
        rig, guard(), ottla_authentication_timeout_ms=400, ottla_tls_handshakes_max=10
    )
    silent = [await asyncio.open_connection("127.0.0.1", server.ports["SSL"]) for _ in range(5)]
    await until(lambda: sum(one.accepted for one in server.processors) == 5)
    await turns()
    for processor in server.processors:
        processor._login_s = LIMIT_S  # for the client that comes now
    client = await connect(server, rig)
    assert await client.ask(b"x") == b"x"
    async with asyncio.timeout(LIMIT_S):
        for reader, writer in silent:
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            writer.close()
    assert server.connection_count == 1


async def test_silent_peers_make_way_for_one_that_waits(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    server = await serve(rig, guard(), ottla_tls_handshakes_max=3)
    for processor in server.processors:
        processor._handshakes._patience_s = 0.1
    silent = [await asyncio.open_connection("127.0.0.1", server.ports["SSL"]) for _ in range(6)]
    client = await connect(server, rig)
    assert await client.ask(b"x") == b"x"
    assert "not done while others waited for its place" in caplog.text
    for _, writer in silent:
        writer.close()


async def test_more_handshakes_than_may_be_under_way_wait(rig: Rig) -> None:
    server = await serve(rig, guard(), ottla_tls_handshakes_max=2)
    clients = await asyncio.gather(*(connect(server, rig) for _ in range(20)))
    answers = await asyncio.gather(*(client.ask(b"x") for client in clients))
    assert answers == [b"x"] * 20


async def test_a_stop_does_not_wait_for_one_that_does_not_read(rig: Rig) -> None:
    server = await serve(rig, guard())
    plain = socket.create_connection(("127.0.0.1", server.ports["SSL"]))
    with await asyncio.to_thread(context().wrap_socket, plain, server_hostname="localhost"):
        await until(lambda: server.connection_count == 1)
        async with asyncio.timeout(LIMIT_S):
            await server.stop(10 * LIMIT_S)


async def test_a_stop_ends_open_connections_and_handshakes(rig: Rig) -> None:
    server = await serve(rig, guard())
    client = await connect(server, rig)
    assert await client.ask(b"x") == b"x"
    await server.stop(1.0)
    assert await client.closed_by_server()


async def test_a_handshake_that_the_peer_ends_or_never_ends_is_told(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    door = guard()
    server = await serve(rig, door)
    _, looks = await asyncio.open_connection("127.0.0.1", server.ports["SSL"])
    looks.close()  # it says nothing, and so it has failed at nothing
    _, gone = await asyncio.open_connection("127.0.0.1", server.ports["SSL"])
    gone.write(b"\x16\x03\x01")
    gone.close()
    await until(lambda: door.logins.failed == 1)
    assert "(SSL handshake failed: the peer has closed the connection)" in caplog.messages[-1]
    server = await serve(rig, door, ottla_authentication_timeout_ms=100)
    _, silent = await asyncio.open_connection("127.0.0.1", server.ports["SSL"])
    await until(lambda: door.logins.failed == 2)
    assert "(SSL handshake failed: not done in time)" in caplog.messages[-1]
    silent.close()


async def test_a_stop_waits_for_no_handshake_under_way_or_in_line(rig: Rig) -> None:
    limit_ms = int(10_000 * LIMIT_S)
    server = await serve(
        rig, guard(), ottla_tls_handshakes_max=2, ottla_authentication_timeout_ms=limit_ms
    )
    silent = [await asyncio.open_connection("127.0.0.1", server.ports["SSL"]) for _ in range(5)]
    await until(lambda: server.connection_count == 5)
    async with asyncio.timeout(LIMIT_S):
        await server.stop(limit_ms / 1_000)
    assert server.connection_count == 0
    for reader, writer in silent:
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()


async def test_what_waits_in_the_tls_layer_is_counted_with_what_waits_for_it(rig: Rig) -> None:
    server = await rig.serve(
        lambda _context, _frame, respond: respond(framed(bytes(20_000_000))),
        listeners=[Listener("SSL", "127.0.0.1", 0, "SSL", guard=guard())],
    )
    client = await connect(server, rig)
    client.send(b"much")
    await until(lambda: server.unsent.held_bytes > 1_000_000)
    connection = connection_of(server)
    assert server.unsent.held_bytes == connection.unsent_bytes > connection.pending_bytes
    assert len(await client.receive()) == 20_000_000
    await until(lambda: server.unsent.held_bytes == 0)
