"""Frames that are repeated, or sent little by little."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from bench.innocent.senders import FRAME_BYTES, Repeater, SlowSender, large_head
from protocol.messages.headers import RequestHeader


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_a_frame_is_repeated_and_its_answers_are_counted(listening: socket.socket) -> None:
    one = Repeater(listening.getsockname()[1], b"frame")
    theirs, _ = listening.accept()
    one.write()
    one.write()
    assert theirs.recv(100) == b"frameframe"
    theirs.sendall(b"\0\0\0\2ok\0\0\0\1")
    one.socket.setblocking(True)
    assert one.read() == 1
    theirs.sendall(b"x")
    assert one.read() == 1
    theirs.close()
    with pytest.raises(ConnectionError):
        one.read()
    one.socket.close()


def test_a_large_frame_begins_as_a_produce_of_the_largest_size() -> None:
    head = large_head()
    assert int.from_bytes(head[:4], "big") == FRAME_BYTES
    header, _ = RequestHeader.read(memoryview(head), 4, 2)
    assert (header.request_api_key, header.client_id) == (0, "slow")


def test_who_is_hung_up_on_begins_anew(listening: socket.socket) -> None:
    one = SlowSender(listening.getsockname()[1], b"head")
    theirs, _ = listening.accept()
    assert one.send(b"part") == 4
    assert theirs.recv(100) == b"headpart"
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    theirs.close()  # by a reset
    assert one.send(b"part") == 0
    theirs, _ = listening.accept()
    assert one.send(b"more") == 4
    assert theirs.recv(100) == b"headmore"
    theirs.close()
    one.close()
