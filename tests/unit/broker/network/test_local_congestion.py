"""Connections from this machine are not paced; all others keep the system's congestion control."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from broker.network import local_congestion
from broker.network.local_congestion import is_local, paces, stop_pacing
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


def pace(sock: socket.socket) -> None:
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
    except OSError:
        pytest.skip("this system has no bbr")


def test_a_paced_socket_is_known_and_loses_its_pacing(pair: tuple[socket.socket, socket.socket]):
    accepted, peer = pair
    pace(accepted)
    assert paces(accepted)
    stop_pacing(accepted)
    assert algorithm(accepted) == "reno"
    assert not paces(accepted)
    accepted.sendall(b"still there")
    assert peer.recv(100) == b"still there"


def test_a_socket_without_a_congestion_control_does_not_pace():
    with socket.socket(socket.AF_UNIX) as sock:
        assert not paces(sock)
        stop_pacing(sock)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1"])
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
    ("listening_paces", "local", "changed"),
    [
        (True, True, 1),
        (True, False, 0),
        (False, True, 0),
    ],
)
async def test_the_acceptor_changes_local_connections_of_a_pacing_listener_only(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, listening_paces: bool, local: bool, changed: int
):
    stopped: list[socket.socket] = []
    monkeypatch.setattr(local_congestion, "paces", lambda _sock: listening_paces)
    monkeypatch.setattr(local_congestion, "is_local", lambda _sock, _host: local)
    monkeypatch.setattr(local_congestion, "stop_pacing", stopped.append)
    server = await rig.serve()
    client = await rig.client(server)
    assert await client.ask(b"x") == b"x"
    assert len(stopped) == changed
