"""A TCP proxy that keeps the frames that pass: whole requests and responses by API and version.

`with RecordingProxy(port, target_port) as proxy: …` listens on `port`, which the broker behind it
has to advertise. `proxy.client` names who is talking now. `proxy.exchanges` has, for each client,
API key and version, the exchange with the most bytes up to a limit, as the richest example;
`proxy.produced` has all Produce requests.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from protocol.frames.framing import FrameReader
from tests.received_frames import frames_in

FRAME_LIMIT_BYTES = 100 * 1024 * 1024
KEPT_LIMIT_BYTES = 6_000
# A broker reaches itself by the address it advertises, so its own requests pass here, too.
BROKERS_OWN_CLIENT_IDS = (b"broker-", b"AddPartitionsManager")


@dataclass(frozen=True, slots=True)
class Exchange:
    """Both frames without their sizes; a Produce with acks 0 has no response."""

    request: bytes
    response: bytes

    @property
    def size(self) -> int:
        return len(self.request) + len(self.response)


class RecordingProxy:
    """Accepts until closed; each connection has two threads, one a direction."""

    def __init__(self, port: int, target_port: int) -> None:
        self.port = port
        self.client = "nobody"
        self.exchanges: dict[tuple[str, int, int], Exchange] = {}
        self.produced: list[tuple[str, bytes]] = []
        self._target_port = target_port
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> RecordingProxy:
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._acceptor.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target_port))
            self._sockets += [near, far]
            waiting: dict[int, bytes] = {}
            client = self.client

            def sent(frame: bytes, waiting: dict[int, bytes] = waiting) -> None:
                (correlation_id,) = struct.unpack_from(">i", frame, 4)
                waiting[correlation_id] = frame

            def answered(
                frame: bytes, waiting: dict[int, bytes] = waiting, client: str = client
            ) -> None:
                (correlation_id,) = struct.unpack_from(">i", frame)
                self._keep(client, Exchange(waiting.pop(correlation_id), frame))

            for source, sink, seen in ((near, far, sent), (far, near, answered)):
                threading.Thread(target=_pump, args=(source, sink, seen), daemon=True).start()

    def _keep(self, client: str, exchange: Exchange) -> None:
        api_key, version = struct.unpack_from(">hh", exchange.request)
        if exchange.request[10:].startswith(BROKERS_OWN_CLIENT_IDS):
            client = "apache-kafka"
        key = (client, api_key, version)
        with self._lock:
            if api_key == 0:
                self.produced.append((client, exchange.request))
            best = self.exchanges.get(key)
            if best is None or best.size < exchange.size <= KEPT_LIMIT_BYTES:
                self.exchanges[key] = exchange


def _pump(source: socket.socket, sink: socket.socket, seen: Callable[[bytes], None]) -> None:
    frames = FrameReader(FRAME_LIMIT_BYTES, bytearray(64 * 1024))
    with contextlib.suppress(OSError):
        while data := source.recv(64 * 1024):
            for frame in frames_in(frames, data):
                seen(bytes(frame))
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
