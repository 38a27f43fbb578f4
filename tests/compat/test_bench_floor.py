"""`bench/floor.c`: it writes and sends what a broker would, to the byte."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from bench.floor import APPEND, SEND, FloorPeer
from bench.replayer import Target, replay_targets

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the floor is C: cc is missing")


def request(words: bytes) -> bytes:
    return len(words).to_bytes(4, "big") + words


def ask(connection: socket.socket, words: bytes) -> bytes:
    """The whole answer but for its length."""
    connection.sendall(request(words))
    with connection.makefile("rb", buffering=0) as stream:
        size = int.from_bytes(exactly(stream.read, 4), "big")
        return exactly(stream.read, size)


def exactly(read, size: int) -> bytes:  # type: ignore[no-untyped-def]
    data = b""
    while len(data) < size:
        part = read(size - len(data))
        assert part, "it hung up"
        data += part
    return data


def test_what_ends_a_request_goes_to_the_end_of_the_file() -> None:
    with FloorPeer(APPEND, 3, 12) as floor:
        # One connection after the other, as the replayer makes one for each window.
        for words in (b"head one", b"head two"):
            with socket.create_connection(("127.0.0.1", floor.port), timeout=30) as connection:
                assert ask(connection, words) == bytes(8)
        assert floor.file_bytes == 6
        assert Path(floor.file_name).read_bytes() == b"onetwo"
        done = replay_targets([Target(floor.port, [request(b"abc")])], 30, most=40)
        assert (done.answers, done.received_bytes) == (40, 40 * 12)
        assert floor.file_bytes == 6 + 40 * 3
        assert floor.cpu_seconds() > 0


def test_parts_of_the_file_follow_the_head_in_turn() -> None:
    parts = [bytes([number]) * 300_000 for number in range(3)]
    with (
        FloorPeer(SEND, 300_000, 20, b"".join(parts)) as floor,
        socket.create_connection(("127.0.0.1", floor.port), timeout=30) as connection,
    ):
        for number in range(5):
            assert ask(connection, b"more") == bytes(16) + parts[number % 3]


def test_one_that_cannot_start_says_why() -> None:
    with pytest.raises(RuntimeError, match="ANSWER"):
        FloorPeer(APPEND, 3, 2)
