"""The bounded queue of requests between processors and handlers, and the handler slots.

Owns: the queue (`queued.max.requests`), which requests have a handler slot, how long requests are
handled in a row, and the rule that each request is answered once. Never: bytes on sockets, or what
a request means.

There are `num.io.threads` handler slots, and each blocking job in progress holds one (one event
loop owns all state, so only blocking jobs need a thread). If a slot is free and the queue is empty,
a request is handled at once, on the loop. Otherwise it waits in the queue; when the queue is full,
connections stop reading until there is room.

Hundreds of connections may send requests in one turn of the loop. Requests that are not handled
`ottla.requests.turn.ms` after the first one wait in the queue until all other work of the loop has
had its turn. Prepared requests take microseconds and do not wait.

Follows Kafka's `RequestChannel` and `KafkaRequestHandlerPool`; differs in that handling itself
never runs in parallel.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from broker.network.file_send import Bytes
from broker.network.file_slice import FileSlice
from broker.requests.context import (
    ANONYMOUS,
    UNKNOWN_SOFTWARE,
    Answer,
    ExpectedRequest,
    LastClient,
    Later,
)
from broker.requests.request_times import RequestTimes
from broker.security.logins import Logins
from protocol.errors import ProtocolError
from protocol.frames.frame_memory import UNCOUNTED, FrameMemory

ResponseParts = Bytes | Sequence[Bytes | FileSlice]
"""A whole response as it is sent, its int32 size first: one piece, or parts in order. The network
owns the parts from then on. None of them may be a view of the request's frame."""


@dataclass(slots=True, eq=False)
class ConnectionContext:
    """The properties of a connection that request handlers see."""

    connection_id: str
    """The id in Kafka's form: local address, remote address, processor, number."""
    listener_name: str
    security_protocol: str
    client_host: str
    client_port: int
    principal: str = ANONYMOUS
    """The client's principal, ANONYMOUS until it has authenticated."""
    token_authenticated: bool = False
    """Whether the client logged in by a delegation token."""
    client_software_name: str = UNKNOWN_SOFTWARE
    """The name in ApiVersions v3 and above (KIP-511), set by that API."""
    client_software_version: str = UNKNOWN_SOFTWARE
    closed: bool = False
    last: LastClient = field(default_factory=LastClient)
    times: RequestTimes | None = None
    """The times of its requests; None if they are not measured."""
    logins: Logins | None = None
    """The listener's log and counts of logins; None if failures are not reported."""
    mute_ms: int = 0
    """The time for which the connection is not read after the answer to the current request."""

    def throttled(self, wait_ms: int) -> None:
        """Mute the connection for `wait_ms` after the current answer: a quota was exceeded."""
        self.mute_ms = wait_ms

    def take_mute_ms(self) -> int:
        """Return the time for which the connection must not be read, and reset it to 0."""
        mute_ms, self.mute_ms = self.mute_ms, 0
        return mute_ms

    def refused(self, how: str, reason: str) -> None:
        """Report to the listener's log and counts that the client used a protocol that the listener
        does not accept."""
        if self.logins is not None:
            self.logins.failure(self.connection_id, self.client_host, how, reason)

    def authenticated(self, principal: str, *, by_token: bool = False) -> None:
        """Set the client's principal. `by_token`: it logged in by a delegation token (KIP-48)."""
        self.principal = principal
        self.token_authenticated = by_token

    def ended(self) -> None:
        """Mark the connection as closed."""
        self.closed = True

    def runs_on(self, software_name: str, software_version: str) -> None:
        """Set the name and version of the client's software."""
        self.client_software_name = software_name
        self.client_software_version = software_version


class ResponseTarget(Protocol):
    """The receiver of the response to a request in progress."""

    def keep(self, frame: memoryview) -> memoryview:
        """Return the current request's frame, or a copy, which stays valid until its answer."""

    def fail(self, error: BaseException) -> None:
        """Close at once: the peer's bytes are invalid, or handling them failed."""

    def answer(self, parts: ResponseParts | None) -> None:
        """Send the response to the current request; None if it has none."""

    def close_after_answers(self, last: ResponseParts | None = None) -> None:
        """Send earlier answers and then `last`, an answer or a part of one, and close."""


