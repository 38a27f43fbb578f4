"""A port that is held: somebody beside us may listen on it, nobody else gets it."""

from __future__ import annotations

import socket
import sys

import pytest

from ottla.testing.ports import HOST, HeldPort


def listening(number: int) -> socket.socket:
    """As a broker does it."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((HOST, number))
    one.listen()
    return one


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="two sockets at one port")
def test_a_broker_listens_beside_it_again_and_again() -> None:
    port = HeldPort()
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, port.number))
        port.allow_broker()
        broker = listening(port.number)
        client = socket.create_connection((HOST, port.number))
        served, _ = broker.accept()
        broker.close()  # as a kill does, with a connection that is open
        served.close()
        client.close()
        port.reserve_again()
    port.release()


def test_nobody_else_gets_it() -> None:
    port = HeldPort()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, port.number))
    with listening(port.number):
        port.release()
        port.release()
        port.reserve_again()  # too late, and no error


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="two sockets at one port")
def test_of_two_who_hold_it_alone_the_second_is_refused() -> None:
    port = HeldPort()
    with pytest.raises(OSError, match="in use"):
        HeldPort(port.number, alone=True)
    user = HeldPort(port.number)  # who chose the number may hold it too
    port.release()
    with pytest.raises(OSError, match="in use"):
        HeldPort(port.number, alone=True)
    user.release()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="two sockets at one port")
def test_a_number_that_a_user_chose_is_held_right_after_a_broker_that_had_connections() -> None:
    first = HeldPort()
    with listening(first.number) as broker:
        client = socket.create_connection((HOST, first.number))
        served, _ = broker.accept()
        served.close()  # the end that is closed first keeps the number for a minute
        assert client.recv(1) == b""
        client.close()
    chosen = HeldPort(first.number)
    first.release()
    with listening(chosen.number):
        pass
    chosen.release()
