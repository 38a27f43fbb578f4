"""One client connection: frames in, one request at a time, answers out in order.

Owns: the calls of the transport, and requests that are answered at once. Never: the next step
(`connection_state` has the states), authentication (`login_flow`), what requests mean, how bytes
and files are sent (`file_send`), or deadlines (`processor`).
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Protocol, cast

from broker.network.file_send import GONE, ResponseSender
from broker.network.limits.request_memory import RequestMemory
from broker.network.server.busy_poll import REQUEST_BYTES, BusyPoll
from broker.network.server.connection_state import (
    AUTHENTICATING,
    CLOSING,
    READY,
    SEND,
    ConnectionCore,
    ShellStep,
)
from broker.network.server.hang_ups import HangUps
from broker.network.server.request_channel import (
    ConnectionContext,
    RequestChannel,
    Responder,
    ResponseParts,
)
from broker.network.server.unsent_answers import UnsentAnswers
from broker.requests.context import Answer, ExpectedRequest
from ground.ports import Blocking
from protocol.errors import ProtocolError
from protocol.frames.framing import FrameReader, FrameSizeError

if TYPE_CHECKING:
    from broker.network.server.login_flow import LoginFlow

_log = logging.getLogger(f"ottla.{__name__}")

_TLS = "TLS"
_NO_TLS = "the listener has no TLS: its protocol is %s"


class ConnectionOwner(Protocol):
    """The processor, as its connections see it."""

    loop: asyncio.AbstractEventLoop
    memory: RequestMemory
    busy_poll: BusyPoll
    blocking: Blocking
    unsent: UnsentAnswers
    hang_ups: HangUps

    def connection_opened(self, connection: Connection) -> None:
        """Add a connection whose transport is open."""

    def connection_closed(self, connection: Connection) -> None:
        """Remove a connection whose transport is closed."""

    def connection_authenticated(self, connection: Connection) -> None:
        """End the login's deadline: the client has authenticated."""

    def frame_incomplete(self, connection: Connection) -> None:
        """Watch a connection whose peer has begun a frame, or has sent more of it."""