class Requester(ResponseTarget, Protocol):
    """A connection that passes requests to the channel."""

    context: ConnectionContext

    def answer_later(self) -> Responder:
        """Return the responder of a request that was to be answered at once, but is answered
        later."""

    def leaves_queue(self) -> None:
        """Record, for the request's times, that the handler of a queued request begins now."""

    def handled(self) -> None:
        """Record, for the request's times, that the handler of a queued request has returned."""

    def resume(self) -> None:
        """Resume reading and passing requests: the channel has room again."""

    def flush(self) -> None:
        """Send the answers that were given while another connection's request was handled."""


class Responder:
    """The callback that answers one request, now or later. Only the first call counts."""

    __slots__ = ("_requester",)

    def __init__(self, requester: ResponseTarget) -> None:
        self._requester: ResponseTarget | None = requester

    def __call__(self, parts: ResponseParts | None) -> None:
        """Send the response; None if the request has none (acks=0). Does nothing if the request is
        answered or its connection closed."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.answer(parts)

    def last(self, data: bytes) -> None:
        """Send these bytes, a response or a part of one, and close the connection. Does nothing if
        the request is answered."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.close_after_answers(data)

    def keep(self, frame: memoryview) -> memoryview:
        """Return the request's frame, or a copy, which stays valid until the answer."""
        return frame if self._requester is None else self._requester.keep(frame)

    def fail(self, error: BaseException) -> None:
        """Close the connection at once: its bytes are invalid, or handling them failed. Does
        nothing if the request is answered."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.fail(error)

    def close(self) -> None:
        """Close the connection instead of answering, after earlier answers have been sent. Does
        nothing if the request is answered."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.close_after_answers()


class _AnswerReceiver:
    """The receiver of an answer that is given during the call, in one piece.

    A handler that cannot give one gets ProtocolError, or its own error, raised by the call.
    """

    whole = b""

    def answer(self, parts: ResponseParts | None) -> None:
        """Keep the answer as `whole`. It must be in one piece."""
        assert isinstance(parts, (bytes, bytearray, memoryview)), "an answer in parts, or none"
        self.whole = bytes(parts)

    def keep(self, frame: memoryview) -> memoryview:
        """Raise ProtocolError: the handler would answer such a long request later."""
        raise ProtocolError(f"a request of {len(frame)} bytes before the login is too long")

    def fail(self, error: BaseException) -> None:
        """Raise the handler's error."""
        raise error

    def close_after_answers(self, last: ResponseParts | None = None) -> None:
        """Raise ProtocolError, because there is no answer."""
        raise ProtocolError("the answer cannot be written")


Handle = Callable[[ConnectionContext, memoryview, Responder], None]
"""A function that handles a frame, and answers through the responder. The frame is valid during the
call only; for longer if its buffer has more than `protocol.frames.framing.KEPT_BYTES`. A
ProtocolError from it closes the connection."""


HandleAtOnce = Callable[[ConnectionContext, memoryview, Later], Answer | None]
"""A function that returns the answer to a frame. The answer is empty if the request gets none, or
if it comes later. None: the function did nothing, and `Handle` must be called."""


Expect = Callable[[ConnectionContext, memoryview], ExpectedRequest | None]
"""A function that prepares for a frame like the last one. Its argument is the buffer with the last
frame, its size first, where the next one will be received. It returns None if the request cannot be
prepared."""


def never_at_once(_context: ConnectionContext, _frame: memoryview, _later: Later) -> Answer | None:
    """Return None: no request is answered at once."""
    return None


def never_expected(_context: ConnectionContext, _message: memoryview) -> ExpectedRequest | None:
    """Return None: no request is prepared."""
    return None


def no_time() -> float:
    """Return 0: a clock that stands still, so that the turn of requests never ends."""
    return 0.0


class HandlerSlots(Protocol):
    """The pool whose jobs hold handler slots (`broker.loop.scheduler.BlockingPool`)."""

    size: int
    outstanding: int
    on_job_done: Callable[[], None] | None


_RESUMED_PER_TURN = 64


