"""Connections to other nodes: `ground.ports.Network` over the event loop's sockets.

A `SocketChannel` is one connection to one address. The first request makes it; requests may be sent
before earlier ones are answered, and the peer answers in order. Whatever goes wrong with the
connection ends all that wait on it, and the next request makes a new one.

Where the listener wants it, the connection is over TLS, and a login comes before the first request.
A login that ends some time is made again before that, between two requests on the same connection
(KIP-368): what was sent before it is answered before it, what comes meanwhile is sent after it.
Where logins are good for about 1 s or less, requests wait until the next one may be made; Kafka's
own clients do not wait, and lose the connection. Why a handshake or a login failed is one line of
the log for each peer and reason, now and then.

Owns: the connection, the correlation ids, the deadlines. Never: tries again by itself, waits before
it connects, or looks into a response. Follows Kafka's `NetworkClient`, without its ApiVersions
request: between nodes the versions are those of Kafka 4.3.
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
from ground.ports import Answered, ChannelFailure, Looked
from protocol.errors import ProtocolError
from protocol.frames.framing import FrameReader
from protocol.frames.message_codec import answer_to, decode_answer, encode_request

_log = logging.getLogger(f"ottla.{__name__}")

_T = TypeVar("_T")

_SCRATCH_BYTES = 64 * 1024
_LAST_CORRELATION_ID = 2**31 - 1
_RENEWED_AT = (0.85, 0.95)
"""When a login is made again: between these parts of the time for which it is good, as Kafka's
clients do. Somewhere between, so that not all connections do it at once."""
_RENEWED_AGAIN_S = 1.05
"""A listener refuses whoever makes a login again less than 1 s after the last time, as in Kafka."""


class NetworkClient:
    """Makes channels, and closes them all at the end."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        response_max_bytes: int,
        guard: ClientGuard = PLAINTEXT_GUARD,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """A response above `response_max_bytes` closes its connection. `guard` knows how the
        listeners of the others are secured."""
        self._loop = loop
        self._response_max_bytes = response_max_bytes
        self._guard = guard
        self._clock_s = clock_s
        self._warnings = PeerWarnings(guard, clock_s)
        self._deadlines: Deadlines[_Waiting] = Deadlines(LoopScheduler(loop), _Waiting.time_out)
        self._channels: dict[SocketChannel, None] = {}
        self._looks: set[asyncio.Task[None]] = set()

    def channel(self, host: str, port: int, client_id: str) -> SocketChannel:
        """Return a channel of this client to the node at `host:port`."""
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
        """See `ControllerSettings.why_no_connection`."""
        return self._warnings.latest(host, port)

    def look(self, host: str, port: int, done: Looked, timeout_ms: float) -> None:
        """Call `done` with None if a process listens at `host:port`, else with the failure."""
        task = self._loop.create_task(self._look((host, port), done, timeout_ms))
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)

    async def _look(self, address: tuple[str, int], done: Looked, timeout_ms: float) -> None:
        failure = None
        try:
            async with asyncio.timeout(timeout_ms / 1000.0):
                await _first(self._loop, address, _let_go)
        except TimeoutError:
            failure = ChannelFailure.TIMED_OUT
        except (OSError, ValueError) as error:
            refused = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
            failure = ChannelFailure.REFUSED if refused else ChannelFailure.LOST
        done(failure)

    def close(self) -> None:
        """Close every channel; what waits is told LOST. Nobody is told of a look any more."""
        for channel in list(self._channels):
            channel.close()
        for look in self._looks:
            look.cancel()

    def _forget(self, channel: SocketChannel) -> None:
        self._channels.pop(channel, None)


class _Waiting:
    """A request that is not answered yet."""

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
        """Its time is up."""
        self.channel.timed_out(self)


