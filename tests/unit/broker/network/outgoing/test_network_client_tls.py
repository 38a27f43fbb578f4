"""Channels over TLS, against a server with certificates that are right or wrong in one way each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from broker.config.security_settings import ClientSecurity, TlsSettings
from broker.network.outgoing.network_client import NetworkClient
from broker.security.client_guard import ClientGuard
from broker.security.tls.contexts import server_context
from ground.ports import ChannelFailure
from protocol.frames.message_codec import encode_response
from protocol.messages.vote import VoteRequest, VoteResponse
from tests.certificates import (
    authority,
    client,
    pem_values,
    server,
    wrong,
)
from tests.tools.waiting import LIMIT_S
from tests.unit.broker.network.conftest import until

LIMIT = 1_000_000
TRUSTING = pem_values(None)
"""A client without a certificate."""

StartListener = Callable[..., Coroutine[Any, Any, int]]


async def answer_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each request with its number."""
    count = 0
    try:
        while True:
            frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            count += 1
            response = VoteResponse(error_code=count)
            version, correlation = frame[2:4], frame[4:8]
            out = encode_response(
                response, int.from_bytes(version, "big"), int.from_bytes(correlation, "big")
            )
            writer.write(bytes(out))
    except (asyncio.IncompleteReadError, ConnectionError, OSError):
        pass
    finally:
        writer.close()


@pytest.fixture
async def listen() -> AsyncIterator[StartListener]:
    """Starts a listener: `await listen(tls settings)` gives its port."""
    servers = []

    async def start(tls: TlsSettings) -> int:
        context = server_context("", tls)
        made = await asyncio.start_server(answer_requests, "127.0.0.1", 0, ssl=context)
        servers.append(made)
        port: int = made.sockets[0].getsockname()[1]
        return port

    yield start
    for one in servers:
        one.close()


async def outcomes(port: int, tls: TlsSettings, host: str = "localhost", count: int = 1) -> Any:
    """What a channel tells of that many requests, sent at once."""
    loop = asyncio.get_running_loop()
    network = NetworkClient(loop, LIMIT, ClientGuard(ClientSecurity("SSL", tls)))
    channel, told = network.channel(host, port, "node-1"), []
    everything: asyncio.Future[None] = loop.create_future()

    def done(response: Any, failure: ChannelFailure | None) -> None:
        told.append(failure if failure is not None else response.error_code)
        if len(told) == count:
            everything.set_result(None)

    for _ in range(count):
        channel.send(VoteRequest(), done, 60_000)
    await asyncio.wait_for(everything, LIMIT_S)
    network.close()
    return told


async def test_requests_go_over_tls(listen: StartListener) -> None:
    port = await listen(pem_values(server()))
    assert await outcomes(port, TRUSTING, count=3) == [1, 2, 3]


async def test_a_node_shows_its_certificate(listen: StartListener) -> None:
    port = await listen(replace(pem_values(server()), client_auth="required"))
    assert await outcomes(port, pem_values(client())) == [1]


async def test_an_address_that_is_in_the_certificate_is_taken(listen: StartListener) -> None:
    port = await listen(pem_values(server()))
    assert await outcomes(port, TRUSTING, host="127.0.0.1") == [1]


async def test_a_certificate_for_another_host_is_refused(
    listen: StartListener, caplog: pytest.LogCaptureFixture
) -> None:
    port = await listen(pem_values(authority().signs("CN=broker", hosts=("elsewhere",))))
    caplog.set_level(logging.WARNING)
    assert await outcomes(port, TRUSTING, count=2) == [ChannelFailure.LOST] * 2
    (line,) = caplog.messages
    assert line == (
        f"no connection to localhost:{port} (SSL): its certificate is not for localhost: connect "
        "by a name that the certificate has, or turn the check off by an empty "
        "ssl.endpoint.identification.algorithm"
    )
    unchecked = replace(TRUSTING, endpoint_identification_algorithm="")
    assert await outcomes(port, unchecked) == [1]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("foreign", "its certificate is not trusted ("),
        ("self-signed", "its certificate is not trusted (self-signed certificate)"),
        ("expired", "its certificate has expired"),
        ("not yet valid", "its certificate is not yet valid"),
    ],
)
async def test_a_certificate_that_is_not_good_is_refused(
    kind: str, said: str, listen: StartListener, caplog: pytest.LogCaptureFixture
) -> None:
    port = await listen(pem_values(wrong(kind)))
    caplog.set_level(logging.WARNING)
    assert await outcomes(port, TRUSTING) == [ChannelFailure.LOST]
    assert said in caplog.text


async def test_a_listener_that_closes_in_the_handshake_is_asked_after(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    caplog.set_level(logging.WARNING)
    port = plain.sockets[0].getsockname()[1]
    assert await outcomes(port, TRUSTING) == [ChannelFailure.LOST]
    assert "is it a listener with TLS (security.protocol says SSL)" in caplog.text
    plain.close()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
async def test_a_node_whose_certificate_is_refused_says_so(
    version: str, listen: StartListener, caplog: pytest.LogCaptureFixture
) -> None:
    port = await listen(replace(pem_values(server()), client_auth="required"))
    caplog.set_level(logging.WARNING)
    tls = replace(TRUSTING, enabled_protocols=(version,))
    assert await outcomes(port, tls) == [ChannelFailure.LOST]
    (line,) = (one.getMessage() for one in caplog.records if "peer_warnings" in one.name)
    assert "ssl.keystore.location" in line


async def test_nobody_there_is_refused_and_no_news(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert await outcomes(port, TRUSTING, "127.0.0.1") == [ChannelFailure.REFUSED]
    assert caplog.messages == []


@pytest.mark.parametrize("ends_by", ["close", "time-out"])
async def test_a_handshake_that_does_not_go_on_is_given_up(ends_by: str) -> None:
    """And its connection is closed."""
    loop = asyncio.get_running_loop()
    begun, ended = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(5)
        begun.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()
        writer.close()

    plain = await asyncio.start_server(silent, "127.0.0.1", 0)
    network = NetworkClient(loop, LIMIT, ClientGuard(ClientSecurity("SSL", TRUSTING)))
    channel = network.channel("127.0.0.1", plain.sockets[0].getsockname()[1], "node-1")
    told: list[ChannelFailure | None] = []
    channel.send(VoteRequest(), lambda _, failure: told.append(failure), 60_000)
    await asyncio.wait_for(begun.wait(), LIMIT_S)
    if ends_by == "close":
        channel.close()
        assert told == [ChannelFailure.LOST]
    else:
        channel.send(VoteRequest(), lambda _, failure: told.append(failure), 20)
        await until(lambda: len(told) == 2)
        assert told == [ChannelFailure.TIMED_OUT, ChannelFailure.LOST]
    await asyncio.wait_for(ended.wait(), LIMIT_S)
    plain.close()
    network.close()
