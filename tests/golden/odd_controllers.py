"""Servers that a quorum can be asked to add as voters, and that do not answer as a controller does.

Owns their sockets, and the threads of those that answer. They answer ApiVersions alone.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import struct
import threading
from typing import NamedTuple

from protocol.frames.message_codec import encode_response
from protocol.messages import api_versions as versions
from tests.tools.ports import Ports

HOST = "127.0.0.1"
Address = tuple[str, int]


class Kind(NamedTuple):
    """The content of a fake controller's responses."""

    levels: tuple[int, int] | None = None
    """The levels of kraft.version; None: the server does not name this feature."""
    closes: bool = False
    """Whether the server closes each connection at once."""


KINDS = {
    "a server without kraft.version": Kind(),
    "a server with levels 2 to 3": Kind((2, 3)),
    "a server that does not fetch": Kind((0, 1)),
    "a server that closes connections": Kind(closes=True),
}


class OddControllers:
    """The servers, while the context is open."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._silent: socket.socket | None = None
        self._ports = Ports()

    def __enter__(self) -> OddControllers:
        self._open.callback(self._ports.close)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def addresses(self) -> dict[str, Address]:
        """Start the servers that answer; return the address of each, and one without a server."""
        started = {name: self._answering(kind) for name, kind in KINDS.items()}
        return {**started, "nothing at this port": (HOST, self._ports.take())}

    def silent(self) -> Address:
        """Return the address of a server that accepts a connection and never answers."""
        self._silent = self._listening()
        return self._silent.getsockname()

    def wait_for_connection(self) -> None:
        """Wait until the silent server has a connection, which stays open."""
        assert self._silent is not None
        connection, _ = self._silent.accept()
        self._open.callback(connection.close)

    def _listening(self) -> socket.socket:
        listening = socket.create_server((HOST, self._ports.take()))
        listening.settimeout(60)
        self._open.callback(listening.close)
        return listening

    def _answering(self, kind: Kind) -> Address:
        server = _AnsweringServer((HOST, self._ports.take()), kind)
        self._open.callback(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._open.callback(server.shutdown)
        return HOST, int(server.server_address[1])


class _AnsweringServer(socketserver.ThreadingTCPServer):
    """A server that answers ApiVersions on each of its connections."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: Address, kind: Kind) -> None:
        """Listen at `address`."""
        self.kind = kind
        super().__init__(address, _AnsweredConnection)


class _AnsweredConnection(socketserver.StreamRequestHandler):
    server: _AnsweringServer

    def handle(self) -> None:
        """Answer until the client closes the connection."""
        with contextlib.suppress(OSError):
            while not self.server.kind.closes and (size := self.rfile.read(4)):
                frame = self.rfile.read(*struct.unpack(">i", size))
                key, version, correlation = struct.unpack_from(">hhi", frame)
                assert key == versions.ApiVersionsRequest.API_KEY
                answer = encode_response(_answer(self.server.kind), version, correlation)
                self.wfile.write(answer.joined())


def _answer(kind: Kind) -> versions.ApiVersionsResponse:
    """Return the answer, which names ApiVersions itself because clients look for it."""
    response = versions.ApiVersionsResponse(
        0, [versions.ApiVersion(versions.ApiVersionsRequest.API_KEY, 0, 4)]
    )
    if kind.levels is not None:
        response.supported_features = [versions.SupportedFeatureKey("kraft.version", *kind.levels)]
    return response
