"""A Kafka client of one connection that sends the caller's requests unchanged.

It compares brokers answer by answer: any API, any version, with the generated message classes. The
socket blocks; `send` does not wait, and `receive` returns the answer later. A TLS context encrypts
the connection, `log_in` authenticates by SASL.
"""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
from typing import Any

from broker.config.security_settings import JaasEntry, MechanismSettings, Secret
from broker.security.sasl.client_authenticator import SaslClient
from broker.security.sasl.mechanism_factory import client_mechanism
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import answer_to, encode_request
from protocol.messages.headers import ResponseHeader


class WireClient:
    """A connection to a broker that sends requests and returns their answers in order."""

    def __init__(
        self,
        port: int,
        client_id: str | None = "wire",
        host: str = "127.0.0.1",
        timeout_s: float = 60,
        tls: ssl.SSLContext | None = None,
        source: str | None = None,
    ) -> None:
        """Connect. `source` is the address of this end of the connection."""
        self._client_id = client_id
        own = None if source is None else (source, 0)
        self._socket = socket.create_connection((host, port), timeout_s, own)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self._correlation = 0
        self._sent: list[tuple[int, Any, int]] = []

    def log_in(self, mechanism: str, name: str, password: str, *, by_token: bool = False) -> None:
        """Authenticate by SASL. Raises SaslRefused if the broker rejects the login.

        `by_token`: `name` is a delegation token's id, `password` its HMAC in base64.
        """
        options = {"username": Secret(name), "password": Secret(password)}
        if by_token:
            options["tokenauth"] = Secret("true")
        settings = MechanismSettings(mechanism, JaasEntry("", options))
        new_login = client_mechanism(settings, lambda: secrets.token_hex(16))
        login = SaslClient(mechanism, new_login(), self._client_id or "", self._next_correlation)
        frame: bytes | None = login.begin()
        while frame is not None:
            self._socket.sendall(frame)
            frame = login.received(self._frame())

    def _next_correlation(self) -> int:
        self._correlation += 1
        return self._correlation

    def send(self, request: Any, version: int, *, answered: bool = True) -> None:
        """Send `request`.

        `receive` returns its answer, unless `answered` is False, which means none comes.
        """
        correlation = self._next_correlation()
        self._socket.sendall(encode_request(request, version, correlation, self._client_id))
        if answered:
            self._sent.append((correlation, answer_to(request), version))

    def receive(self) -> Any:
        """Return the answer to the oldest unanswered request.

        Raises ConnectionError if the broker closes the connection.
        """
        correlation, response, version = self._sent.pop(0)
        view = self._frame()
        flexible = version >= response.FLEXIBLE_FROM and response.API_KEY != ApiKey.API_VERSIONS
        header, pos = ResponseHeader.read(view, 0, 1 if flexible else 0)
        assert header.correlation_id == correlation
        message, pos = response.read(view, pos, version)
        assert pos == len(view), f"{len(view) - pos} bytes after {response.__name__}"
        return message

    def call(self, request: Any, version: int) -> Any:
        """Send the request and return its answer."""
        self.send(request, version)
        return self.receive()

    def close(self) -> None:
        """Close the connection, as a client that dies does."""
        self._socket.close()

    def _frame(self) -> memoryview:
        (size,) = struct.unpack(">i", self._read(4))
        return memoryview(self._read(size))

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            data += piece
        return bytes(data)

    def __enter__(self) -> WireClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
