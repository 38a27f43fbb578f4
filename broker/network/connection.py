"""One client connection: frames in, one request at a time, answers out in order.

Owns: when this connection reads, and which request of it is under way. Never: what requests mean,
how bytes and files are sent (`file_send`), or deadlines (`processor`).

A connection takes the next request when the answer to the one before has gone to the kernel. So a
slow reader is not read from, and what a connection holds is bounded by one request and one answer.
Reading is paused only when bytes arrive that cannot be taken: a request answered at once, or a
long poll with nothing behind it, costs no call to the poller. (Kafka's SocketServer mutes the
channel for each request.)

States, and what bytes that arrive then lead to:

    READY     no request under way              → frames are taken and handled
    PENDING   a request waits for its answer    → reading pauses until the answer
    SENDING   the peer does not take an answer  → reading pauses until it has
    STALLED   the request channel is full       → reading has paused until there is room
    YIELDED   others have their turn            → reading has paused until the next one
    CLOSING   no further request is taken       → dropped

In each of them, reading also pauses while there is no memory for a frame that has begun
(`request_memory`); and a connection that is gone lets go of all its bytes at once, whoever still
knows it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, cast

from broker.network.busy_poll import REQUEST_BYTES
from broker.network.file_send import ResponseSender
from broker.network.request_channel import (
    AtOnceAnswer,
    ConnectionContext,
    RequestChannel,
    Responder,
    ResponseParts,
)
from protocol.errors import ProtocolError
from protocol.framing import SIZE_BYTES, FrameReader

if TYPE_CHECKING:
    from broker.network.processor import Processor

_log = logging.getLogger(f"ottla.{__name__}")

FRAMES_PER_TURN = 16
"""Requests of one connection handled before others have their turn."""
TURN_REQUEST_BYTES = 64 * 1024
"""Request bytes after which others have their turn."""
CORK_BYTES = 16 * 1024
"""Answer bytes that may wait for the answers to further requests that are at hand."""
INCOMPLETE_PROGRESS_BYTES = 1024 * 1024
"""What a peer has to send of a large frame to get another `partial frame timeout`."""


class State(Enum):
    """See the module."""

    READY = auto()
    PENDING = auto()
    SENDING = auto()
    STALLED = auto()
    YIELDED = auto()
    CLOSING = auto()


# A look-up in the enum's class costs more than the comparison; these are on the hot path.
_READY, _PENDING, _SENDING = State.READY, State.PENDING, State.SENDING
_STALLED, _YIELDED, _CLOSING = State.STALLED, State.YIELDED, State.CLOSING


class Connection(asyncio.BufferedProtocol):
    """The protocol of one connection's transport, and the channel's `Requester`."""

    def __init__(
        self,
        processor: Processor,
        channel: RequestChannel,
        context: ConnectionContext,
        reader: FrameReader,
        sock: socket.socket | None,
    ) -> None:
        """`sock` is the transport's own socket; None for TLS, whose bytes go through it."""
        self.context = context
        self.reader = reader
        # The transport asks for a buffer before each read: without a call between.
        self.get_buffer = reader.get_buffer  # type: ignore[method-assign, assignment]
        self.last_active_s = time.monotonic()
        self.received_bytes = 0
        self.state = _READY
        # The incomplete frame: since when it is one, or has made enough progress, and what had
        # been received then.
        self._incomplete_since_s: float | None = None
        self._incomplete_mark = 0
        self._processor = processor
        self._memory = processor.memory
        self._channel = channel
        self._busy_poll = processor.busy_poll
        self._socket = sock
        self._transport: asyncio.Transport | None = None
        self._sender: ResponseSender | None = None
        self._paused = False
        self._running = False
        self._out: list[ResponseParts] = []
        self._out_bytes = 0
        self._flush_announced = False
        self._close_wanted = False
        self._later: Responder | None = None
        self._asked_bytes = 0  # of the last request that was answered at once

    # --- called by the transport ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is up."""
        # A cast: uvloop's transports are no subclasses of asyncio's.
        tcp = cast(asyncio.Transport, transport)
        self._transport = tcp
        processor = self._processor
        self._sender = ResponseSender(
            processor.loop,
            self._socket,
            tcp,
            processor.blocking,
            self._drained,
            self._send_failed,
        )
        processor.connection_opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport is to put the next bytes."""
        return self.reader.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        reader = self.reader
        ready = self.state is _READY
        try:
            # Nearly all that comes is one request like the one before: its answer is known when
            # the call returns, and there is nothing to keep in between. A client that waits for it
            # has its core at rest a few microseconds later, so all else comes behind the answer.
            tried = False
            if ready and self.context.at_once is not None:
                frame = reader.only_frame(nbytes)
                if frame is not None:
                    answer = self._channel.handle_at_once(self, frame)
                    if answer is not None:
                        self._answered_at_once(answer, nbytes)
                        return
                    tried = True
            self.last_active_s = time.monotonic()
            self.received_bytes += nbytes
            reader.buffer_updated(nbytes)
            if ready:
                self._run(tried)
            else:
                self._pause()
        except ProtocolError as error:
            self.fail(error)

    def eof_received(self) -> bool:
        """The peer will send no more: as in Kafka, that ends the connection."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, whoever closed it."""
        self.state = _CLOSING
        self.context.closed = True
        self._out.clear()
        if self._sender is not None:
            self._sender.close()
        self._channel.forget(self)
        self._let_go()
        self._processor.connection_closed(self)

    def pause_writing(self) -> None:
        """Copying path: the transport's buffer is full."""
        if self._sender is not None:
            self._sender.transport_paused()

    def resume_writing(self) -> None:
        """Copying path: the transport's buffer has emptied."""
        if self._sender is not None:
            self._sender.transport_resumed()

    # --- called by the channel and its responders -----------------------------------------------

    def answer(self, parts: ResponseParts | None) -> None:
        """The answer to the request under way has come, during the handler's call or later."""
        if self.state is not _PENDING:
            return
        self.state = _READY
        if self.reader.lent:
            self.reader.settle()
        if parts is not None:
            self._out.append(parts)
            if isinstance(parts, (bytes, bytearray, memoryview)):
                self._out_bytes += len(parts)
            else:
                self._out_bytes += CORK_BYTES
        if self._running:
            return
        if self._channel.handling:
            if not self._flush_announced:
                self._flush_announced = True
                self._channel.answered.append(self)
            return
        self.flush()

    def later(self) -> Responder:
        """The request that is being tried at once is under way: its answer comes later."""
        self.state = _PENDING
        self._later = Responder(self)
        return self._later

    def close_after_answers(self) -> None:
        """Close once what has been answered is sent."""
        self._close_wanted = True
        if self.state is _PENDING:
            self.answer(None)
        elif self.state is not _SENDING:
            self._close()

    def fail(self, error: BaseException) -> None:
        """Close at once; nothing that the peer sent after this can be understood.

        Answers to the requests before it leave first, as far as the kernel takes them.
        """
        if self.state is _CLOSING:
            return
        _log.info("closing %s: %s", self.context.connection_id, error)
        self._processor.failed_count += 1
        if self._out:
            self._send_out()
        self._abort()

    def resume(self) -> None:
        """The channel has room again."""
        if self.state is _STALLED:
            self._take_next()

    def flush(self) -> None:
        """Send the answers given since the last flush, then go on with what has been read."""
        self._flush_announced = False
        if self.state is _CLOSING or self._running:
            return
        if self._send_out() and self.state is _READY:
            reader = self.reader
            if reader.position != reader.end:
                # Not at once: this may be the stack of somebody else's request.
                self.state = _YIELDED
                self._processor.loop.call_soon(self._turn)
            elif self._paused:
                self._resume_reading()

    # --- called by the busy poll ----------------------------------------------------------------

    @property
    def can_receive(self) -> bool:
        """Whether the peer's next bytes may be taken past the transport."""
        return self.state is _READY and self._socket is not None and not self._paused

    def receive_until(self, clock: Callable[[], float], end_s: float) -> bool:
        """Take and handle what the peer sends until then, or see that the connection has ended, of
        which the loop tells. False: neither."""
        assert self._socket is not None
        recv_into, buffer = self._socket.recv_into, self.get_buffer(-1)
        expected, asked_bytes = None, self._asked_bytes
        frame = buffer[SIZE_BYTES:asked_bytes]
        if asked_bytes and not self.reader.in_progress:
            expected = self._channel.expect(self, buffer[:asked_bytes])
        while True:
            try:
                nbytes = recv_into(buffer)
                break
            except (BlockingIOError, InterruptedError):
                if clock() >= end_s:
                    return False
            except OSError:
                return True
        if expected is not None and nbytes == asked_bytes:
            answer = self._channel.handle_expected(self, frame, expected)
            if answer is not None:
                try:
                    self._answered_at_once(answer, nbytes)
                finally:
                    self._channel.settle(expected)
                return True
        if nbytes:
            self.buffer_updated(nbytes)
        return True

    # --- called by the processor ---------------------------------------------------------------

    def shut_down(self) -> None:
        """Take no further request; close when the one under way is answered."""
        self._close_wanted = True
        if self.state not in (_PENDING, _SENDING, _CLOSING):
            self._close()

    def abort(self, reason: str) -> None:
        """Close now, whatever is under way."""
        if self.state is not _CLOSING:
            _log.info("closing %s: %s", self.context.connection_id, reason)
            self._abort()

    def incomplete_until(self, now_s: float, timeout_s: float) -> float | None:
        """When the peer must have sent the rest of its frame; None if it owes us nothing.

        Each time that it has sent INCOMPLETE_PROGRESS_BYTES, it gets `timeout_s` again.
        """
        since = self._incomplete_since_s
        if since is None or self._paused or self.state is _CLOSING or not self.reader.in_progress:
            return None
        if self.received_bytes - self._incomplete_mark >= INCOMPLETE_PROGRESS_BYTES:
            self._note_incomplete(now_s)
            since = now_s
        return since + timeout_s

    @property
    def pending_bytes(self) -> int:
        """Answer bytes that the peer has not taken yet."""
        return self._sender.pending_bytes if self._sender is not None else 0

    # --- requests ------------------------------------------------------------------------------

    def _run(self, tried: bool = False) -> None:
        """Take the frames that are there, one after the other, then send the answers. `tried`: the
        first one cannot be answered at once."""
        reader = self.reader
        channel = self._channel
        frames = FRAMES_PER_TURN
        room_bytes = TURN_REQUEST_BYTES
        self._running = True
        try:
            while self.state is _READY and reader.position != reader.end:
                if frames == 0 or room_bytes <= 0:
                    self.state = _YIELDED
                elif not (slot_free := channel.slot_free) and channel.full:
                    self.state = _STALLED
                else:
                    frame = reader.next_frame()
                    if frame is None:
                        break
                    frames -= 1
                    room_bytes -= len(frame)
                    self.state = _PENDING
                    if slot_free:
                        answer = None
                        if not tried and self.context.at_once is not None:
                            answer = channel.handle_at_once(self, frame)
                        tried = False
                        if answer is None:
                            channel.handle_now(self, frame)
                        elif self._later is None:
                            self.answer(answer or None)
                        else:
                            self._wait_for(answer)
                    else:
                        channel.enqueue(self, frame, reader.keep)
                    if self._close_wanted or (
                        self._out_bytes >= CORK_BYTES and not self._send_out()
                    ):
                        break
        finally:
            self._running = False
            self._end_run(frames < FRAMES_PER_TURN)

    def _end_run(self, taken: bool) -> None:
        """Send the answers, and leave the reader and the transport fit for the state."""
        if self.state is _CLOSING:
            return
        if self._out or self._close_wanted:
            self._send_out()
        if self._channel.answered:
            self._channel.flush_answered()
        reader = self.reader
        if reader.starved or reader.is_large:
            self._mind_memory()
        if self.state is not _READY:
            self._end_unfinished()
        elif reader.filled:
            if taken or self._incomplete_since_s is None:
                self._note_incomplete(self.last_active_s)
        else:
            self._incomplete_since_s = None

    def _end_unfinished(self) -> None:
        """Something is under way, or to be gone on with."""
        if self.reader.has_unread:
            self._pause()
        if self.state is _STALLED:
            self._pause()
            self._channel.stall(self)
        elif self.state is _YIELDED:
            self._pause()
            self._processor.loop.call_soon(self._turn)

    def _mind_memory(self) -> None:
        """Wait for it, or give a large buffer back whose frame is handled."""
        reader = self.reader
        if reader.starved:
            self._pause()
            self._memory.wait(reader.wanted_bytes, self._memory_granted)
        elif self.state is _PENDING:
            reader.lend()
        else:
            reader.release()

    def _memory_granted(self) -> None:
        """There is memory for the frame that has begun."""
        self.reader.feed()
        if self.state is _READY:
            self._resume_reading()

    def _note_incomplete(self, now_s: float) -> None:
        self._incomplete_since_s = now_s
        self._incomplete_mark = self.received_bytes
        self._processor.frame_incomplete(self)

    def _turn(self) -> None:
        if self.state is _YIELDED:
            self._take_next()

    def _take_next(self) -> None:
        """Go on with frames that wait in the reader; then read on, if all were taken."""
        self.state = _READY
        try:
            self._run()
        except ProtocolError as error:
            self.fail(error)
        if self.state is _READY:
            self._resume_reading()

    # --- answers -------------------------------------------------------------------------------

    def _answered_at_once(self, answer: AtOnceAnswer, request_bytes: int) -> None:
        """Send the answer to a request that was never under way; empty: there is none, or later."""
        sender = self._sender
        if self._later is not None:
            self._wait_for(answer)
        elif answer and sender is not None:
            try:
                if isinstance(answer, bytes):
                    sent = sender.send(answer)
                    if sent and request_bytes <= REQUEST_BYTES:
                        self._busy_poll.answered(self)
                else:
                    sent = sender.send_parts(answer)
                if not sent:
                    self._await_drain()
            except (OSError, ValueError) as error:
                self._send_failed(error)
        self.last_active_s = time.monotonic()
        self.received_bytes += request_bytes
        self._asked_bytes = request_bytes
        if self._channel.answered:
            self._channel.flush_answered()

    def _wait_for(self, failure: AtOnceAnswer) -> None:
        """The answer comes later; or it failed after it had begun to wait, and this says so."""
        later, self._later = self._later, None
        if failure and later is not None:
            later(failure)

    def _send_out(self) -> bool:
        """Hand answers to the sender. False: the peer is slow, or gone; wait for `_drained`."""
        sender = self._sender
        assert sender is not None
        out = self._out
        self._out_bytes = 0
        try:
            if len(out) == 1:
                one = out.pop()
                if isinstance(one, (bytes, bytearray, memoryview)):
                    sent = sender.send(one)
                else:
                    sent = sender.send_parts(one)
            elif out:
                for parts in out:
                    if isinstance(parts, (bytes, bytearray, memoryview)):
                        sender.push(parts)
                    else:
                        for part in parts:
                            sender.push(part)
                out.clear()
                sent = sender.flush()
            else:
                sent = True
        except (OSError, ValueError) as error:
            self._send_failed(error)
            return False
        if not sent:
            self._await_drain()
        elif self._close_wanted and self.state is not _PENDING:
            self._close()
        return sent

    def _await_drain(self) -> None:
        """What was sent has not left. A request under way keeps its state; it ends here later."""
        if self.state is not _PENDING:
            self.state = _SENDING
        if self.reader.has_unread:
            self._pause()

    def _drained(self) -> None:
        """The sender has brought everything out."""
        self.last_active_s = time.monotonic()
        if self.state is not _SENDING:
            return
        if self._close_wanted:
            self._close()
        elif self.reader.has_unread:
            self._take_next()
        else:
            self.state = _READY
            self._resume_reading()

    def _send_failed(self, error: Exception) -> None:
        if self.state is _CLOSING:
            return
        if isinstance(error, (ConnectionError, TimeoutError)):
            _log.debug("%s is gone: %s", self.context.connection_id, error)
        else:
            _log.warning("closing %s: cannot send: %s", self.context.connection_id, error)
        self._abort()

    # --- the transport -------------------------------------------------------------------------

    def _pause(self) -> None:
        """Stop reading; what has been read and not taken is kept."""
        self.reader.detach()
        if not self._paused and self._transport is not None and self.state is not _CLOSING:
            self._paused = True
            self._processor.paused_count += 1
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._paused and self._transport is not None and not self.reader.starved:
            self._paused = False
            self._processor.paused_count -= 1
            self.reader.attach()
            self._transport.resume_reading()
            if self.reader.in_progress:
                self._note_incomplete(time.monotonic())

    def _close(self) -> None:
        self.state = _CLOSING
        self.context.closed = True
        self._let_go()
        if self._transport is not None:
            self._transport.close()

    def _abort(self) -> None:
        self.state = _CLOSING
        self.context.closed = True
        self._out.clear()
        if self._sender is not None:
            self._sender.close()
        self._let_go()
        if self._transport is not None:
            self._transport.abort()

    def _let_go(self) -> None:
        """Of all bytes that came: nobody will take them."""
        if self.reader.starved:
            self._memory.forget(self._memory_granted)
        if not self._running:
            self.reader.close()
