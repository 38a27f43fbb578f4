"""Connections to other nodes: `ground.ports.Network` over the event loop's sockets.

A `SocketChannel` is a connection to one address. The first request opens it; requests may be sent
before earlier ones are answered, and the peer answers in order. Any failure of the connection fails
all its unanswered requests, and the next request opens a new connection.

If the listener needs it, the connection uses TLS, and logs in before the first request. A login
that expires is renewed before its end, between two requests on the same connection (KIP-368).
Earlier requests are answered before it, and requests that arrive meanwhile are sent after it. If
logins are valid for about 1 s or less, requests wait until the next login is allowed; Kafka's own
clients do not wait, and lose the connection. A failed handshake or login is logged with its reason,
at a bounded rate (`peer_warnings`).

Owns: the connection, the correlation ids, the deadlines. Never: retries by itself, delays a
connect, or interprets a response. Follows Kafka's `NetworkClient`, without its ApiVersions request:
between nodes the versions are those of Kafka.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from broker.loop.scheduler import LoopScheduler
from broker.network.outgoing.peer_warnings import PeerWarnings
from broker.purgatory.deadlines import DeadlineQueue, Deadlines
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard, ClientLogin
from broker.security.connect_failures import ClosedBeforeAnswer, ClosedInLogin
from ground.ports import Answered, ChannelFailure, Probed
from protocol.errors import ProtocolError
from protocol.frames.framing import FrameReader
from protocol.frames.message_codec import answer_to, decode_answer, encode_request

_log = logging.getLogger(f"ottla.{__name__}")

_T = TypeVar("_T")

_SCRATCH_BYTES = 64 * 1024
_LAST_CORRELATION_ID = 2**31 - 1
_RENEWED_AT = (0.85, 0.95)
"""The range of fractions of a login's lifetime at which it is renewed, as in Kafka's clients. A
random fraction in the range keeps connections from renewing all at once."""
_RENEWED_AGAIN_S = 1.05
"""The least time between two renewals: a listener rejects one after less than 1 s, as in Kafka."""


class NetworkClient:
    """The maker and owner of this node's channels to other nodes."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        response_max_bytes: int,
        guard: ClientGuard = PLAINTEXT_GUARD,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to connect. A response above `response_max_bytes` closes its connection. `guard`
        does the TLS handshakes and logins that the listeners of other nodes need."""
        self._loop = loop
        self._response_max_bytes = response_max_bytes
        self._guard = guard
        self._clock_s = clock_s
        self._warnings = PeerWarnings(guard, clock_s)
        self._deadlines: Deadlines[_Waiting] = Deadlines(LoopScheduler(loop), _Waiting.time_out)
        self._channels: dict[SocketChannel, None] = {}
        self._probes: set[asyncio.Task[None]] = set()

    def channel(self, host: str, port: int, client_id: str) -> SocketChannel:
        """Create a channel to the node at `host:port`, and return it. The first request opens its
        connection."""
        channel = SocketChannel(
            self._loop,
            self._deadlines,
            (host, port),
            client_id,
            self._response_max_bytes,
            self._forget,
            self._guard,
            self._warnings,
            self._clock_s,
        )
        self._channels[channel] = None
        return channel

    def why_no_connection(self, host: str, port: int) -> str:
        """Return why the latest try to connect to `host:port` failed, or "" if it did not fail."""
        return self._warnings.latest(host, port)

    def probe_address(self, host: str, port: int, done: Probed, timeout_ms: float) -> None:
        """Begin to connect to `host:port`. Later call `done` with None if a process listens there,
        else with the failure: TIMED_OUT after `timeout_ms`, REFUSED or LOST."""
        probe = self._loop.create_task(self._probe((host, port), done, timeout_ms))
        self._probes.add(probe)
        probe.add_done_callback(self._probes.discard)

    async def _probe(self, address: tuple[str, int], done: Probed, timeout_ms: float) -> None:
        """Connect and disconnect, and call `done` with the failure, or None if the port answers."""
        failure = None
        try:
            async with asyncio.timeout(timeout_ms / 1000.0):
                await _first(self._loop, address, _close_socket)
        except TimeoutError:
            failure = ChannelFailure.TIMED_OUT
        except (OSError, ValueError) as error:
            is_refused = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
            failure = ChannelFailure.REFUSED if is_refused else ChannelFailure.LOST
        done(failure)

    def close(self) -> None:
        """Close every channel, failing its requests as LOST. Calls of `probe_address` in progress
        end without their callback."""
        for channel in list(self._channels):
            channel.close()
        for probe in self._probes:
            probe.cancel()

    def _forget(self, channel: SocketChannel) -> None:
        """Remove a closed channel from the list."""
        self._channels.pop(channel, None)


class _Waiting:
    """A request without an answer yet."""

    __slots__ = ("answer", "channel", "correlation_id", "done", "due", "frame", "version")

    def __init__(
        self,
        channel: SocketChannel,
        answer: Any,
        version: int,
        correlation_id: int,
        frame: bytes,
        done: Answered,
    ) -> None:
        self.channel = channel
        self.answer = answer
        self.version = version
        self.correlation_id = correlation_id
        self.frame = frame
        self.done = done
        self.due: DeadlineQueue[_Waiting] | None = None

    def time_out(self) -> None:
        """Fail the request as TIMED_OUT, and close its connection, because its deadline
        has passed."""
        self.channel.timed_out(self)


class SocketChannel:
    """A connection to one node, opened again by the next request after it was lost."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        deadlines: Deadlines[_Waiting],
        address: tuple[str, int],
        client_id: str,
        response_max_bytes: int,
        on_close: Callable[[SocketChannel], None],
        guard: ClientGuard,
        warnings: PeerWarnings,
        clock_s: Callable[[], float],
    ) -> None:
        """Create a channel without a connection. `close` calls `on_close`; a response above
        `response_max_bytes` closes the connection."""
        self.address = address
        self._guard = guard
        self._warnings = warnings
        self._clock_s = clock_s
        self._loop = loop
        self._deadlines = deadlines
        self._client_id = client_id
        self._response_max_bytes = response_max_bytes
        self._on_close = on_close
        self._scratch = bytearray(_SCRATCH_BYTES)
        self._waiting: deque[_Waiting] = deque()
        self._correlation_id = 0
        self._preparing: asyncio.Task[None] | None = None
        """The task that connects or logs in. Waiting requests are sent after it, except those that
        were sent before a renewed login."""
        self._login: _Login | None = None
        self._renew_at_s: float | None = None
        self._renewed_s: float | None = None
        self._connection: _Connection | None = None
        self._closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """Send a request, and open a connection for it if there is none. `done` gets its answer or
        the failure: TIMED_OUT after `timeout_ms`, LOST on a closed channel.

        `version` is the request's highest by default. A request that arrives during a login waits
        for its end.
        """
        if self._closed:
            self._loop.call_soon(done, None, ChannelFailure.LOST)
            return
        version = request.MAX_VERSION if version is None else version
        self._correlation_id = self._correlation_id % _LAST_CORRELATION_ID + 1
        frame = encode_request(request, version, self._correlation_id, self._client_id)
        waiting = _Waiting(self, answer_to(request), version, self._correlation_id, frame, done)
        waiting.due = self._deadlines.add(waiting, timeout_ms)
        self._waiting.append(waiting)
        if self._preparing is not None:
            return
        if self._connection is None:
            self._preparing = self._loop.create_task(self._connect())
        elif self._renew_at_s is not None and self._clock_s() >= self._renew_at_s:
            # The requests that were sent before the login are answered first.
            self._login = _Login(self._loop, len(self._waiting) - 1)
            self._preparing = self._loop.create_task(
                self._log_in_again(self._connection, self._login)
            )
        else:
            self._connection.write(frame)

    def close(self) -> None:
        """Close the connection; requests without an answer fail as LOST."""
        self._closed = True
        self._on_close(self)
        self._fail(ChannelFailure.LOST)

    # --- the connection ------------------------------------------------------------------------

    async def _connect(self) -> None:
        """Connect, log in, and send the waiting requests. Errors fail these requests and are not
        raised."""
        try:
            connection = self._connection = await self._open()
            connection.check()
            if self._guard.logs_in:
                self._login = _Login(self._loop, 0)
                await self._log_in(connection, self._login)
        except (OSError, ValueError) as error:  # ValueError: a peer's host is no valid name
            self._connect_failed(error)
        else:
            self._prepared(connection)

    async def _log_in_again(self, connection: _Connection, login: _Login) -> None:
        """Log in again over the open connection, then send the waiting requests. Errors fail these
        requests and are not raised.

        Between two such logins pass at least _RENEWED_AGAIN_S.
        """
        try:
            if self._renewed_s is not None:
                passed_s = self._clock_s() - self._renewed_s
                await asyncio.sleep(max(0.0, _RENEWED_AGAIN_S - passed_s))
            await self._log_in(connection, login)
        except ClosedInLogin:  # an earlier login succeeded, so the other node is stopping or dead
            self._preparing = None
            self._fail(ChannelFailure.LOST)
        except OSError as error:
            self._connect_failed(error)
        else:
            self._renewed_s = self._clock_s()
            self._prepared(connection)

    def _prepared(self, connection: _Connection) -> None:
        """Send all waiting requests; those sent earlier have been answered."""
        self._warnings.connected(*self.address)
        self._preparing = self._login = None
        connection.write(b"".join(waiting.frame for waiting in self._waiting))

    def _connect_failed(self, error: OSError | ValueError) -> None:
        """Log why the connection or the login failed, and fail all waiting requests as REFUSED or
        LOST."""
        is_refused = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
        self._warnings.warn(*self.address, error)
        self._preparing = None
        self._fail(ChannelFailure.REFUSED if is_refused else ChannelFailure.LOST)

    async def _log_in(self, connection: _Connection, login: _Login) -> None:
        """Log in, and set the time of the next login. Raises OSError if the login is rejected or
        the connection is lost."""
        steps = self._guard.login(self._client_id)
        # In a thread: proving a password takes milliseconds, and a token may have to be fetched.
        frame: bytes | None = await self._loop.run_in_executor(None, steps.begin)
        while frame is not None:
            answer = await login.exchange(connection, frame)
            frame = await self._loop.run_in_executor(None, steps.received, answer)
        login.check()
        self._renew_at_s = self._renewal(steps)

    def _renewal(self, login: ClientLogin) -> float | None:
        """Return the time in seconds at which to log in again, None if the login never expires."""
        if not login.lifetime_ms:
            return None
        # Imported here: it loads hashes, which a node without security need not load to start.
        from random import uniform

        part = uniform(*_RENEWED_AT)  # noqa: S311 - not a secret
        return self._clock_s() + login.lifetime_ms / 1000.0 * part

    async def _open(self) -> _Connection:
        """Connect to the first of the host's addresses that accepts.

        Raises OSError, with ECONNREFUSED only if all of them refuse, and UnicodeError.
        """
        return await _first(self._loop, self.address, self._over)

    async def _over(self, sock: socket.socket) -> _Connection:
        """Return a connection over a connected socket, with TLS if the guard has a context."""
        tls = self._guard.tls_context
        _, connection = await self._loop.create_connection(
            lambda: _Connection(self, FrameReader(self._response_max_bytes, self._scratch)),
            sock=sock,
            ssl=tls,
            server_hostname=None if tls is None else self.address[0],
        )
        return connection

    def timed_out(self, waiting: _Waiting) -> None:
        """Fail a request as TIMED_OUT, and with it the connection and all others as LOST."""
        self._waiting.remove(waiting)
        self._fail(ChannelFailure.LOST, first=(waiting, ChannelFailure.TIMED_OUT))

    def _fail(
        self, failure: ChannelFailure, first: tuple[_Waiting, ChannelFailure] | None = None
    ) -> None:
        """Close the connection, and fail its unanswered requests: `first` with its own failure, the
        others with `failure`."""
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None
        self._login = self._renew_at_s = self._renewed_s = None
        if self._connection is not None:
            self._connection.drop()
            self._connection = None
        ended, self._waiting = self._waiting, deque()
        if first is not None:
            self._complete(first[0], None, first[1])
        for waiting in ended:
            self._complete(waiting, None, failure)

    def _complete(self, waiting: _Waiting, response: Any, failure: ChannelFailure | None) -> None:
        """End the request's deadline, and call its callback."""
        if waiting.due is not None:
            self._deadlines.remove(waiting, waiting.due)
        waiting.done(response, failure)

    # --- called by the connection --------------------------------------------------------------

    def received(self, frame: memoryview) -> None:
        """Call back the oldest request with its response, or pass the frame to the login in
        progress. Raises ProtocolError if it is not the answer that is due."""
        login = self._login
        if login is not None and login.takes(frame):
            return
        if not self._waiting:
            raise ProtocolError("an answer that nobody asked for")
        waiting = self._waiting[0]
        correlation_id, response = decode_answer(waiting.answer, frame, waiting.version)
        if correlation_id != waiting.correlation_id:
            raise ProtocolError(f"an answer to {correlation_id}, not {waiting.correlation_id}")
        self._waiting.popleft()
        self._complete(waiting, response, None)

    def lost(self, connection: _Connection, error: Exception | None) -> None:
        """Fail all requests as LOST, because the connection was lost. Log the reason if the peer
        never sent a byte, or rejected TLS.

        A login in progress gets the error instead. A connection that the channel has replaced is
        ignored.
        """
        if connection is not self._connection:
            return
        if self._login is not None:
            self._login.lost(error)
            return
        if not connection.has_received:
            self._warnings.warn(*self.address, error or ClosedBeforeAnswer())
        elif error is not None and "ALERT" in str(getattr(error, "reason", "")):
            self._warnings.warn(*self.address, error)  # the peer's side of the handshake failed
        self._connection = None
        self._fail(ChannelFailure.LOST)


