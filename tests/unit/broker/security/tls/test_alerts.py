"""A handshake that fails tells why, before anybody closes its socket."""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import replace
from inspect import ismethod

import pytest

from broker.security.tls import alerts
from broker.security.tls.contexts import client_context, server_context
from tests import certificates

TLS = certificates.pem_values(certificates.server(), certificates.authority())


def halves(client_auth: str, sent: list[bytes] | None) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    alerts.send.set(None if sent is None else sent.append)
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = server_context("", replace(TLS, client_auth=client_auth))
    server = context.wrap_bio(inward, outward, server_side=True)
    client = client_context("", certificates.pem_values(None)).wrap_bio(
        outward, inward, server_hostname="localhost"
    )
    return server, client


def run(server: ssl.SSLObject, client: ssl.SSLObject) -> None:
    for _ in range(5):
        for half in (client, server):
            with suppress(ssl.SSLWantReadError):
                half.do_handshake()


def test_a_missing_certificate_is_told() -> None:
    sent: list[bytes] = []
    server, client = halves("required", sent)
    with pytest.raises(ssl.SSLError):
        run(server, client)
    assert len(sent) == 1 and sent[0]


def test_what_is_no_tls_is_told_so() -> None:
    sent: list[bytes] = []
    alerts.send.set(sent.append)
    inward = ssl.MemoryBIO()
    server = server_context("", TLS).wrap_bio(inward, ssl.MemoryBIO(), server_side=True)
    inward.write(b"\0\0\0\x14\0\x12\0\3" * 10)
    with pytest.raises(ssl.SSLError):
        server.do_handshake()
    assert sent == [alerts.NO_TLS_ALERT]


@pytest.mark.parametrize("gone", [True, False])
def test_a_peer_that_is_gone_and_nobody_to_tell_change_nothing(gone: bool) -> None:
    def fail(_data: bytes) -> None:
        raise BrokenPipeError

    alerts.send.set(fail if gone else None)
    inward = ssl.MemoryBIO()
    server = server_context("", TLS).wrap_bio(inward, ssl.MemoryBIO(), server_side=True)
    inward.write(b"nothing like it")
    with pytest.raises(ssl.SSLError):
        server.do_handshake()


def test_nothing_is_told_where_it_succeeds() -> None:
    sent: list[bytes] = []
    server, client = halves("none", sent)
    run(server, client)
    assert server.version() == "TLSv1.3"
    assert sent == []


def test_bytes_go_past_the_methods_of_python() -> None:
    server, client = halves("none", None)
    run(server, client)
    client.write(b"question")
    buffer = bytearray(20)
    assert server.read(3, memoryview(buffer)) == 3
    assert server.pending() == 5
    assert server.read(20, memoryview(buffer)[3:]) == 5
    assert buffer == b"question".ljust(20, b"\0")
    assert server.write(memoryview(b"answer")) == 6
    assert client.read() == b"answer"
    assert not [one for one in (server.read, server.write, server.pending) if ismethod(one)]
    assert ismethod(client.read)