class SocketChannel:
    """The connection to one node, opened again by the next request after it was lost."""

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
        """Connects or logs in. What waits then is sent after it, but for what a login follows."""
        self._login: _Login | None = None
        self._renew_at_s: float | None = None
        self._renewed_s: float | None = None
        self._connection: _Connection | None = None
        self._closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """Send a request; `done` gets its answer, or LOST on a closed channel."""
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
            # What was sent before is answered first.
            self._login = _Login(self._loop, len(self._waiting) - 1)
            self._preparing = self._loop.create_task(self._renew(self._connection, self._login))
        else:
            self._connection.write(frame)

    def close(self) -> None:
        """Hang up; requests without an answer fail as LOST."""
        self._closed = True
        self._on_close(self)
        self._fail(ChannelFailure.LOST)

    # --- the connection ------------------------------------------------------------------------

    async def _connect(self) -> None:
        try:
            connection = self._connection = await self._open()
            connection.check()
            if self._guard.logs_in:
                self._login = _Login(self._loop, 0)
                await self._log_in(connection, self._login)
        except (OSError, ValueError) as error:  # a host that no name can be (what a peer wrote)
            self._could_not(error)
        else:
            self._prepared(connection)

    async def _renew(self, connection: _Connection, login: _Login) -> None:
        try:
            if self._renewed_s is not None:
                passed_s = self._clock_s() - self._renewed_s
                await asyncio.sleep(max(0.0, _RENEWED_AGAIN_S - passed_s))
            await self._log_in(connection, login)
        except ClosedInLogin:  # it was let in before: the other node stops, or is gone
            self._preparing = None
            self._fail(ChannelFailure.LOST)
        except OSError as error:
            self._could_not(error)
        else:
            self._renewed_s = self._clock_s()
            self._prepared(connection)

    def _prepared(self, connection: _Connection) -> None:
        """Send what waits: all that was sent before has been answered."""
        self._warnings.connected(*self.address)
        self._preparing = self._login = None
        connection.write(b"".join(waiting.frame for waiting in self._waiting))

    def _could_not(self, error: OSError | ValueError) -> None:
        """There is no connection, or nobody was let in."""
        refused = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
        self._warnings.tell(*self.address, error)
        self._preparing = None
        self._fail(ChannelFailure.REFUSED if refused else ChannelFailure.LOST)

    async def _log_in(self, connection: _Connection, login: _Login) -> None:
        """Have the conversation. Raises OSError where the login is refused or cannot be."""
        steps = self._guard.login(self._client_id)
        # In a thread: proving a password takes milliseconds, and a token may have to be fetched.
        frame: bytes | None = await self._loop.run_in_executor(None, steps.begin)
        while frame is not None:
            answer = await login.exchange(connection, frame)
            frame = await self._loop.run_in_executor(None, steps.received, answer)
        login.check()
        self._renew_at_s = self._renewal(steps)

    def _renewal(self, login: ClientLogin) -> float | None:
        """When to log in again; None: never."""
        if not login.lifetime_ms:
            return None
        # Imported here: a node without security starts without it, and the hashes that it loads.
        from random import uniform

        part = uniform(*_RENEWED_AT)  # noqa: S311 - not a secret
        return self._clock_s() + login.lifetime_ms / 1000.0 * part

    async def _open(self) -> _Connection:
        """A connection to the first of the host's addresses that takes one.

        Raises OSError, ECONNREFUSED only where all of them refuse, and UnicodeError.
        """
        return await _first(self._loop, self.address, self._over)

    async def _over(self, sock: socket.socket) -> _Connection:
        """A connection over a socket that is connected, with TLS where there is to be any."""
        tls = self._guard.tls_context
        _, made = await self._loop.create_connection(
            lambda: _Connection(self, FrameReader(self._response_max_bytes, self._scratch)),
            sock=sock,
            ssl=tls,
            server_hostname=None if tls is None else self.address[0],
        )
        return made

    def timed_out(self, waiting: _Waiting) -> None:
        """There was no answer in time."""
        self._waiting.remove(waiting)
        self._fail(ChannelFailure.LOST, first=(waiting, ChannelFailure.TIMED_OUT))

    def _fail(
        self, failure: ChannelFailure, first: tuple[_Waiting, ChannelFailure] | None = None
    ) -> None:
        """End the connection, and all that wait on it."""
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None
        self._login = self._renew_at_s = self._renewed_s = None
        if self._connection is not None:
            self._connection.drop()
            self._connection = None
        ended, self._waiting = self._waiting, deque()
        if first is not None:
            self._settle(first[0], None, first[1])
        for waiting in ended:
            self._settle(waiting, None, failure)

    def _settle(self, waiting: _Waiting, response: Any, failure: ChannelFailure | None) -> None:
        """Tell the outcome."""
        if waiting.due is not None:
            self._deadlines.remove(waiting, waiting.due)
        waiting.done(response, failure)

    # --- called by the connection --------------------------------------------------------------

    def received(self, frame: memoryview) -> None:
        """A whole response has come. Raises ProtocolError where it is none."""
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
        self._settle(waiting, response, None)

    def lost(self, connection: _Connection, error: Exception | None) -> None:
        """The connection is gone."""
        if connection is not self._connection:
            return
        if self._login is not None:
            self._login.lost(error)
            return
        if not connection.heard:
            self._warnings.tell(*self.address, error or ClosedBeforeAnswer())
        elif error is not None and "ALERT" in str(getattr(error, "reason", "")):
            self._warnings.tell(*self.address, error)  # its side of the handshake failed
        self._connection = None
        self._fail(ChannelFailure.LOST)


