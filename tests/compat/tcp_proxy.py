"""A proxy before a broker that loses the answer to a Produce request: the request was carried out,
the client sees its connection close.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque

HOST = "127.0.0.1"
PRODUCE = 0


class LossyProxy:
    """Listens on `port`; `lose_next()` loses the answer to the next Produce request."""

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self.target: tuple[str, int] | None = None
        self.lost = 0
        self._lose = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = [self._listener]
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_next(self, count: int = 1) -> None:
        """Lose the answers to the next `count` Produce requests."""
        with self._lock:
            self._lose = count

    def close(self) -> None:
        """Close everything."""
        self._closed = True
        for one in list(self._sockets):
            _end(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            assert self.target is not None
            try:
                broker = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            self._sockets += [client, broker]
            if self._closed:  # meanwhile: it did not see these
                _end(client)
                _end(broker)
                return
            asked: deque[int] = deque()
            for run in (self._requests, self._responses):
                threading.Thread(target=run, args=(client, broker, asked), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket, asked: deque[int]) -> None:
        with contextlib.suppress(OSError):
            while frame := _frame(client):
                asked.append(struct.unpack_from(">h", frame, 4)[0])
                broker.sendall(frame)
        _end(client)
        _end(broker)

    def _responses(self, client: socket.socket, broker: socket.socket, asked: deque[int]) -> None:
        with contextlib.suppress(OSError):
            while frame := _frame(broker):
                if asked.popleft() == PRODUCE and self._take_one():
                    break
                client.sendall(frame)
        _end(client)
        _end(broker)

    def _take_one(self) -> bool:
        with self._lock:
            if not self._lose:
                return False
            self._lose -= 1
            self.lost += 1
            return True


def _frame(source: socket.socket) -> bytes:
    """One frame with its size, empty at the end."""
    head = _exactly(source, 4)
    if not head:
        return b""
    body = _exactly(source, struct.unpack(">i", head)[0])
    return head + body if body else b""


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
