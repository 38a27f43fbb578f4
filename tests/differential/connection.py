"""One connection to a broker that takes what comes: an answer, a closed connection, or nothing.

Unlike `tests.clients.wire_client` it sends frames as they are and can ask whether something has
come. Owns its socket.
"""

from __future__ import annotations

import socket
import struct
import time
from enum import Enum

from broker.network.readiness import readable
from tests.tools.waiting import LIMIT_S


class Outcome(Enum):
    """What came in place of an answer that is read."""

    ANSWERED = "an answer"
    CLOSED = "the connection was closed"
    NOTHING = "no answer"
    NO_ANSWER_DUE = "no answer is due"


class Connection:
    """Blocking, one frame at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = bytearray()
        self.correlation = 0
        self.is_open = True

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, frame: bytes, size: int | None = None) -> None:
        """One frame; `size` in place of its own length in front of it."""
        try:
            self._socket.sendall(struct.pack(">i", len(frame) if size is None else size) + frame)
        except OSError:
            self.is_open = False

    def finish_sending(self) -> None:
        """Nothing more will come, as a client says that dies in a frame."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.is_open = False

    def receive(self, timeout_s: float) -> bytes | Outcome:
        """The next frame without its size, or what came instead."""
        deadline = time.monotonic() + timeout_s
        while self.is_open:
            if len(self._data) >= 4:
                (size,) = struct.unpack_from(">i", self._data)
                if len(self._data) >= 4 + size:
                    frame = bytes(self._data[4 : 4 + size])
                    del self._data[: 4 + size]
                    return frame
            left = deadline - time.monotonic()
            if left <= 0 or not readable([self._socket], left):
                return Outcome.NOTHING
            self._take()
        return Outcome.CLOSED

    def _take(self) -> None:
        try:
            piece = self._socket.recv(1 << 20)
        except OSError:
            piece = b""
        self._data += piece
        self.is_open = bool(piece)

    def close(self) -> None:
        self._socket.close()
        self.is_open = False


def first_readable(connections: list[Connection], timeout_s: float) -> bool:
    """Whether something comes on one of them within that time."""
    return bool(readable(connections, timeout_s))