async def _first(
    loop: asyncio.AbstractEventLoop,
    address: tuple[str, int],
    use: Callable[[socket.socket], Awaitable[_T]],
) -> _T:
    """What `use` makes of a connected socket, of the first of the host's addresses where it can;
    the socket is its own then. See `SocketChannel._open`."""
    host, port = address
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError | None = None
    for family, kind, protocol, _, place in found:
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, place)
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


async def _let_go(sock: socket.socket) -> None:
    sock.close()


class _Login:
    """A login that is under way on a connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ahead: int) -> None:
        """`ahead`: how many requests were sent before it."""
        self._loop = loop
        self._ahead = ahead
        self._answer: asyncio.Future[bytes] | None = None
        self._lost: OSError | None = None

    async def exchange(self, connection: _Connection, frame: bytes) -> bytes:
        """The answer to `frame`, which has its size. Raises OSError where none will come."""
        self.check()
        self._answer = self._loop.create_future()
        connection.write(frame)
        return await self._answer

    def check(self) -> None:
        """Raises OSError where the connection was lost."""
        if self._lost is not None:
            raise self._lost

    def takes(self, frame: memoryview) -> bool:
        """A response has come: whether it was one of the login's."""
        if self._ahead:
            self._ahead -= 1
            return False
        if self._answer is None or self._answer.done():
            raise ProtocolError("an answer that nobody asked for, in the midst of a login")
        self._answer.set_result(bytes(frame))
        return True

    def lost(self, error: Exception | None) -> None:
        """The connection is gone, why ever."""
        if isinstance(error, ProtocolError):
            error = ConnectionError(str(error))
        self._lost = error if isinstance(error, OSError) else ClosedInLogin()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._lost)


class _Connection(asyncio.BufferedProtocol):
    """The protocol of one connection's transport."""

    def __init__(self, channel: SocketChannel, reader: FrameReader) -> None:
        self._channel: SocketChannel | None = channel
        self._reader = reader
        self._transport: asyncio.Transport | None = None
        self._ended: OSError | None = None
        self.heard = False
        """Whether anything ever came."""

    def write(self, frame: bytes) -> None:
        """Send; the transport keeps what the kernel does not take yet."""
        assert self._transport is not None
        self._transport.write(frame)

    def check(self) -> None:
        """Raises OSError where it is gone already."""
        if self._ended is not None:
            raise self._ended

    def drop(self) -> None:
        """Close at once, and tell nobody."""
        self._channel = None
        self._reader.close()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is up."""
        # A cast: uvloop's transports are no subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport is to put the next bytes."""
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        reader = self._reader
        self.heard = True
        try:
            frame = reader.only_frame(nbytes)
            if frame is not None and self._channel is not None:
                # A response lives as long as whoever asked for it likes.
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
        """The peer will send no more: that ends the connection."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, whoever closed it."""
        channel, self._channel = self._channel, None
        self._ended = exc if isinstance(exc, OSError) else ClosedBeforeAnswer()
        self._reader.close()
        if channel is not None:
            channel.lost(self, exc)
