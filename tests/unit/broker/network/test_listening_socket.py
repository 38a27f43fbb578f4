"""Which addresses a listener serves, as Kafka's forms of `listeners` name them."""

from __future__ import annotations

import asyncio
import socket

import pytest

from broker.config.endpoints import ListenerLimits
from broker.network.listening_socket import Listener, limited
from broker.network.request_channel import ConnectionContext, Responder
from tests.tools.free_ports import free_base
from tests.unit.broker.network.conftest import CONFIG, Rig, framed


def _accepts(port: int) -> str:
    """The loopback addresses on which something listens."""
    found = []
    for host in ("127.0.0.1", "::1"):
        try:
            socket.create_connection((host, port), timeout=5).close()
        except OSError:
            continue
        found.append(host)
    return " ".join(found)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
async def test_forms_of_a_listener_and_the_families_that_they_serve(rig: Rig):
    """What Apache Kafka 4.3 serves with each of them; the ports of a pair are the same."""
    expected = {
        "": "127.0.0.1 ::1",
        "0.0.0.0": "127.0.0.1 ::1",
        "::": "127.0.0.1 ::1",
        "0:0:0:0:0:0:0:0": "127.0.0.1 ::1",
        "127.0.0.1": "127.0.0.1",
        "::1": "::1",
        "localhost": "127.0.0.1",
    }
    server = await rig.serve(listeners=[Listener(host or "none", host, 0) for host in expected])
    assert {host: _accepts(server.ports[host or "none"]) for host in expected} == expected


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
@pytest.mark.parametrize(("four", "six"), [("127.0.0.1", "::1"), ("0.0.0.0", "::1")])
@pytest.mark.parametrize("wild", [False, True])
async def test_one_port_for_a_listener_of_each_family(rig: Rig, four: str, six: str, wild: bool):
    hosts: list[str] = []

    def handle(context: ConnectionContext, _frame: memoryview, respond: Responder) -> None:
        hosts.append(f"{context.listener_name} {context.client_host}")
        respond(framed(b"ok"))

    port = free_base()
    listeners = [Listener("FOUR", four, port), Listener("SIX", "::" if wild else six, port)]
    await rig.serve(handle, listeners=listeners)
    for host in ("127.0.0.1", "::1"):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(framed(b"x"))
        await reader.readexactly(4)
        writer.close()
    assert hosts == ["FOUR 127.0.0.1", "SIX ::1"]


def test_a_listener_has_the_brokers_limits_where_it_has_none_of_its_own():
    """As a running Kafka did: with max.connections=5, the inter-broker listener had five of eight
    connections, and another one none."""
    limits = {"B": ListenerLimits(7, 2), "C": ListenerLimits(None, None, 3)}
    config = CONFIG._replace(
        max_connections=5,
        max_connection_creation_rate=9,
        num_network_threads=4,
        listener_limits=limits,
    )
    made = [limited(Listener(name, "127.0.0.1", 0), config) for name in "ABC"]
    assert [
        (one.max_connections, one.max_connection_creation_rate, one.num_network_threads)
        for one in made
    ] == [(5, 9, 4), (7, 9, 2), (5, 3, 4)]
