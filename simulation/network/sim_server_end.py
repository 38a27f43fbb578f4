"""A broker's end of one connection: it handles requests one at a time, as the real one does.

The other end, a client or another node, gets events through `RemoteEnd`. Two measures catch cores
that break the rules of `RequestHandler`: a frame's bytes are overwritten after `handle` has
returned, and slices of files are read only when it is their turn to be sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from broker.network.server.request_channel import ConnectionContext, ResponseParts
from broker.requests.interference import ReplyPath
from protocol.errors import ProtocolError
from simulation.network.sim_links import OneWayWire

Item = TypeVar("Item")
SentItem = TypeVar("SentItem", contravariant=True)


class SimServer(Protocol):
    """A broker's process, as the network uses it."""

    address: str
    life: int
    dark: bool
    """Whether the machine has no power, so that not even a refusal comes back."""

    def listens(self, port: int) -> bool:
        """Return whether connections to this port are accepted."""

    def listener_name(self, port: int) -> str:
        """Return the name of a port's listener."""

    def arrive(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the process: at once, or when it is resumed."""

    def run_later(self, delay_ms: float, callback: Callable[[], None]) -> None:
        """Call `callback` in the process after a delay."""

    def handle(
        self, port: int, context: ConnectionContext, frame: memoryview, reply: ReplyPath
    ) -> None:
        """Pass a request to the node. Raises ProtocolError."""

    def connection_closed(self, port: int, connection_id: str) -> None:
        """Pass the end of a connection to the node."""


class RemoteEnd(Protocol[SentItem]):
    """The other end of the connection. `item` is the value that it sent with a frame."""

    def arrived(self, item: SentItem) -> None:
        """React to a request's arrival at the broker's socket."""

    def handling(self, item: SentItem) -> None:
        """React to a request that the broker begins to handle."""

    def answered(
        self, item: SentItem, refused: str | None, size: int = 0, mute_ms: int = 0
    ) -> None:
        """React to the broker's response of `size` bytes, after which it reads nothing for
        `mute_ms`; or to its closing the connection for the reason `refused`."""

    def deliver(self, item: SentItem, frame: bytes) -> None:
        """Receive the response."""

    def hears_close(self) -> None:
        """React to the broker's end having closed or reset the connection."""

    def hears_refusal(self) -> None:
        """React to a refusal: no process listens there."""


class Slice(Protocol):
    """A part of a file in a response."""

    def __len__(self) -> int:
        """Return the number of bytes that the response announces for this part."""
        ...

    def read(self) -> bytes:
        """Return the bytes that the file has now: fewer than its length if the file was
        truncated."""


class End(Protocol):
    """An end at a broker, whatever its peer sends."""

    server: SimServer

    def process_died(self, silently: bool) -> None:
        """Close the end because its process has ended."""


class Ends:
    """All ends at brokers, by the broker's address: they close when the process ends."""

    def __init__(self) -> None:
        self._of: dict[str, dict[End, None]] = {}
        self.opened = 0

    def add(self, end: End) -> None:
        self._of.setdefault(end.server.address, {})[end] = None

    def remove(self, end: End) -> None:
        self._of.get(end.server.address, {}).pop(end, None)

    def process_gone(self, address: str, *, silently: bool = False) -> None:
        """Close all ends of an ended process; their peers get notice unless `silently`."""
        for end in self._of.pop(address, {}):
            end.process_died(silently)


class ItemReply(Generic[Item]):
    """The reply for one request: only the first call counts, as with the real `Responder`."""

    __slots__ = ("_end", "_item")

    def __init__(self, end: ServerEnd[Item], item: Item) -> None:
        self._end: ServerEnd[Item] | None = end
        self._item = item

    def __call__(self, parts: ResponseParts | None) -> None:
        """Send the response to the peer; None, for acks=0, sends nothing. Later calls of any method
        do nothing."""
        end, self._end = self._end, None
        if end is not None:
            end.answer(self._item, parts)

    def keep(self, frame: memoryview) -> memoryview:
        """Return a copy of the frame, whose buffer is overwritten when its handler returns."""
        return memoryview(bytes(frame))

    def fail(self, error: BaseException) -> None:
        """Close the connection because the request's bytes are wrong."""
        self.close(str(error))

    def last(self, data: bytes) -> None:
        """Close the connection: a part of a response is no response to this peer."""
        self.close("the broker sent a part of an answer, and closed it")

    def close(self, why: str = "the broker closed it") -> None:
        """Close the connection instead of answering, unless the request is answered already."""
        end, self._end = self._end, None
        if end is not None:
            end.refuse(self._item, why)


class ServerEnd(Generic[Item]):
    """The end of one connection, which belongs to the process that lived when its first bytes
    arrived."""

    def __init__(
        self,
        ends: Ends,
        server: SimServer,
        port: int,
        peer: RemoteEnd[Item],
        name: str,
        back: OneWayWire,
        delay_ms: Callable[[], float],
        principal: str,
    ) -> None:
        """Create the end of a connection from `name`. The wire `back` carries events to `peer`,
        each after a delay of `delay_ms`. The first request binds the end to a process."""
        ends.opened += 1
        self.server = server
        self.gone = False
        self._ends = ends
        self._port = port
        self._peer = peer
        self._back = back
        self._delay_ms = delay_ms
        self._context = ConnectionContext(
            f"{server.address}-{name}-{ends.opened}",
            server.listener_name(port),
            "PLAINTEXT",
            "10.0.0.1",
            ends.opened,
            principal,
        )
        self._life: int | None = None
        self._queue: deque[tuple[Item, bytes]] = deque()
        self._busy: Item | None = None
        self._muted = False
        """Whether the client is throttled (KIP-219): its requests stay in the queue."""

    # --- from the wire -------------------------------------------------------------------------

    def arrive(self, item: Item, frame: bytes) -> None:
        """Pass a request that has reached the machine to the process.

        If no process listens, refuse the connection; if the process that began it has ended, reset
        it. Without power, drop the request.
        """
        if self.gone or self.server.dark:
            return
        if self._life is None:
            if not self.server.listens(self._port):
                self.gone = True
                self._back.carry(self._peer.hears_refusal, self._delay_ms())
                return
            self._life = self.server.life
            self._ends.add(self)
        elif self._life != self.server.life:
            self._reset()
            return
        self.server.arrive(lambda: self._take(item, frame))

    def hear_close(self) -> None:
        """Close this end, in the process, because the peer has closed its own. Does nothing if the
        process of this connection has ended."""
        if self._life == self.server.life:
            self.server.arrive(self._take_close)

    def process_died(self, silently: bool) -> None:
        """Close the end because its process has ended. With `silently`, only drop its requests: the
        peer gets no notice."""
        if silently:
            self._busy = None
            self._queue.clear()
        else:
            self._reset()

    def _reset(self) -> None:
        """Close this end, once; the peer's `hears_close` is called later."""
        if not self.gone:
            self.gone = True
            self._ends.remove(self)
            self._back.carry(self._peer.hears_close, self._delay_ms())

    def _take_close(self) -> None:
        """Close this end and drop queued requests because the peer has closed its own, and pass the
        close to the server."""
        self.gone = True
        self._queue.clear()
        self._ends.remove(self)
        self.server.connection_closed(self._port, self._context.connection_id)

    # --- in the process ------------------------------------------------------------------------

    def _take(self, item: Item, frame: bytes) -> None:
        """Queue a request, and handle it if it is next."""
        self._peer.arrived(item)
        self._queue.append((item, frame))
        self._handle_next()

    def _handle_next(self) -> None:
        """Handle queued requests in order, until one is unanswered, or the end is throttled or
        closed."""
        while self._queue and self._busy is None and not (self.gone or self._muted):
            item, frame = self._queue.popleft()
            self._handle(item, frame)

    def _handle(self, item: Item, frame: bytes) -> None:
        """Let the server handle a request; a ProtocolError closes the connection.

        The frame is then overwritten, so that a server that still reads it fails.
        """
        self._busy = item
        self._peer.handling(item)
        buffer = bytearray(frame)
        reply = ItemReply[Item](self, item)
        try:
            self.server.handle(self._port, self._context, memoryview(buffer), reply)
        except ProtocolError as error:
            reply.close(str(error))
        buffer[:] = b"\xdd" * len(buffer)

    def answer(self, item: Item, parts: ResponseParts | None) -> None:
        """Send the node's response after a short delay, then handle the next request; None is the
        response to acks=0. If the response has a throttle time, handle nothing until it is over."""
        pieces = [] if parts is None else parts if isinstance(parts, list | tuple) else [parts]
        mute_ms = self._context.take_mute_ms()
        self._peer.answered(item, None, sum(map(len, pieces)), mute_ms)
        if self.gone:
            return
        if mute_ms:
            self._muted = True
            self.server.run_later(mute_ms, self._unmute)
        if parts is None:
            self._finish_request()
            return
        copied: list[Any] = [
            bytes(part) if isinstance(part, bytes | bytearray | memoryview) else part
            for part in pieces
        ]
        self.server.run_later(self._delay_ms() / 4, lambda: self._write(item, copied))

    def _write(self, item: Item, parts: list[bytes | Slice]) -> None:
        """Send the response now, which is when slices of files are read, and handle the next
        request. If a slice has become shorter, close the connection."""
        if self.gone:
            return
        pieces = [part if isinstance(part, bytes) else part.read() for part in parts]
        if any(len(piece) < len(part) for piece, part in zip(pieces, parts, strict=True)):
            self._reset()  # the log was truncated under a slice: close, as `file_send` does
            return
        frame = b"".join(pieces)
        self._back.carry(lambda: self._peer.deliver(item, frame), self._delay_ms())
        self._finish_request()

    def _unmute(self) -> None:
        """End the throttling, and handle the queued requests."""
        self._muted = False
        self._handle_next()

    def _finish_request(self) -> None:
        """Mark the current request as done, and handle the next queued request."""
        self._busy = None
        self._handle_next()

    def refuse(self, item: Item, why: str) -> None:
        """Close the connection instead of answering the request, for this reason."""
        self._peer.answered(item, why)
        self._reset()
