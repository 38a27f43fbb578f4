"""Certificates that are wrong in one way each: nobody comes in by one, whatever the listener asks.

`requested` lets in who shows none; a wrong one is refused all the same.
"""

from __future__ import annotations

import socket
import ssl

import pytest

from tests import certificates
from tests.chaos.secured.conftest import Siege
from tests.chaos.secured.secured_broker import tls_of
from tests.chaos.witness import frame, request_head

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def context_of(kind: str) -> ssl.SSLContext:
    if kind == "none":
        return tls_of(None)
    if kind == "for servers only":
        return tls_of(certificates.server_only())
    return tls_of(certificates.wrong(kind))


def asks(port: int, context: ssl.SSLContext) -> bytes:
    """What comes to a request; ssl.SSLError or ConnectionError where the broker refuses."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as peer,
        context.wrap_socket(peer, server_hostname="localhost") as tls,
    ):
        tls.sendall(frame(request_head(18, 0)))
        return tls.recv(1 << 16)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("listener", ["REQUIRED", "REQUESTED"])
@pytest.mark.parametrize("kind", [*certificates.WRONG, "for servers only"])
def test_a_wrong_certificate_is_refused(
    siege: Siege, kind: str, listener: str, version: str
) -> None:
    context = context_of(kind)
    context.maximum_version = context.minimum_version = VERSIONS[version]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        asks(siege.ports[listener], context)


@pytest.mark.parametrize("version", VERSIONS)
def test_none_is_refused_where_one_is_required(siege: Siege, version: str) -> None:
    context = context_of("none")
    context.maximum_version = context.minimum_version = VERSIONS[version]
    failed = siege.broker.logins("failed")
    with pytest.raises(ssl.SSLError, match="ALERT"):
        asks(siege.ports["REQUIRED"], context)
    assert asks(siege.ports["REQUESTED"], context)
    siege.let_in += 1
    assert siege.broker.logins("failed") == failed + 1


def test_a_session_of_somebody_else_lets_nobody_in(siege: Siege) -> None:
    """A session of TLS 1.2 of the listener that asks for nothing is none where one is required."""
    context = context_of("none")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    peer = socket.create_connection(("127.0.0.1", siege.ports["REQUESTED"]), timeout=60)
    with context.wrap_socket(peer, server_hostname="localhost") as tls:
        session = tls.session
    siege.let_in += 1
    peer = socket.create_connection(("127.0.0.1", siege.ports["REQUIRED"]), timeout=60)
    with peer, pytest.raises(ssl.SSLError, match="ALERT"):
        context.wrap_socket(peer, server_hostname="localhost", session=session).close()
