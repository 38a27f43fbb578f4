"""Which addresses a listener serves, as Kafka's forms of `listeners` name them."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from broker.config.endpoints import ListenerLimits
from broker.network.server.listening_socket import Listener, limited
from broker.network.server.request_channel import ConnectionContext, Responder
from tests.tools.ports import free_port
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import CONFIG, Rig, framed

IN_FULL = {"::1": "0:0:0:0:0:0:0:1"}
"""As Kafka tells the address of a client."""


class Served:
    """Listeners that answer, and note for whom."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.ids: list[str] = []

    def handle(self, context: ConnectionContext, _frame: memoryview, respond: Responder) -> None:
        self.noted.append(f"{context.listener_name} {context.client_host}")
        self.ids.append(context.connection_id)
        respond(framed(b"ok"))

    async def ask(self, host: str, port: int) -> None:
        """One request there. Somebody else may have that port of the other address family."""
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(framed(b"x"))
                await asyncio.wait_for(reader.readexactly(4), LIMIT_S)
            finally:
                writer.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
async def test_forms_of_a_listener_and_the_families_that_they_serve(rig: Rig):
    """What Apache Kafka serves with each of them; the ports of a pair are the same."""
    both = ["127.0.0.1", "::1"]
    expected = {
        "none": both,
        "0.0.0.0": both,
        "::": both,
        "0:0:0:0:0:0:0:0": both,
        "127.0.0.1": ["127.0.0.1"],
        "::1": ["::1"],
        "localhost": ["127.0.0.1"],
    }
    served = Served()
    listeners = [Listener(name, "" if name == "none" else name, 0) for name in expected]
    server = await rig.serve(served.handle, listeners=listeners)
    for name in expected:
        for host in both:
            await served.ask(host, server.ports[name])
    assert served.noted == [
        f"{name} {IN_FULL.get(host, host)}" for name in expected for host in expected[name]
    ]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
@pytest.mark.parametrize(("four", "six"), [("127.0.0.1", "::1"), ("0.0.0.0", "::1")])
@pytest.mark.parametrize("wild", [False, True])
async def test_one_port_for_a_listener_of_each_family(rig: Rig, four: str, six: str, wild: bool):
    served = Served()
    port = free_port()
    listeners = [Listener("FOUR", four, port), Listener("SIX", "::" if wild else six, port)]
    await rig.serve(served.handle, listeners=listeners)
    for host in ("127.0.0.1", "::1"):
        await served.ask(host, port)
    assert served.noted == ["FOUR 127.0.0.1", f"SIX {IN_FULL['::1']}"]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
async def test_a_connections_id_has_both_addresses_as_java_tells_them(rig: Rig):
    served = Served()
    server = await rig.serve(served.handle, listeners=[Listener("BOTH", "::", 0)])
    port = server.ports["BOTH"]
    hosts = ("127.0.0.1", "::1")
    for host in hosts:
        await served.ask(host, port)
    ends = [f"{IN_FULL.get(host, host)}:{port}-{IN_FULL.get(host, host)}:" for host in hosts]
    assert [one[: len(end)] for one, end in zip(served.ids, ends, strict=True)] == ends


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
