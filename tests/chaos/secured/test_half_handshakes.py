"""TLS handshakes that stop in the midst, by the hundred, beside clients that log in (N6).

They are closed at `ottla.authentication.timeout.ms`; until then others notice nothing, which the
bystander of `conftest` sees to. And a handshake that comes byte by byte is a good one.
"""

from __future__ import annotations

import random
import socket
import ssl
import time
from collections.abc import Iterator

import pytest

from protocol.frames.message_codec import encode_request
from protocol.messages.metadata import MetadataRequest
from tests import certificates
from tests.chaos.secured.conftest import Siege
from tests.chaos.secured.secured_broker import LOGIN_TIMEOUT_MS, tls_of
from tests.chaos.witness import frame, request_head

HALF = 300
"""On each of the listeners with TLS."""
VANISHING = 200
CLOSED_WITHIN_S = LOGIN_TIMEOUT_MS / 1000 + 60.0
GOOD_LOGINS_MEANWHILE = 20


def hello(identity: certificates.Identity | None = None) -> bytes:
    """What a client says first."""
    out = ssl.MemoryBIO()
    handshake = tls_of(identity).wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        handshake.do_handshake()
    return out.read()


def connect(port: int, data: bytes) -> socket.socket:
    peer = socket.create_connection(("127.0.0.1", port), timeout=CLOSED_WITHIN_S)
    peer.sendall(data)
    return peer


def until_closed(peer: socket.socket, deadline_s: float) -> None:
    with peer:
        peer.settimeout(max(0.1, deadline_s - time.monotonic()))
        try:
            while peer.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass


def test_half_handshakes_are_closed_in_time(siege: Siege) -> None:
    rng = random.Random(6)
    data, peers = hello(), []
    began_s = time.monotonic()
    for listener in ("REQUIRED", "BOTH"):
        for number in range(HALF * siege.times):
            # Nothing; a part of the first message; all of it, and nothing to the answer.
            size = (0, rng.randrange(1, len(data)), len(data))[number % 3]
            peers.append(connect(siege.ports[listener], data[:size]))
    for peer in peers:
        until_closed(peer, began_s + CLOSED_WITHIN_S)
    assert time.monotonic() - began_s > LOGIN_TIMEOUT_MS / 1000 * 0.5


def test_peers_that_vanish_in_the_midst_of_a_handshake(siege: Siege) -> None:
    rng = random.Random(7)
    data = hello()
    for number in range(VANISHING * siege.times):
        listener = ("REQUIRED", "REQUESTED", "BOTH")[number % 3]
        peer = connect(siege.ports[listener], data[: rng.randrange(len(data) + 1)])
        if number % 2:
            linger = b"\1\0\0\0\0\0\0\0"
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)  # resets
        peer.close()


def test_damaged_handshakes_are_refused(siege: Siege) -> None:
    rng = random.Random(8)
    data = hello()
    for number in range(VANISHING * siege.times):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        listener = ("REQUIRED", "REQUESTED", "BOTH")[number % 3]
        with connect(siege.ports[listener], bytes(damaged)) as peer:
            peer.shutdown(socket.SHUT_WR)
            until_closed(peer, time.monotonic() + CLOSED_WITHIN_S)


# --- byte by byte ---------------------------------------------------------------------------------


def byte_by_byte(port: int, identity: certificates.Identity, data: bytes) -> Iterator[bytes]:
    """Sends `data` in TLS, one byte of the stream at a time; gives what comes, in clear."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = tls_of(identity).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send() -> None:
            for byte in outgoing.read():
                peer.sendall(bytes([byte]))

        def go_on(step: object) -> object:
            while True:
                try:
                    return step()  # type: ignore[operator]
                except ssl.SSLWantReadError:
                    send()
                    incoming.write(peer.recv(1 << 16))

        go_on(tls.do_handshake)
        tls.write(data)
        send()
        while True:
            chunk = go_on(lambda: tls.read(1 << 16))
            assert isinstance(chunk, bytes)
            yield chunk


@pytest.mark.parametrize("listener", ["REQUIRED", "REQUESTED"])
def test_tls_byte_by_byte_is_served(siege: Siege, listener: str) -> None:
    data = encode_request(MetadataRequest(topics=None), 9, 5, "slow")
    data += frame(request_head(18, 0, 6))
    received = b""
    for chunk in byte_by_byte(siege.ports[listener], certificates.client(), data):
        received += chunk
        size = int.from_bytes(received[:4])
        if len(received) > size + 12:
            break
    siege.let_in += 1
    assert received[4:8] == b"\0\0\0\5" and received[size + 8 : size + 12] == b"\0\0\0\6"
