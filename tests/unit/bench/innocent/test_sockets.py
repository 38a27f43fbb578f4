"""A storm of connections, and readers that are soon full."""

from __future__ import annotations

import socket
import threading

from bench.idle import API_VERSIONS_FRAME
from bench.innocent.progress import LoadProgress
from bench.innocent.sockets import stalling, storm


def test_every_connection_of_a_storm_asks_and_counts_when_it_is_answered() -> None:
    asked: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        for number in range(5):
            theirs, _ = listening.accept()
            asked.append(theirs.recv(1000))
            if number:
                theirs.sendall(b"answer")
            theirs.close()

    told = LoadProgress(lambda: 0.0, lambda line: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve, args=[listening])
        server.start()
        storm(listening.getsockname()[1], told, 5)
        server.join()
    assert asked == [API_VERSIONS_FRAME] * 5
    assert told.units == 4


def test_a_stalling_reader_takes_little() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = stalling(listening.getsockname()[1])
        theirs, _ = listening.accept()
        theirs.settimeout(0.2)
        sent = 0
        try:
            while sent < 1 << 26:
                sent += theirs.send(bytes(1 << 16))
        except TimeoutError:
            pass
        theirs.close()
        one.close()
    assert sent < 1 << 24
