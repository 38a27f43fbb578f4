"""Connections to other nodes: `storage.ports.Network` over the event loop's sockets.

A `SocketChannel` is one connection to one address. The first request makes it; requests may be sent
before earlier ones are answered, and the peer answers in order. Whatever goes wrong with the
connection ends all that wait on it, and the next request makes a new one.

Owns: the connection, the correlation ids, the deadlines. Never: tries again by itself, waits before
it connects, or looks into a response. Follows Kafka's `NetworkClient`, without its ApiVersions
request: between nodes the versions are those of Kafka 4.3.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from broker.purgatory.deadlines import DeadlineQueue, Deadlines
from broker.scheduler import LoopScheduler
from protocol.errors import ProtocolError
from protocol.frames.framing import FrameReader
from protocol.frames.message_codec import answer_to, decode_answer, encode_request
from storage.ports import Answered, ChannelFailure

_log = logging.getLogger(f"ottla.{__name__}")

_SCRATCH_BYTES = 64 * 1024
_LAST_CORRELATION_ID = 2**31 - 1


class NetworkClient:
    """Makes channels, and closes them all at the end."""

    def __init__(self, loop: asyncio.AbstractEventLoop, response_max_bytes: int) -> None:
        """A response above `response_max_bytes` closes its connection."""
        self._loop = loop
        self._response_max_bytes = response_max_bytes
        self._deadlines: Deadlines[_Waiting] = Deadlines(LoopScheduler(loop), _Waiting.time_out)
        self._channels: dict[SocketChannel, None] = {}

    def channel(self, host: str, port: int, client_id: str) -> SocketChannel:
        """See `storage.ports.Network`."""
        channel = SocketChannel(
            self._loop,
            self._deadlines,
            (host, port),
            client_id,
            self._response_max_bytes,
            self._forget,
        )
        self._channels[channel] = None
        return channel

    def close(self) -> None:
        """Close every channel; what waits is told LOST."""
        for channel in list(self._channels):
            channel.close()

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
    """See the module, and `storage.ports.Channel`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        deadlines: Deadlines[_Waiting],
        address: tuple[str, int],
        client_id: str,
        response_max_bytes: int,
        on_close: Callable[[SocketChannel], None],
    ) -> None:
        self.address = address
        self._loop = loop
        self._deadlines = deadlines
        self._client_id = client_id
        self._response_max_bytes = response_max_bytes
        self._on_close = on_close
        self._scratch = bytearray(_SCRATCH_BYTES)
        self._waiting: deque[_Waiting] = deque()
        self._correlation_id = 0
        self._connecting: asyncio.Task[None] | None = None
        self._connection: _Connection | None = None
        self._closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """See `storage.ports.Channel`. On a closed channel the answer is LOST."""
        if self._closed:
            self._loop.call_soon(done, None, ChannelFailure.LOST)
            return
        version = request.MAX_VERSION if version is None else version
        self._correlation_id = self._correlation_id % _LAST_CORRELATION_ID + 1
        frame = encode_request(request, version, self._correlation_id, self._client_id)
        waiting = _Waiting(self, answer_to(request), version, self._correlation_id, frame, done)
        waiting.due = self._deadlines.add(waiting, timeout_ms)
        self._waiting.append(waiting)
        if self._connection is not None:
            self._connection.write(frame)
        elif self._connecting is None:
            self._connecting = self._loop.create_task(self._connect())

    def close(self) -> None:
        """See `storage.ports.Channel`."""
        self._closed = True
        self._on_close(self)
        self._fail(ChannelFailure.LOST)

    # --- the connection ------------------------------------------------------------------------

    async def _connect(self) -> None:
        try:
            connection = await self._open()
        except (OSError, UnicodeError) as error:  # a host that no name can be (what a peer wrote)
            refused = isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
            _log.debug("no connection to %s:%d: %s", *self.address, error)
            self._connecting = None
            self._fail(ChannelFailure.REFUSED if refused else ChannelFailure.LOST)
            return
        self._connecting = None
        self._connection = connection
        connection.write(b"".join(waiting.frame for waiting in self._waiting))

    async def _open(self) -> _Connection:
        """A connection to the first of the host's addresses that takes one.

        Raises OSError, ECONNREFUSED only where all of them refuse, and UnicodeError.
        """
        host, port = self.address
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        failure: OSError | None = None
        for family, kind, protocol, _, address in found:
            sock = socket.socket(family, kind, protocol)
            sock.setblocking(False)
            try:
                await self._loop.sock_connect(sock, address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reader = FrameReader(self._response_max_bytes, self._scratch)
                _, made = await self._loop.create_connection(
                    lambda: _Connection(self, reader),  # noqa: B023  called before the loop goes on
                    sock=sock,
                )
                return made
            except asyncio.CancelledError:
                sock.close()
                raise
            except OSError as error:
                sock.close()
                if failure is None or error.errno != errno.ECONNREFUSED:
                    failure = error
        raise failure or OSError(errno.EHOSTUNREACH, f"{host} has no address")

    def timed_out(self, waiting: _Waiting) -> None:
        """There was no answer in time."""
        self._waiting.remove(waiting)
        self._fail(ChannelFailure.LOST, first=(waiting, ChannelFailure.TIMED_OUT))

    def _fail(
        self, failure: ChannelFailure, first: tuple[_Waiting, ChannelFailure] | None = None
    ) -> None:
        """End the connection, and all that wait on it."""
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
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
        if not self._waiting:
            raise ProtocolError("an answer that nobody asked for")
        waiting = self._waiting[0]
        correlation_id, response = decode_answer(waiting.answer, frame, waiting.version)
        if correlation_id != waiting.correlation_id:
            raise ProtocolError(f"an answer to {correlation_id}, not {waiting.correlation_id}")
        self._waiting.popleft()
        self._settle(waiting, response, None)

    def lost(self, connection: _Connection) -> None:
        """The connection is gone."""
        if connection is self._connection:
            self._connection = None
            self._fail(ChannelFailure.LOST)


class _Connection(asyncio.BufferedProtocol):
    """The protocol of one connection's transport."""

    def __init__(self, channel: SocketChannel, reader: FrameReader) -> None:
        self._channel: SocketChannel | None = channel
        self._reader = reader
        self._transport: asyncio.Transport | None = None

    def write(self, frame: bytes) -> None:
        """Send; the transport keeps what the kernel does not take yet."""
        assert self._transport is not None
        self._transport.write(frame)

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
                channel.lost(self)
                self.drop()

    def eof_received(self) -> bool:
        """The peer will send no more: that ends the connection."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, whoever closed it."""
        channel, self._channel = self._channel, None
        self._reader.close()
        if channel is not None:
            channel.lost(self)
