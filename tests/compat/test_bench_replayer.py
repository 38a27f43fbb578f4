"""`bench/replay.c` against a server that counts: what it sends, how much at once, what it tells."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from bench.replayer import ReplayedConnection, replay_targets

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="the replayer is C: cc is missing"
)

ANSWER = b"\0\0\0\x08answered"


class Server:
    """Answers `together` frames at once, or none ever, or hangs up after so many."""

    def __init__(self, together: int = 1, hang_up_after: int = 1 << 62) -> None:
        self.together, self.hang_up_after = together, hang_up_after
        self.frames: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or accept would go on
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection = self._listener.accept()[0]
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        waiting = 0
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while head := stream.read(4):
                self.frames.append(stream.read(int.from_bytes(head, "big")))
                waiting += 1
                if len(self.frames) >= self.hang_up_after:
                    return
                if self.together and waiting == self.together:
                    connection.sendall(ANSWER * waiting)
                    waiting = 0


def frame(words: bytes) -> bytes:
    return len(words).to_bytes(4, "big") + words


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_it_sends_its_frames_in_turn_as_often_as_it_may(server: Server) -> None:
    done = replay_targets(
        [ReplayedConnection(server.port, [frame(b"one"), frame(b"two")])], 30, most=5
    )
    assert (done.answers, done.received_bytes) == (5, 5 * len(ANSWER))
    assert server.frames == [b"one", b"two", b"one", b"two", b"one"]
    assert len(done.trips) == 5
    assert all(trip > 0 for trip in done.trips)


def test_it_ends_after_its_time_with_all_answered(server: Server) -> None:
    done = replay_targets([ReplayedConnection(server.port, [frame(b"x")])] * 3, 0.2)
    assert done.answers == len(server.frames) == len(done.trips) >= 3
    assert done.seconds >= 0.2


def test_as_many_are_under_way_as_it_was_told() -> None:
    server = Server(together=4)  # the fourth is what has the first answered
    done = replay_targets([ReplayedConnection(server.port, [frame(b"x")])], 30, depth=4, most=40)
    assert done.answers == 40
    server.close()


def test_without_answers_it_counts_what_it_sent() -> None:
    server = Server(together=0)
    large = frame(b"v" * 300_000)
    done = replay_targets([ReplayedConnection(server.port, [large])], 30, answered=False, most=20)
    assert (done.answers, len(done.trips)) == (20, 0)
    server.close()


def test_a_connection_that_is_closed_is_an_error() -> None:
    server = Server(hang_up_after=3)
    with pytest.raises(RuntimeError, match="closed the connection|send"):
        replay_targets([ReplayedConnection(server.port, [frame(b"x")])], 30)
    server.close()


def test_nobody_there_is_an_error(server: Server) -> None:
    server.close()
    with pytest.raises(RuntimeError, match="connect"):
        replay_targets([ReplayedConnection(server.port, [frame(b"x")])], 1)