async def _first(
    loop: asyncio.AbstractEventLoop,
    address: tuple[str, int],
    use: Callable[[socket.socket], Awaitable[_T]],
) -> _T:
    """Return the result of `use` on a socket connected to the first of the host's addresses where
    both succeed; `use` then owns the socket.

    Raises OSError, with ECONNREFUSED only if all addresses refuse, and UnicodeError for an invalid
    host.
    """
    host, port = address
    candidates = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError | None = None
    for family, kind, protocol, _, socket_address in candidates:
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, socket_address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return await use(sock)
        except asyncio.CancelledError:
            sock.close()
            raise
        except OSError as error:
            sock.close()
            if failure is None or error.errno != errno.ECONNREFUSED:
                failure = error
    raise failure or OSError(errno.EHOSTUNREACH, f"{host} has no address")


async def _close_socket(sock: socket.socket) -> None:
    sock.close()


class _Login:
    """A login in progress on a connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ahead: int) -> None:
        """Begin a login after `ahead` requests that were sent before it."""
        self._loop = loop
        self._ahead = ahead
        self._answer: asyncio.Future[bytes] | None = None
        self._lost: OSError | None = None

    async def exchange(self, connection: _Connection, frame: bytes) -> bytes:
        """Send `frame`, which begins with its size, and return the answer. Raises OSError if the
        connection is lost."""
        self.check()
        self._answer = self._loop.create_future()
        connection.write(frame)
        return await self._answer

    def check(self) -> None:
        """Raise OSError if the connection was lost."""
        if self._lost is not None:
            raise self._lost

    def takes(self, frame: memoryview) -> bool:
        """Take a response if it belongs to the login; return whether it does. Raises ProtocolError
        if no answer is due."""
        if self._ahead:
            self._ahead -= 1
            return False
        if self._answer is None or self._answer.done():
            raise ProtocolError("an answer that nobody asked for, in the midst of a login")
        self._answer.set_result(bytes(frame))
        return True

    def lost(self, error: Exception | None) -> None:
        """Fail the login, because the connection was lost."""
        if isinstance(error, ProtocolError):
            error = ConnectionError(str(error))
        self._lost = error if isinstance(error, OSError) else ClosedInLogin()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._lost)


class _Connection(asyncio.BufferedProtocol):
    """The asyncio protocol of one connection."""

    def __init__(self, channel: SocketChannel, reader: FrameReader) -> None:
        self._channel: SocketChannel | None = channel
        self._reader = reader
        self._transport: asyncio.Transport | None = None
        self._ended: OSError | None = None
        self.has_received = False
        """Whether the peer has ever sent a byte."""

    def write(self, frame: bytes) -> None:
        """Send a frame; the transport buffers what the kernel does not take yet."""
        assert self._transport is not None
        self._transport.write(frame)

    def check(self) -> None:
        """Raise OSError if the connection was lost already."""
        if self._ended is not None:
            raise self._ended

    def drop(self) -> None:
        """Close at once, without notifying the channel."""
        self._channel = None
        self._reader.close()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport of the new connection."""
        # A cast: uvloop's transports are no subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the transport's next bytes."""
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Pass each frame that `nbytes` new bytes complete to the channel. An invalid frame is
        logged as a warning, and closes the connection."""
        reader = self._reader
        self.has_received = True
        try:
            frame = reader.only_frame(nbytes)
            if frame is not None and self._channel is not None:
                # A response lives as long as its requester keeps it.
                self._channel.received(reader.keep(frame))
                return
            reader.buffer_updated(nbytes)
            while self._channel is not None and (frame := reader.next_frame()) is not None:
                self._channel.received(reader.keep(frame))
        except ProtocolError as error:
            channel = self._channel
            if channel is not None:
                _log.warning("closing the connection to %s:%d: %s", *channel.address, error)
                channel.lost(self, error)
                self.drop()

    def eof_received(self) -> bool:
        """Return False, so that asyncio closes the connection: the peer will send no more."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the channel that the connection was lost, whichever side closed it."""
        channel, self._channel = self._channel, None
        self._ended = exc if isinstance(exc, OSError) else ClosedBeforeAnswer()
        self._reader.close()
        if channel is not None:
            channel.lost(self, exc)