class Connection(asyncio.BufferedProtocol):
    """The protocol of one connection's transport, and the channel's `Requester`."""

    def __init__(
        self,
        owner: ConnectionOwner,
        channel: RequestChannel,
        context: ConnectionContext,
        reader: FrameReader,
        sock: socket.socket | None,
        login: LoginFlow | None = None,
    ) -> None:
        """Create the protocol of a new transport. `sock` is the transport's socket, None for TLS,
        whose bytes go through the transport. `login` is None if clients need not authenticate."""
        self.context = context
        self.reader = reader
        self.login = login
        asks_first = login is not None and login.by_sasl
        self.core = ConnectionCore(reader, channel, AUTHENTICATING if asks_first else READY)
        # The transport asks for a buffer before each read, so spare it a call through this class.
        self.get_buffer = reader.get_buffer  # type: ignore[method-assign, assignment]
        self.socket = sock
        self.last_active_s = monotonic()
        self.received_bytes = 0
        self.asked_bytes = 0
        """The size of the last request that was answered at once."""
        self._owner = owner
        self._channel = channel
        self._times = context.times
        self._busy_poll = owner.busy_poll
        self._transport: asyncio.Transport  # both from `connection_made` on
        self._sender: ResponseSender
        self._running = False
        self._flush_announced = False
        self._later: Responder | None = None
        self._may_expire = False  # the login's session has an end

    # --- called by the transport ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Prepare the sender, add the connection to its processor, and begin the login if there is
        one."""
        # A cast: uvloop's transports are no subclasses of asyncio's.
        tcp = cast(asyncio.Transport, transport)
        self._transport = tcp
        owner = self._owner
        self._sender = ResponseSender(
            owner.loop, self.socket, tcp, owner.blocking, self._all_sent, self._send_failed
        )
        owner.connection_opened(self)
        if self.login is not None:
            self.login.begin(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the transport's next bytes."""
        return self.reader.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        """Handle the frames that `nbytes` complete, which are in the reader's buffer: answer
        requests, at once if possible, or pass the frames to the login."""
        # Most reads bring one request like the one before, which is answered at once, so that no
        # state is kept in between. The client's CPU core goes idle within microseconds of waiting,
        # so the answer is sent before all bookkeeping.
        tried = False
        if self.core.state is READY and not self._may_expire:
            frame = self.reader.only_frame(nbytes)
            if frame is not None:
                received_s = 0.0 if self._times is None else monotonic()
                answer = self._channel.handle_at_once(self, frame)
                if answer is not None:
                    self._answered_at_once(answer, nbytes, received_s)
                    return
                tried = True
        self.last_active_s = monotonic()
        self.received_bytes += nbytes
        self.core.received(nbytes)
        self._do_steps(tried)

    def eof_received(self) -> bool:
        """Handle the peer's end of input. Return True if the connection is closed in a later turn
        instead of by the transport now."""
        if self.socket is None:  # asyncio's TLS closes it now, whatever this returns
            self._hung_up()
            return False
        self._owner.hang_ups.add(self._hung_up)
        return True

    def _hung_up(self) -> None:
        """Close the connection after the peer has ended its side."""
        self.core.end_of_input()
        self._do_steps()
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the sender and the login, and remove the connection from the channel and its
        processor: it was lost or closed."""
        self.core.lost()
        self._release()
        self._sender.close()
        self._channel.forget(self)
        self._owner.connection_closed(self)
        # Break the reference cycle through the transport.
        self._transport = GONE
        if self.login is not None:
            self.login.close()

    def pause_writing(self) -> None:
        """Stop sending (copying path): the transport's buffer is full."""
        self._sender.transport_paused()

    def resume_writing(self) -> None:
        """Resume sending (copying path): the transport's buffer has emptied."""
        self._sender.transport_resumed()

    # --- called by the channel and its responders ----------------------------------------------

    def answer(self, parts: ResponseParts | None) -> None:
        """Send the answer to the request in progress, or, with None, end it without an answer.
        Ignored if no request is in progress.

        If the client must wait for a quota, nothing more is read from it meanwhile.
        """
        mute_ms = self.context.take_mute_ms() if self.context.mute_ms else 0
        if not self.core.answered(parts, mute_ms > 0):
            return
        if self._times is not None:
            self._times.answered(monotonic(), mute_ms / 1000, leaves=parts is not None)
        if mute_ms:
            self._owner.loop.call_later(mute_ms / 1000, self._unmute)
        if not self._running:
            self._do_steps_after_handler()

    def answer_later(self) -> Responder:
        """Mark the request that was to be answered at once as in progress. Return the responder
        that answers it later."""
        self.core.mark_in_progress()
        if self._times is not None:
            self._times.received(monotonic())
        self._later = Responder(self)
        return self._later

    def close_after_answers(self, last: ResponseParts | None = None) -> None:
        """Send earlier answers and then `last`, an answer or a part of one, and close."""
        self.core.leave()
        self.core.answered(last)
        self._do_steps_after_handler()

    def fail(self, error: BaseException) -> None:
        """Close at once, because the rest of the peer's bytes cannot be parsed.

        Answers to earlier requests are sent first, as far as the kernel takes them.
        """
        if self.core.abort():
            _log.info("closing %s: %s", self.context.connection_id, error)
            self._do_steps()

    def keep(self, frame: memoryview) -> memoryview:
        """Return the current request's frame, or a copy, which stays valid until its answer."""
        return self.reader.keep_counted(frame)

    def resume(self) -> None:
        """Resume reading and passing requests: the channel has room again."""
        self.core.room()
        self._do_steps()

    def leaves_queue(self) -> None:
        """Record, for the request's times, that the handler of a queued request begins now."""
        if self._times is not None:
            self._times.begun(monotonic())

    def handled(self) -> None:
        """Record, for the request's times, that the handler of a request has returned."""
        if self._times is not None:
            self._times.handled(monotonic())

    def flush(self) -> None:
        """Send the answers that were given while another connection's request was handled."""
        self._flush_announced = False
        self._do_steps()

    # --- called by the busy poll ---------------------------------------------------------------

    @property
    def can_receive(self) -> bool:
        """Whether the peer's next bytes may be received without the transport."""
        core = self.core
        if core.state is not READY or core.paused or self._may_expire:
            return False
        return self.socket is not None

    def expect(self, message: memoryview) -> ExpectedRequest | None:
        """Prepare for a next request like the last one, by `RequestChannel.expect`; return None if
        that is not possible."""
        return None if self.reader.in_progress else self._channel.expect(self, message)

    def answer_expected(self, expected: ExpectedRequest) -> bool:
        """Answer a request that arrived as expected. Return False if it must be handled the usual
        way."""
        received_s = 0.0 if self._times is None else monotonic()
        answer = self._channel.handle_expected(self, expected)
        if answer is None:
            return False
        try:
            self._answered_at_once(answer, self.asked_bytes, received_s)
        finally:
            self._channel.settle(expected)
        return True

    # --- called by the login -------------------------------------------------------------------

    def certificate(self) -> bytes | None:
        """Return the peer's TLS certificate in DER, None without TLS or a certificate."""
        tls = self._transport.get_extra_info("ssl_object")
        if tls is None:
            return None
        certificate: bytes | None = tls.getpeercert(True)
        return certificate

    def logged_in(self, may_expire: bool) -> None:
        """End the login's deadline, because the client has authenticated. `may_expire`: the session
        has an end (KIP-368)."""
        self._may_expire = may_expire
        self._owner.connection_authenticated(self)

    def login_renewed(self, may_expire: bool, answer: ResponseParts) -> None:
        """Send `answer` to a frame of a login that is being renewed, or is renewed by this
        frame."""
        self._may_expire = may_expire
        self.answer(answer)

    def login_went_on(self) -> None:
        """Do the core's next steps after the login changed it outside of a frame's handling."""
        self._do_steps()

    # --- called by the processor ---------------------------------------------------------------

    def shut_down(self) -> None:
        """Take no further request; close when the one in progress is answered."""
        self.core.leave()
        self._do_steps()

    def abort(self, reason: str) -> None:
        """Close now, even with a request in progress. `reason` is logged."""
        if self.core.abort():
            _log.info("closing %s: %s", self.context.connection_id, reason)
            self._do_steps()

    @property
    def pending_bytes(self) -> int:
        """The answer bytes that the peer has not taken yet."""
        return self._sender.pending_bytes

    @property
    def unsent_bytes(self) -> int:
        """The pending answer bytes that are in memory; over TLS encrypted bytes, too."""
        held = self._sender.held_bytes
        return held if self.socket is not None else held + self._transport.get_write_buffer_size()

    @property
    def sent_bytes(self) -> int:
        """The answer bytes that the peer has taken since the connection opened."""
        return self._sender.sent_bytes

    # --- steps of the core ---------------------------------------------------------------------

    def _do_steps(self, tried: bool = False) -> None:
        """Do the core's steps until none is left; invalid bytes of the peer end the connection.
        `tried`: the first request cannot be answered at once."""
        core, channel = self.core, self._channel
        was_running = self._running
        if was_running and core.state is not CLOSING:
            return  # called from within a handler; the outer call does the steps
        self._running = True
        try:
            while (step := core.next()) is not None:
                if isinstance(step, memoryview):
                    self._handle_frame(step, tried)
                    tried = False
                elif step is SEND:
                    self._send()
                else:
                    _DO[step](self)
        except ProtocolError as error:
            self._running = was_running
            self._reject_bytes(error)
        finally:
            self._running = was_running
            if channel.answered and not channel.handling:
                channel.flush_answered()

    def _reject_bytes(self, error: ProtocolError) -> None:
        """Close the connection, or reject its login, because its bytes are no valid frame. TLS on a
        listener without TLS is reported as a failed login."""
        context, how, reason = self.context, "", str(error)
        if isinstance(error, FrameSizeError) and error.begins_tls and self.socket is not None:
            how, reason = _TLS, _NO_TLS % context.security_protocol
        if self.core.state is AUTHENTICATING and self.login is not None:
            self.login.refuse(reason, how)
            return
        if how:
            context.refused(how, reason)
        self.fail(error)

    def _do_steps_after_handler(self) -> None:
        """Do the core's steps: now, or after the handler on the stack, which handles another
        connection's request."""
        if self._running:
            return
        if not self._channel.handling:
            self._do_steps()
        elif not self._flush_announced:
            self._flush_announced = True
            self._channel.answered.append(self)

    def _handle_frame(self, frame: memoryview, tried: bool) -> None:
        """Handle a frame: a login's, or a request's, at once, in the queue, or in the prepared way.

        `tried` means that the prepared way has been tried already.
        """
        login, channel = self.login, self._channel
        if login is not None:
            if self.core.state is AUTHENTICATING:
                login.take(frame)
                return
            if self._may_expire and login.takes_renewal(frame):
                return
        answer = None
        if self._times is not None:
            self._times.received(monotonic())
        if not tried:
            answer = channel.handle_at_once(self, frame)
        if answer is None:
            if channel.slot_free:
                channel.handle_now(self, frame)
                self.handled()
            else:
                channel.enqueue(self, frame, self.reader.keep)
        elif self._later is None:
            self.answer(answer or None)
        else:
            self.handled()
            self._wait_for(answer)

    def _answered_at_once(self, answer: Answer, request_bytes: int, received_s: float) -> None:
        """Send the answer to a request that was answered at once; a failure closes the connection
        and is not raised. An empty answer means that there is none, or that it comes later."""
        times = self._times
        answered_s = 0.0 if times is None else monotonic()
        if self._later is not None:
            now_s = monotonic()
            if times is not None:
                times.put_off(received_s, answered_s)
            self._wait_for(answer)
        else:
            try:
                if isinstance(answer, bytes):
                    sent = not answer or self._sender.send(answer)
                    now_s = monotonic()
                    if sent and answer and request_bytes <= REQUEST_BYTES:
                        self._busy_poll.answered(self, now_s)
                else:
                    sent = self._sender.send_parts(answer)
                    now_s = monotonic()
                if not sent:
                    self._leaves_late(received_s, answered_s)
                elif times is not None and (metrics := times.metrics) is not None:
                    metrics.at_once(answered_s - received_s, now_s - received_s)
            except (OSError, ValueError) as error:
                now_s = monotonic()
                self._send_failed(error)
        self.last_active_s = now_s
        self.received_bytes += request_bytes
        self.asked_bytes = request_bytes
        if self._channel.answered:
            self._channel.flush_answered()

    def _leaves_late(self, received_s: float, answered_s: float) -> None:
        """Handle no further request until the kernel has taken the rest of an answer that was given
        at once."""
        if self._times is not None:
            self._times.leaves_late(received_s, answered_s)
        self._send_blocked()

    def _wait_for(self, failure: Answer) -> None:
        """Leave the request in progress; or answer it with `failure`, if it failed after it had
        begun to wait."""
        later, self._later = self._later, None
        if failure and later is not None:
            later(failure)

    def _send(self) -> None:
        """Send the answers that are ready; a failure closes this connection and is not raised."""
        sender, out = self._sender, self.core.take_answers()
        times = self._times
        if times is not None:
            times.sending(monotonic())
        try:
            if len(out) > 1:
                for parts in out:
                    if isinstance(parts, (bytes, bytearray, memoryview)):
                        sender.push(parts)
                    else:
                        for part in parts:
                            sender.push(part)
                sent = sender.flush()
            elif isinstance(out[0], (bytes, bytearray, memoryview)):
                sent = sender.send(out[0])
            else:
                sent = sender.send_parts(out[0])
            if not sent:
                self._send_blocked()
            elif times is not None:
                times.sent(monotonic())
        except (OSError, ValueError) as error:
            self._send_failed(error)

    def _send_blocked(self) -> None:
        """Add this connection to those with unsent answers. No further request is handled until its
        answers are out."""
        self.core.blocked()
        self._owner.unsent.add(self)

    def _all_sent(self) -> None:
        """Do the core's next steps, because all unsent bytes are out."""
        self.last_active_s = monotonic()
        if self._times is not None:
            self._times.sent(self.last_active_s)
        self.core.drained()
        self._do_steps()

    def _send_failed(self, error: Exception) -> None:
        """Abort the connection. Only errors that are not the peer's are logged as warnings."""
        if self.core.abort():
            name = self.context.connection_id
            if isinstance(error, (ConnectionError, TimeoutError)):
                _log.debug("%s is gone: %s", name, error)
            else:
                _log.warning("closing %s: cannot send: %s", name, error)
            self._do_steps()

    def _next_turn(self) -> None:
        """Continue with the frames that have arrived, because other connections had their turn."""
        self.core.turn()
        self._do_steps()

    def _unmute(self) -> None:
        """Resume reading, because the client's throttle time is over."""
        self.core.unmuted()
        self._do_steps()

    def _memory_granted(self) -> None:
        """Continue with the frame that has begun, because there is memory for it."""
        self.core.memory_granted()
        self._do_steps()

    def _await_rest(self) -> None:
        """Start the deadline of a frame of which only a part has arrived."""
        self.core.rest_awaited(monotonic())
        self._owner.frame_incomplete(self)

    def _close(self) -> None:
        """Close the connection; the transport first sends the bytes that it has buffered."""
        self._release()
        self._transport.close()

    def _abort(self) -> None:
        """Close the connection at once, without its unsent answers."""
        self._release()
        self._sender.close()
        self._transport.abort()

    def _release(self) -> None:
        """Mark the context as closed, and end the connection's wait for memory."""
        self.context.ended()
        self._owner.memory.forget(self._memory_granted)


_DO: dict[ShellStep, Callable[[Connection], object]] = {
    ShellStep.PAUSE: lambda self: self._transport.pause_reading(),
    ShellStep.RESUME: lambda self: self._transport.resume_reading(),
    ShellStep.YIELD: lambda self: self._owner.loop.call_soon(self._next_turn),
    ShellStep.STALL: lambda self: self._channel.stall(self),
    ShellStep.AWAIT_MEMORY: lambda self: self._owner.memory.wait(
        self.reader.wanted_bytes, self._memory_granted
    ),
    ShellStep.AWAIT_REST: Connection._await_rest,
    ShellStep.CLOSE: Connection._close,
    ShellStep.ABORT: Connection._abort,
}
