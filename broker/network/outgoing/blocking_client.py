"""A blocking connection to a broker, for commands: it sends requests and waits for the answers.

A command such as `ottla status` has nothing else to do meanwhile, and starting an event loop would
take longer than the request. Owns a socket. Never used by a node: nodes use
`broker.network.outgoing.network_client`.

Versions are agreed on by ApiVersions, as clients do (KIP-35, KIP-511). If the listener needs it,
the connection uses TLS and begins with a login; `broker.security.client_guard` does both, and
explains failures. Several requests may be in flight (`send`): a broker answers them in order.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar

from broker.network.readiness import readable
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from broker.security.connect_failures import ClosedBeforeAnswer, ClosedInLogin, SpeaksTls
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import Request, answer_to, decode_answer, encode_request
from protocol.message import Message
from protocol.messages.api_versions import ApiVersionsRequest

RESPONSE_BYTES_MAX = 100 * 1024 * 1024
ACCEPTS_WITHIN_S = 1.0
_API_VERSIONS_VERSION = 3
_TLS_ALERT = b"\x15\x03"
"""The first bytes of the alert by which a TLS listener rejects an unencrypted connection."""


M = TypeVar("M", bound=Message)


class ApiNotServed(Exception):
    """An API that the broker does not serve, or not in a version that this client knows."""


def accepts(host: str, port: int) -> bool:
    """Return whether a process accepts a connection to `host:port` within `ACCEPTS_WITHIN_S`."""
    try:
        socket.create_connection((host, port), timeout=ACCEPTS_WITHIN_S).close()
    except OSError:
        return False
    return True


def wait_for_answers(clients: Sequence[BlockingClient], timeout_s: float) -> list[BlockingClient]:
    """Wait for the first answers; return the clients that can read one, none after `timeout_s`."""
    with_bytes = [client for client in clients if client.has_unread_bytes]
    return with_bytes or readable(clients, timeout_s)


CLIENT_ID = "ottla"


class BlockingClient:
    """A connection to one broker. Every call raises OSError or ProtocolError if no valid answer
    comes."""

    def __init__(
        self,
        host: str,
        port: int,
        timeout_s: float,
        client_id: str = CLIENT_ID,
        guard: ClientGuard = PLAINTEXT_GUARD,
    ) -> None:
        """Connect, log in and ask which APIs are served; each wait takes at most `timeout_s`.
        Raises OSError or ProtocolError if that fails."""
        self._client_id = client_id
        self._correlation_id = 0
        self._sent: deque[tuple[Any, int, int]] = deque()
        """The requests in flight: the class of the answer, the version and the correlation id."""
        self._ranges: dict[int, tuple[int, int]] = {}
        self._answered = False
        """Whether the broker has answered a request that needs a completed login."""
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if guard.tls_context is not None:
                self._socket = guard.tls_context.wrap_socket(self._socket, server_hostname=host)
            if guard.logs_in:
                self._log_in(guard)
            self._agree_on_versions()
        except BaseException:
            self.close()
            raise

    def call(self, request: Request, version_max: int | None = None) -> Any:
        """Send `request` in the highest version that both sides know, and return its answer.

        Raises ApiNotServed if there is no such version, OSError or ProtocolError if no valid answer
        comes.
        """
        self.send(request, version_max)
        return self._next_answer()

    def send(self, request: Request, version_max: int | None = None) -> None:
        """Send a request in a version up to `version_max`, without waiting for its answer.

        Raises ApiNotServed if there is no such version.
        """
        low, high = self._ranges.get(request.API_KEY, (0, -1))
        version = min(high, request.MAX_VERSION)
        if version_max is not None:
            version = min(version, version_max)
        if version < max(low, request.MIN_VERSION):
            raise ApiNotServed(f"the broker does not serve {ApiKey(request.API_KEY).name}")
        self._send(request, version)

    def receive(self, kind: type[M]) -> M:
        """Wait for the answer to the oldest request in flight, and return it. Raises OSError or
        ProtocolError if no valid answer comes."""
        answer = self._next_answer()
        assert isinstance(answer, kind)
        return answer

    def skip_answers(self) -> None:
        """Read and drop the answers to all requests in flight."""
        while self._sent:
            self._next_answer()

    def serves(self, api_key: int) -> bool:
        """Return whether the broker serves the API."""
        return api_key in self._ranges

    @property
    def waiting(self) -> int:
        """The number of requests that were sent and not answered yet."""
        return len(self._sent)

    @property
    def has_unread_bytes(self) -> bool:
        """Whether TLS holds decrypted bytes that were not read; `poll` does not report these."""
        pending = getattr(self._socket, "pending", None)
        return pending is not None and pending() > 0

    def fileno(self) -> int:
        """Return the socket's descriptor, for `poll`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _log_in(self, guard: ClientGuard) -> None:
        """Do the SASL login, and block until it ends.

        Raises ClosedInLogin if the broker closes the connection, SpeaksTls if it answers in TLS.
        """
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
            frame = login.received(bytes(answer))

    def _agree_on_versions(self) -> None:
        """Ask for the broker's ranges of versions, and keep them. Raises ProtocolError if it
        answers with an error."""
        answer = self._exchange(ApiVersionsRequest("ottla", "1"), _API_VERSIONS_VERSION)
        if answer.error_code != ErrorCode.NONE:
            raise ProtocolError(f"ApiVersions: {ErrorCode(answer.error_code).name}")
        self._ranges = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def _exchange(self, request: Request, version: int) -> Any:
        """Send the request, and block until the next response, which must be its own."""
        self._send(request, version)
        return self._answer()

    def _send(self, request: Request, version: int) -> None:
        """Send the request, and append it to the requests in flight, whose answers come
        in order."""
        self._correlation_id += 1
        frame = encode_request(request, version, self._correlation_id, self._client_id)
        self._sent.append((answer_to(request), version, self._correlation_id))
        self._socket.sendall(frame)

    def _next_answer(self) -> Any:
        """Return the next response, and note that the broker has answered."""
        answer = self._answer()
        self._answered = True
        return answer

    def _answer(self) -> Any:
        """Return the answer to the oldest request in flight; block until it is read.

        Raises ProtocolError if it cannot be decoded or answers another request.
        """
        response, version, sent_id = self._sent.popleft()
        frame = memoryview(self._frame())
        try:
            correlation_id, answer = decode_answer(response, frame, version)
        except ProtocolError as error:
            raise ProtocolError("an answer that cannot be read: is this a Kafka broker?") from error
        if correlation_id != sent_id:
            raise ProtocolError("an answer to another request")
        return answer

    def _frame(self) -> bytearray:
        """Read the next frame; return it without its size prefix.

        Raises SpeaksTls if the peer answers in TLS, ProtocolError if the size is not of a frame.
        """
        prefix = self._read(4)
        (size,) = struct.unpack(">i", prefix)
        if not 0 <= size <= RESPONSE_BYTES_MAX:
            if prefix.startswith(_TLS_ALERT) and not self._answered:
                raise SpeaksTls
            raise ProtocolError(f"an answer of {size} bytes: is this a Kafka broker?")
        return self._read(size)

    def _read(self, size: int) -> bytearray:
        """Block until `size` bytes are read.

        Raises ClosedBeforeAnswer if the broker closes the connection before any response,
        ConnectionError later.
        """
        data = bytearray(size)
        view, read = memoryview(data), 0
        while read < size:
            count = self._socket.recv_into(view[read:])
            if not count:
                if not self._answered:
                    raise ClosedBeforeAnswer
                raise ConnectionError("the broker closed the connection")
            read += count
        return data
