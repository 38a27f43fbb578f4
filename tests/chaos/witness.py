"""A well-behaved client beside the hostile ones, and the sockets that the hostile ones use."""

from __future__ import annotations

import socket
import struct
import time
from typing import Any

from protocol.records import Record
from tests.batches import build_batch
from tests.golden.damaged_batches import Asker, create_topic, end_offset, produce

TOPIC = "witness"
ANSWER_WITHIN_S = 60.0
SILENT_S = 1.0
"""So long is listened where no answer is right, too."""


class Witness(Asker):
    """Produces to a topic of its own over one connection that nothing may disturb."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        create_topic(self, TOPIC)
        self._produced = 0

    def checks_in(self) -> None:
        """Write a record, and assert that it is the only thing in the topic."""
        batch = bytes(build_batch([Record(-1, 1_700_000_000_000, b"witness", b"here")]))
        answer = produce(self, 9, batch, TOPIC)
        assert answer.error_code == 0, answer
        assert answer.base_offset == self._produced
        self._produced += 1
        assert end_offset(self, TOPIC) == self._produced


class Hostile:
    """A raw connection to 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()

    def send(self, data: bytes) -> None:
        """All of `data`; a broker that closes in the midst of it is right to."""
        try:
            self._socket.sendall(data)
        except ConnectionError:
            return

    def outcome(self, timeout_s: float = ANSWER_WITHIN_S) -> bytes | None:
        """The next answer without its size, b"" where the broker closed, None for silence."""
        deadline = time.monotonic() + timeout_s
        received = self._received
        while True:
            if len(received) >= 4:
                (size,) = struct.unpack_from(">i", received)
                if len(received) >= 4 + size:
                    answer = bytes(received[4 : 4 + size])
                    del received[: 4 + size]
                    return answer
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._socket.settimeout(left)
            try:
                chunk = self._socket.recv(1 << 20)
            except TimeoutError:
                return None
            except ConnectionError:
                return b""
            if not chunk:
                return b""
            received += chunk

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def frame(content: bytes) -> bytes:
    """`content` with its size in front."""
    return struct.pack(">i", len(content)) + content


def request_head(key: int, version: int, correlation_id: int = 7, flexible: bool = False) -> bytes:
    """A request header with the client id "bad"."""
    head = struct.pack(">hhih", key, version, correlation_id, 3) + b"bad"
    return head + b"\0" if flexible else head


def ask(port: int, data: bytes, timeout_s: float = ANSWER_WITHIN_S) -> bytes | None:
    """Send `data` over a connection of its own; see `Hostile.outcome`."""
    with Hostile(port) as peer:
        peer.send(data)
        return peer.outcome(timeout_s)


def served_versions(port: int) -> dict[int, tuple[int, int]]:
    """API key → (oldest, latest) that the broker says it serves."""
    from protocol.messages.api_versions import ApiVersionsRequest

    with Asker(port) as asker:
        answer: Any = asker.ask(ApiVersionsRequest(), 0)
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