class RequestChannel:
    """The queue of requests and the handler slots. All calls on the loop's thread."""

    def __init__(
        self,
        handle: Handle,
        slots: HandlerSlots,
        queued_max_requests: int,
        call_soon: Callable[[Callable[[], None]], object],
        at_once: HandleAtOnce = never_at_once,
        expect: Expect = never_expected,
        memory: FrameMemory = UNCOUNTED,
        turn_s: float = math.inf,
        clock_s: Callable[[], float] = no_time,
    ) -> None:
        """Create an empty queue, which is drained after each job of `slots`. `memory` counts the
        queued frames. After `turn_s` of requests by the clock, the loop does all other work before
        the next request.

        Raises ValueError if `queued_max_requests` is below 1.
        """
        if queued_max_requests < 1:
            raise ValueError("queued.max.requests is at least 1")
        self._handle = handle
        self._at_once = at_once
        self._expect = expect
        self._slots = slots
        self._limit = queued_max_requests
        self._call_soon = call_soon
        self._memory = memory
        self._turn_s = turn_s
        self._clock_s = clock_s
        self._turn_ends_s: float | None = None
        """The time at which the turn of requests ends; None if none was handled in this turn."""
        # A connection has one request in progress at most.
        self._queue: dict[Requester, memoryview] = {}
        self._stalled: dict[Requester, None] = {}
        self._drain_scheduled = False
        self._flush_scheduled = False
        self.answered: deque[Requester] = deque()
        """The connections that were answered while another connection's request was handled."""
        self.handling = False
        """Whether a handler is on the stack; other connections' answers are sent after it."""
        slots.on_job_done = self._slot_may_be_free

    # --- for metrics ---------------------------------------------------------------------------

    @property
    def queue_size(self) -> int:
        """The number of requests that wait for a handler slot: Kafka's RequestQueueSize."""
        return len(self._queue)

    @property
    def busy_slots(self) -> int:
        """The number of handler slots in use."""
        return min(self._slots.outstanding, self._slots.size) + self.handling

    # --- for connections -----------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether the queue is full, so that connections must stop reading."""
        return len(self._queue) >= self._limit

    @property
    def slot_free(self) -> bool:
        """Whether a handler slot is free, no request waits in the queue, and the turn of requests
        is not over."""
        if self._queue or self._slots.outstanding >= self._slots.size:
            return False
        return not self.turn_is_over

    @property
    def turn_is_over(self) -> bool:
        """Whether the loop must do all other work before the next request."""
        return self._turn_ends_s is not None and self._clock_s() >= self._turn_ends_s

    def handle_at_once(self, requester: Requester, frame: memoryview) -> Answer | None:
        """Answer a request at once if a slot is free and the request allows it.

        Returns None if it must be handled the usual way, and an empty answer if the answer comes
        through `requester.answer_later` or not at all. The caller sends the answer and then calls
        `flush_answered`, because other requests may have been answered by this one."""
        slots = self._slots
        if slots.outstanding >= slots.size or (self._queue and not self.turn_is_over):
            return None
        self.handling = True
        try:
            return self._at_once(requester.context, frame, requester.answer_later)
        except ProtocolError as error:
            requester.fail(error)
            return b""
        except BaseException as error:
            requester.fail(error)  # as in handle_now
            raise
        finally:
            self.handling = False

    def expect(self, requester: Requester, message: memoryview) -> ExpectedRequest | None:
        """Prepare for the requester's next request, which will be received into `message`, where
        the last one still is, the frame's size first. Return None if that is not possible. No other
        request may be handled before this one."""
        return self._expect(requester.context, message) if self.slot_free else None

    def handle_expected(self, requester: Requester, expected: ExpectedRequest) -> Answer | None:
        """Answer a request that arrived as expected; return None if it must be handled the usual
        way. The caller sends the answer and then calls `settle`.

        An error closes the connection. After a ProtocolError the answer is empty; others are
        raised.
        """
        try:
            return expected.answer()
        except ProtocolError as error:
            requester.fail(error)
            return b""
        except BaseException as error:
            requester.fail(error)  # as in handle_now
            raise

    def settle(self, expected: ExpectedRequest) -> None:
        """Complete a request whose answer was sent, and flush other requests that it answered."""
        self.handling = True
        try:
            expected.settle()
        finally:
            self.handling = False
        self.flush_answered()

    def handle_now(self, requester: Requester, frame: memoryview) -> None:
        """Handle a request in a slot that is free; its answer may come during the call. An error
        closes its connection; any but ProtocolError is also raised."""
        outermost = not self.handling
        self.handling = True
        self.begin_turn()
        try:
            self._handle(requester.context, frame, Responder(requester))
        except ProtocolError as error:
            requester.fail(error)
        except BaseException as error:
            # Nothing else would answer this connection. The loop's exception handler decides
            # whether the process continues.
            requester.fail(error)
            raise
        finally:
            self.handling = not outermost

    def begin_turn(self) -> None:
        """Set the end of the turn of requests, if it has not begun, and schedule the next turn."""
        if self._turn_ends_s is None:
            self._turn_ends_s = self._clock_s() + self._turn_s
            self._drain_soon()

    def enqueue(
        self, requester: Requester, frame: memoryview, keep: Callable[[memoryview], memoryview]
    ) -> None:
        """Queue a request until a slot is free, or until the next turn. The queue owns the frame
        that `keep(frame)` returns."""
        assert not self.full and requester not in self._queue
        self._memory.hold(len(frame))
        self._queue[requester] = keep(frame)
        if self._slots.outstanding < self._slots.size:
            self._drain_soon()

    def answer_now(self, context: ConnectionContext, frame: memoryview) -> bytes:
        """Return the answer to a request from a client that has not logged in (ApiVersions).

        Raises ProtocolError if it is too long, or is not answered in one piece during the call."""
        receiver = _AnswerReceiver()
        self._handle(context, frame, Responder(receiver))
        return receiver.whole

    def stall(self, requester: Requester) -> None:
        """Call `requester.resume` when the queue, which is full, has room."""
        self._stalled[requester] = None

    def forget(self, requester: Requester) -> None:
        """Forget a closed connection: its stall and its place in the queue."""
        self._stalled.pop(requester, None)
        frame = self._queue.pop(requester, None)
        if frame is not None:
            self._memory.free(len(frame))
            if self._stalled:  # there is room for a stalled connection
                self._drain_soon()

    def flush_answered(self) -> None:
        """Flush the connections in `answered`. Called when no handler is on the stack.

        A consumer group may have hundreds of members answered at once: those that do not fit into
        this turn are flushed in the next turns.
        """
        if not self.answered or self._flush_scheduled:
            return
        until_s = self._clock_s() + self._turn_s
        while self.answered and not self._flush_scheduled:
            # A flushed connection may call this function again, so take the deque first.
            answered, self.answered = self.answered, deque()
            while answered:
                answered.popleft().flush()
                if answered and self._clock_s() >= until_s:
                    self._flush_later(answered)
                    return

    def _flush_later(self, answered: deque[Requester]) -> None:
        """Put `answered` before the other answered connections; flush all in the next turn."""
        answered.extend(self.answered)
        self.answered = answered
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._call_soon(self._flush_rest)

    def _flush_rest(self) -> None:
        """Flush the answered connections that did not fit into an earlier turn."""
        self._flush_scheduled = False
        self.flush_answered()

    # --- draining ------------------------------------------------------------------------------

    def _slot_may_be_free(self) -> None:
        """Flush the answered connections, and handle queued requests, because a job has ended."""
        self.flush_answered()
        if self._queue or self._stalled:
            self._drain()

    def _drain_soon(self) -> None:
        """Begin a new turn of requests in the loop's next turn, unless that is
        scheduled already."""
        if not self._drain_scheduled:
            self._drain_scheduled = True
            self._call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """Begin a new turn of requests: all other work of the loop has had its turn."""
        self._drain_scheduled = False
        self._turn_ends_s = None
        self._drain()

    def _drain(self) -> None:
        """Handle queued requests while slots are free, and resume stalled connections between. At
        the end of the turn of requests, leave the rest to the next turn."""
        slots, resumed, stalled_first = self._slots, 0, False
        while resumed < _RESUMED_PER_TURN and not self.turn_is_over:
            has_slot = self._queue and slots.outstanding < slots.size
            if self._stalled and not self.full and (stalled_first or not has_slot):
                # In the order of the stalls. Without a whole frame, a connection takes no room.
                requester = next(iter(self._stalled))
                del self._stalled[requester]
                resumed += 1
                stalled_first = False
                requester.resume()
            elif has_slot:
                self._handle_first()
                stalled_first = True
            else:
                return
        self._drain_soon()

    def _handle_first(self) -> None:
        """Handle the queue's first request, unless its connection is closed; free its memory."""
        requester = next(iter(self._queue))
        frame = self._queue.pop(requester)
        size = len(frame)
        try:
            if not requester.context.closed:
                requester.leaves_queue()
                self.handle_now(requester, frame)
                requester.handled()
        finally:
            del frame
            self._memory.free(size)
        self.flush_answered()
