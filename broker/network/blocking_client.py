"""One connection to a broker that sends a request and waits for its answer: for commands.

What a person calls (`ottla status`) has nothing else to do meanwhile, and an event loop would cost
more start-up than the question. Owns a socket. Never used by a node: nodes talk through
`broker.network.network_client`.

Versions are agreed on by ApiVersions, as clients do (KIP-35, KIP-511). Where the listener wants it,
the connection is over TLS and begins with a login; `broker.security.client_guard` knows how to get
in, and has the words for what went wrong.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from broker.security.connect_failures import ClosedBeforeAnswer, ClosedInLogin, SpeaksTls
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.primitives import MessageBuffer

RESPONSE_BYTES_MAX = 100 * 1024 * 1024
ACCEPTS_WITHIN_S = 1.0
_API_VERSIONS_VERSION = 3
_TLS_ALERT = b"\x15\x03"
"""How an answer begins by which TLS refuses who came without."""


class ApiNotServed(Exception):
    """The broker does not name the API, or no version that is known here."""


def accepts(host: str, port: int) -> bool:
    """Whether something takes a connection there, at once."""
    try:
        socket.create_connection((host, port), timeout=ACCEPTS_WITHIN_S).close()
    except OSError:
        return False
    return True


class BlockingClient:
    """A connection; every call raises OSError or ProtocolError where the broker does not answer."""

    def __init__(
        self,
        host: str,
        port: int,
        timeout_s: float,
        client_id: str = "ottla",
        guard: ClientGuard = PLAINTEXT_GUARD,
    ) -> None:
        """Connect, get in and ask which APIs are served; each wait takes at most `timeout_s`."""
        self._client_id = client_id
        self._correlation_id = 0
        self._ranges: dict[int, tuple[int, int]] = {}
        self._answered = False
        """Whether it answered a request that wants one to be let in."""
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        try:
            if guard.tls_context is not None:
                self._socket = guard.tls_context.wrap_socket(self._socket, server_hostname=host)
            if guard.logs_in:
                self._log_in(guard)
            self._agree_on_versions()
        except BaseException:
            self.close()
            raise

    def call(self, request: Any) -> Any:
        """The answer to `request`, in the highest version that both sides know.

        Raises ApiNotServed where there is none.
        """
        low, high = self._ranges.get(request.API_KEY, (0, -1))
        version = min(high, request.MAX_VERSION)
        if version < max(low, request.MIN_VERSION):
            raise ApiNotServed(f"the broker does not serve {ApiKey(request.API_KEY).name}")
        answer = self._exchange(request, version)
        self._answered = True
        return answer

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _log_in(self, guard: ClientGuard) -> None:
        login = guard.login(self._client_id)
        frame: bytes | None = login.begin()
        while frame is not None:
            self._socket.sendall(frame)
            try:
                answer = self._frame()
            except SpeaksTls:
                raise
            except ConnectionError as error:
                raise ClosedInLogin from error
            frame = login.received(answer)

    def _agree_on_versions(self) -> None:
        answer = self._exchange(ApiVersionsRequest("ottla", "1"), _API_VERSIONS_VERSION)
        if answer.error_code != ErrorCode.NONE:
            raise ProtocolError(f"ApiVersions: {ErrorCode(answer.error_code).name}")
        self._ranges = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}

    def _exchange(self, request: Any, version: int) -> Any:
        self._correlation_id += 1
        out = MessageBuffer()
        header = RequestHeader(request.API_KEY, version, self._correlation_id, self._client_id)
        header.write(out, 2 if version >= request.FLEXIBLE_FROM else 1)
        request.write(out, version)
        frame = out.joined()
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        return self._answer(messages_of(ApiKey(request.API_KEY)).response, version)

    def _answer(self, response: Any, version: int) -> Any:
        view = memoryview(self._frame())
        # ApiVersions keeps the old header in every version: the client does not know any yet.
        flexible = version >= response.FLEXIBLE_FROM and response.API_KEY != ApiKey.API_VERSIONS
        try:
            header, pos = ResponseHeader.read(view, 0, 1 if flexible else 0)
            if header.correlation_id != self._correlation_id:
                raise ProtocolError("an answer to another request")
            return response.read(view, pos, version)[0]
        except (IndexError, ValueError, struct.error) as error:
            raise ProtocolError("an answer that cannot be read: is this a Kafka broker?") from error

    def _frame(self) -> bytes:
        """The next frame, without its size."""
        head = self._read(4)
        (size,) = struct.unpack(">i", head)
        if not 0 <= size <= RESPONSE_BYTES_MAX:
            if head.startswith(_TLS_ALERT) and not self._answered:
                raise SpeaksTls
            raise ProtocolError(f"an answer of {size} bytes: is this a Kafka broker?")
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                if not self._answered:
                    raise ClosedBeforeAnswer
                raise ConnectionError("the broker closed the connection")
            data += piece
        return bytes(data)
