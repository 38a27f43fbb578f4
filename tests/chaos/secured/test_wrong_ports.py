"""Plain bytes on a port of TLS, TLS on a plain port, TLS that is too old or too weak.

KIP-498, KIP-651. Whoever it was, they are closed, and a client of the other kind is
told so by an alert.
"""

from __future__ import annotations

import socket
import ssl

import pytest

from broker.security.tls.alerts import NO_TLS_ALERT
from tests import certificates
from tests.chaos.secured.conftest import Siege
from tests.chaos.secured.secured_broker import tls_of
from tests.chaos.witness import Hostile, frame, request_head

TLS_PORTS = ("REQUIRED", "REQUESTED", "BOTH")
PLAIN_PORTS = ("PLAINTEXT", "SASL")
ENDS_WITHIN_S = 60.0
HELLO_OF_TLS_1_0 = (
    bytes.fromhex("160301002f0100002b0301") + bytes(32) + bytes.fromhex("000004002f000a0100")
)
HELLO_OF_SSL_2 = bytes.fromhex(
    "802e0100020015000000100100800200800300800400800500800600400700c0"
) + bytes(16)


def all_of(port: int, data: bytes) -> bytes:
    """What comes to these bytes until the broker closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=ENDS_WITHIN_S) as peer:
        received = b""
        try:
            peer.sendall(data)
            while chunk := peer.recv(1 << 16):
                received += chunk
        except ConnectionResetError:
            pass
        return received


@pytest.mark.parametrize("listener", TLS_PORTS)
def test_what_is_no_tls_hears_an_alert(siege: Siege, listener: str) -> None:
    for data in (frame(request_head(18, 0)), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\xff" * 600):
        assert all_of(siege.ports[listener], data) == NO_TLS_ALERT


@pytest.mark.parametrize("listener", PLAIN_PORTS)
def test_tls_on_a_plain_port_is_closed(siege: Siege, listener: str) -> None:
    hello = ssl.MemoryBIO()
    handshake = tls_of(None).wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        handshake.do_handshake()
    assert all_of(siege.ports[listener], hello.read()) == b""


@pytest.mark.parametrize("listener", TLS_PORTS)
@pytest.mark.parametrize(
    "hello", [HELLO_OF_TLS_1_0, HELLO_OF_SSL_2], ids=["TLS 1.0 and 3DES", "SSL 2"]
)
def test_a_hello_of_old_times_hears_an_alert(siege: Siege, listener: str, hello: bytes) -> None:
    answer = all_of(siege.ports[listener], hello)
    assert answer[:1] == b"\x15" and len(answer) == 7, answer


@pytest.mark.parametrize("listener", TLS_PORTS)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_versions_are_refused(siege: Siege, listener: str, version: ssl.TLSVersion) -> None:
    context = tls_of(certificates.client())
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with pytest.raises(ssl.SSLError, match="ALERT"):
        shakes_hands(siege.ports[listener], context)


@pytest.mark.parametrize("listener", TLS_PORTS)
@pytest.mark.parametrize("ciphers", ["aNULL", "eNULL", "kRSA"])
def test_suites_without_secrets_are_refused(siege: Siege, listener: str, ciphers: str) -> None:
    context = tls_of(certificates.client())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match="ALERT"):
        shakes_hands(siege.ports[listener], context)


def shakes_hands(port: int, context: ssl.SSLContext) -> None:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=ENDS_WITHIN_S) as peer,
        context.wrap_socket(peer, server_hostname="localhost"),
    ):
        pass


def test_bytes_and_tls_in_one_connection(siege: Siege) -> None:
    """A frame in clear behind a good handshake is no request."""
    context = tls_of(certificates.client())
    with socket.create_connection(
        ("127.0.0.1", siege.ports["REQUIRED"]), timeout=ENDS_WITHIN_S
    ) as peer:
        shaken = context.wrap_socket(peer, server_hostname="localhost")
        siege.let_in += 1
        with socket.socket(fileno=shaken.detach()) as bare:
            bare.settimeout(ENDS_WITHIN_S)
            bare.sendall(frame(request_head(18, 0)))
            received = b""
            try:
                while chunk := bare.recv(1 << 16):
                    received += chunk
            except ConnectionResetError:
                pass
    assert received[:1] in (b"", b"\x15", b"\x17")
    with Hostile(siege.ports["PLAINTEXT"]) as peer:
        peer.send(frame(request_head(18, 0)))
        assert peer.outcome()
