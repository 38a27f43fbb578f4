"""Connections from this machine are not paced; all others keep the system's congestion control."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from broker.network.server import local_congestion
from broker.network.server.local_congestion import begin_unpaced, is_local, set_algorithm
from tests.unit.broker.network.conftest import Rig


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection over the loopback device: the accepted side, and the peer's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        peer = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        with peer, accepted:
            yield accepted, peer


def algorithm(sock: socket.socket) -> str:
    found = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return found.rstrip(b"\0").decode()


@pytest.fixture
def pacing() -> Iterator[socket.socket]:
    """A listening socket as the system makes them where its default is bbr."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        try:
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
        except OSError:
            pytest.skip("this system has no bbr")
        yield listening


def test_connections_of_a_pacing_listener_begin_without_it(pacing: socket.socket):
    # Afterwards it is too late: what has begun with bbr is paced for good, whatever it uses later.
    assert begin_unpaced(pacing) == b"bbr"
    with socket.create_connection(pacing.getsockname()) as peer, pacing.accept()[0] as accepted:
        assert algorithm(accepted) == "reno"
        accepted.sendall(b"here")
        assert peer.recv(100) == b"here"


def test_a_connection_is_given_what_the_system_has_chosen(pacing: socket.socket):
    chosen = begin_unpaced(pacing)
    with socket.create_connection(pacing.getsockname()) as peer, pacing.accept()[0] as accepted:
        set_algorithm(accepted, chosen)
        assert algorithm(accepted) == "bbr"
        accepted.sendall(b"still there")
        assert peer.recv(100) == b"still there"


def test_a_connection_keeps_its_own_where_the_system_has_no_such_algorithm(
    pair: tuple[socket.socket, socket.socket],
):
    before = algorithm(pair[0])
    set_algorithm(pair[0], b"no such one")
    assert algorithm(pair[0]) == before


def test_a_listener_that_does_not_pace_is_left_alone():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        assert begin_unpaced(listening) == b""
        assert algorithm(listening) == "reno"


def test_a_socket_without_a_congestion_control_does_not_pace():
    with socket.socket(socket.AF_UNIX) as sock:
        assert begin_unpaced(sock) == b""
        set_algorithm(sock, b"reno")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "0:0:0:0:0:0:0:1"])
def test_the_loopback_device_is_local(pair: tuple[socket.socket, socket.socket], host: str):
    assert is_local(pair[0], host)


def test_a_peer_with_this_sides_own_address_is_local_and_no_other():
    class Accepted:
        def getsockname(self) -> tuple[str, int]:
            return ("::ffff:192.0.2.7", 9092)

    accepted = Accepted()
    assert is_local(accepted, "192.0.2.7")  # type: ignore[arg-type]
    assert not is_local(accepted, "192.0.2.70")  # type: ignore[arg-type]
    assert not is_local(accepted, "12.7.0.1")  # type: ignore[arg-type]


def test_a_socket_that_is_gone_is_nobodys_neighbour():
    sock = socket.socket()
    sock.close()
    assert not is_local(sock, "192.0.2.7")


@pytest.mark.parametrize(
    ("chosen", "local", "given"),
    [
        (b"bbr", True, []),
        (b"bbr", False, [b"bbr"]),
        (b"", False, []),
    ],
)
async def test_only_connections_of_other_machines_are_given_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, chosen: bytes, local: bool, given: list[bytes]
):
    was_given: list[bytes] = []
    monkeypatch.setattr(local_congestion, "begin_unpaced", lambda _sock: chosen)
    monkeypatch.setattr(local_congestion, "is_local", lambda _sock, _host: local)
    monkeypatch.setattr(
        local_congestion, "set_algorithm", lambda _sock, name: was_given.append(name)
    )
    server = await rig.serve()
    client = await rig.client(server)
    assert await client.ask(b"x") == b"x"
    assert was_given == given
