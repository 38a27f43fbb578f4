"""Between processors and handlers: a bounded queue of requests, and the slots that handle them.

Owns: the queue (`queued.max.requests`), which requests have a handler slot, how long requests are
handled in a row, and the rule that a connection's answer goes back to it once. Never: bytes on
sockets, or what a request means.

A handler slot is one of `num.io.threads`; a blocking job under way holds one (one event loop owns
all state, so only what blocks takes a thread's time). While a slot is free and nobody waits, a
request is handled at once, on the loop. Otherwise it waits here, and when the queue is full,
connections stop reading until there is room.

Hundreds of connections may ask in one turn of the loop. `ottla.requests.turn.ms` after the first of
them was handled, their answers sent in between, further ones wait here until all else has had its
turn. What is prepared takes microseconds and does not wait.

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
    Expected,
    LastClient,
    Later,
)
from broker.requests.request_times import RequestTimes
from broker.security.logins import Logins
from protocol.errors import ProtocolError
from protocol.frames.frame_memory import UNCOUNTED, Memory

ResponseParts = Bytes | Sequence[Bytes | FileSlice]
"""A whole response as it goes on the wire, its int32 size first: one piece, or parts in order.
It is the network's from then on, and must not be a view of the request's frame."""


@dataclass(slots=True, eq=False)
class ConnectionContext:
    """What handlers may know of a connection."""

    connection_id: str
    """Kafka's form: local address, remote address, processor, number."""
    listener_name: str
    security_protocol: str
    client_host: str
    client_port: int
    principal: str = ANONYMOUS
    """Who it is; nobody in particular until it has authenticated."""
    token_authenticated: bool = False
    """Whether it was a delegation token that logged in."""
    client_software_name: str = UNKNOWN_SOFTWARE
    """From ApiVersions v3 and above (KIP-511); noted by that API."""
    client_software_version: str = UNKNOWN_SOFTWARE
    closed: bool = False
    last: LastClient = field(default_factory=LastClient)
    times: RequestTimes | None = None
    """Of its requests; None: nobody asks how long they take."""
    logins: Logins | None = None
    """Of the listener; None: nobody is told of those who do not come in."""
    mute_ms: int = 0
    """For how long it is not read once the request under way is answered."""

    def throttled(self, wait_ms: int) -> None:
        """It has taken more than its quota: what it sends next waits at the socket."""
        self.mute_ms = wait_ms

    def take_mute_ms(self) -> int:
        """For how long it is not read from now on."""
        mute_ms, self.mute_ms = self.mute_ms, 0
        return mute_ms

    def refused(self, how: str, reason: str) -> None:
        """The client tries to come in as nobody can on this listener."""
        if self.logins is not None:
            self.logins.failure(self.connection_id, self.client_host, how, reason)

    def authenticated(self, principal: str, *, by_token: bool = False) -> None:
        """It is known who it is. `by_token`: by one of its delegation tokens (KIP-48)."""
        self.principal = principal
        self.token_authenticated = by_token

    def ended(self) -> None:
        """The connection is gone."""
        self.closed = True

    def runs_on(self, software_name: str, software_version: str) -> None:
        """The client has told what it runs on."""
        self.client_software_name = software_name
        self.client_software_version = software_version


class Answered(Protocol):
    """Whoever has a request under way."""

    def keep(self, frame: memoryview) -> memoryview:
        """Return the frame of the request under way, or a copy, which is good until its answer."""

    def fail(self, error: BaseException) -> None:
        """Close at once: the peer's bytes are wrong, or handling them went wrong."""

    def answer(self, parts: ResponseParts | None) -> None:
        """Send the response of the request under way; None: there is none."""

    def close_after_answers(self, last: ResponseParts | None = None) -> None:
        """Close once what has been answered is sent, and `last`, an answer or a part of one."""


class Requester(Answered, Protocol):
    """A connection, as the channel sees it."""

    context: ConnectionContext

    def later(self) -> Responder:
        """The way back of the request that is tried at once: its answer comes later."""

    def leaves_queue(self) -> None:
        """The request that waited in the queue has its handler now."""

    def handled(self) -> None:
        """That handler has returned."""

    def resume(self) -> None:
        """The channel has room again: go on reading and offering."""

    def flush(self) -> None:
        """Send what was answered while another connection's request was handled."""


class Responder:
    """The way back for one request: call it once, now or later. Further calls are ignored."""

    __slots__ = ("_requester",)

    def __init__(self, requester: Answered) -> None:
        self._requester: Answered | None = requester

    def __call__(self, parts: ResponseParts | None) -> None:
        """Send the response; None if the request has none (acks=0)."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.answer(parts)

    def last(self, data: bytes) -> None:
        """Send these bytes, a response or a part of one, and close the connection."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.close_after_answers(data)

    def keep(self, frame: memoryview) -> memoryview:
        """Return the request's frame, or a copy of it, to be read until the request is answered."""
        return frame if self._requester is None else self._requester.keep(frame)

    def fail(self, error: BaseException) -> None:
        """Close the connection at once: its bytes are wrong, or handling them went wrong."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.fail(error)

    def close(self) -> None:
        """Close the connection instead of answering, after earlier answers have been sent."""
        requester = self._requester
        if requester is not None:
            self._requester = None
            requester.close_after_answers()


class _Kept:
    """The answer to a request that is answered during the call, in one piece."""

    whole = b""

    def answer(self, parts: ResponseParts | None) -> None:
        assert isinstance(parts, (bytes, bytearray, memoryview)), "an answer in parts, or none"
        self.whole = bytes(parts)

    def keep(self, frame: memoryview) -> memoryview:
        raise ProtocolError(f"a request of {len(frame)} bytes before the login is too long")

    def fail(self, error: BaseException) -> None:
        raise error

    def close_after_answers(self, last: ResponseParts | None = None) -> None:
        raise ProtocolError("the answer cannot be written")


Handle = Callable[[ConnectionContext, memoryview, Responder], None]
"""Handles one frame, answering through the responder. The frame is good during the call only; for
longer where its buffer has more than `protocol.frames.framing.KEPT_BYTES`. May raise ProtocolError:
the connection is closed."""


HandleAtOnce = Callable[[ConnectionContext, memoryview, Later], Answer | None]
"""The answer to one frame, empty where there is to be none, or where it comes later; None where
nothing was done, and `Handle` is to be called."""


Expect = Callable[[ConnectionContext, memoryview], Expected | None]
"""Prepares for a frame like the last one, whose bytes, its size first, lie where the next one's
will; None where nothing can be prepared."""


def never_at_once(_context: ConnectionContext, _frame: memoryview, _later: Later) -> Answer | None:
    """Where each request goes the usual way."""
    return None


def never_expected(_context: ConnectionContext, _message: memoryview) -> Expected | None:
    """The same."""
    return None


def no_time() -> float:
    """The clock where requests may take as long as they like."""
    return 0.0


class HandlerSlots(Protocol):
    """The pool whose jobs hold handler slots (`broker.loop.scheduler.BlockingPool`)."""

    size: int
    outstanding: int
    on_job_done: Callable[[], None] | None


_RESUMED_PER_TURN = 64


class RequestChannel:
    """The queue and its slots: see the module. All calls on the loop's thread."""

    def __init__(
        self,
        handle: Handle,
        slots: HandlerSlots,
        queued_max_requests: int,
        call_soon: Callable[[Callable[[], None]], object],
        at_once: HandleAtOnce = never_at_once,
        expect: Expect = never_expected,
        memory: Memory = UNCOUNTED,
        turn_s: float = math.inf,
        clock_s: Callable[[], float] = no_time,
    ) -> None:
        """`memory` counts what waits in the queue. After `turn_s` of requests by the clock, the
        loop does all else before the next one."""
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
        """When it has been the turn of requests for long enough; None: none was handled yet."""
        # A connection has one request under way at most.
        self._queue: dict[Requester, memoryview] = {}
        self._stalled: dict[Requester, None] = {}
        self._drain_scheduled = False
        self._flush_scheduled = False
        self.answered: deque[Requester] = deque()
        """Connections that a handler answered while it served another one."""
        self.handling = False
        """Whether a handler is on the stack: answers of other connections are sent after it."""
        slots.on_job_done = self._slot_may_be_free

    # --- for metrics ---------------------------------------------------------------------------

    @property
    def queue_size(self) -> int:
        """Requests that wait for a handler slot: Kafka's RequestQueueSize."""
        return len(self._queue)

    @property
    def busy_slots(self) -> int:
        """Handler slots in use."""
        return min(self._slots.outstanding, self._slots.size) + self.handling

    # --- for connections -----------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether connections must stop reading."""
        return len(self._queue) >= self._limit

    @property
    def slot_free(self) -> bool:
        """Whether a request could be handled at once."""
        if self._queue or self._slots.outstanding >= self._slots.size:
            return False
        return not self.turn_is_over

    @property
    def turn_is_over(self) -> bool:
        """Whether all else is to have its turn of the loop before the next request."""
        return self._turn_ends_s is not None and self._clock_s() >= self._turn_ends_s

    def handle_at_once(self, requester: Requester, frame: memoryview) -> Answer | None:
        """The answer to a request that needs no more than a slot; None where it goes the usual
        way, empty where it comes by what `requester.later` gave. `flush_answered` follows when it
        is sent: others may have been answered by it."""
        slots = self._slots
        if slots.outstanding >= slots.size or (self._queue and not self.turn_is_over):
            return None
        self.handling = True
        try:
            return self._at_once(requester.context, frame, requester.later)
        except ProtocolError as error:
            requester.fail(error)
            return b""
        except BaseException as error:
            requester.fail(error)  # as in handle_now
            raise
        finally:
            self.handling = False

    def expect(self, requester: Requester, message: memoryview) -> Expected | None:
        """Prepare for the requester's next request, which will lie in `message` as the last one
        does now, the frame's size first. None where that is not possible. Nothing else may be
        handled before it is."""
        return self._expect(requester.context, message) if self.slot_free else None

    def handle_expected(self, requester: Requester, expected: Expected) -> Answer | None:
        """The answer to a request that has come as it was expected; None where it goes the usual
        way. `settle` follows when it is sent."""
        try:
            return expected.answer()
        except ProtocolError as error:
            requester.fail(error)
            return b""
        except BaseException as error:
            requester.fail(error)  # as in handle_now
            raise

    def settle(self, expected: Expected) -> None:
        """What follows from a request whose answer was sent; others may be answered by it."""
        self.handling = True
        try:
            expected.settle()
        finally:
            self.handling = False
        self.flush_answered()

    def handle_now(self, requester: Requester, frame: memoryview) -> None:
        """Handle a request in a slot that is free; its answer may come during the call."""
        outermost = not self.handling
        self.handling = True
        self.begin_turn()
        try:
            self._handle(requester.context, frame, Responder(requester))
        except ProtocolError as error:
            requester.fail(error)
        except BaseException as error:
            # Nobody else knows that this connection waits in vain. The loop's handler decides
            # whether the process goes on.
            requester.fail(error)
            raise
        finally:
            self.handling = not outermost

    def begin_turn(self) -> None:
        """Have requests' turn of the loop begin with what is handled now, if none was before."""
        if self._turn_ends_s is None:
            self._turn_ends_s = self._clock_s() + self._turn_s
            self._drain_soon()

    def enqueue(
        self, requester: Requester, frame: memoryview, keep: Callable[[memoryview], memoryview]
    ) -> None:
        """Let a request wait for a slot, or for the next turn. What `keep` gives of `frame` is the
        queue's."""
        assert not self.full and requester not in self._queue
        self._memory.hold(len(frame))
        self._queue[requester] = keep(frame)
        if self._slots.outstanding < self._slots.size:
            self._drain_soon()

    def answer_now(self, context: ConnectionContext, frame: memoryview) -> bytes:
        """The answer to a request that needs no more than a look, of one who has not logged in.
        Raises ProtocolError."""
        kept = _Kept()
        self._handle(context, frame, Responder(kept))
        return kept.whole

    def stall(self, requester: Requester) -> None:
        """The queue is full: call `requester.resume` once there is room."""
        self._stalled[requester] = None

    def forget(self, requester: Requester) -> None:
        """A connection is gone: so are its stall and its place in the queue."""
        self._stalled.pop(requester, None)
        frame = self._queue.pop(requester, None)
        if frame is not None:
            self._memory.free(len(frame))
            if self._stalled:  # there is room for one of them
                self._drain_soon()

    def flush_answered(self) -> None:
        """Send those answers. Called when no handler is on the stack any more.

        A group of hundreds is answered at once: what does not leave within a turn's share leaves in
        the next ones.
        """
        if not self.answered or self._flush_scheduled:
            return
        until_s = self._clock_s() + self._turn_s
        while self.answered and not self._flush_scheduled:
            # Whoever goes on behind its answer calls this, too: what is taken here is not there.
            answered, self.answered = self.answered, deque()
            while answered:
                answered.popleft().flush()
                if answered and self._clock_s() >= until_s:
                    self._flush_later(answered)
                    return

    def _flush_later(self, answered: deque[Requester]) -> None:
        answered.extend(self.answered)
        self.answered = answered
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._call_soon(self._flush_rest)

    def _flush_rest(self) -> None:
        self._flush_scheduled = False
        self.flush_answered()

    # --- draining ------------------------------------------------------------------------------

    def _slot_may_be_free(self) -> None:
        self.flush_answered()
        if self._queue or self._stalled:
            self._drain()

    def _drain_soon(self) -> None:
        if not self._drain_scheduled:
            self._drain_scheduled = True
            self._call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """All else has had its turn."""
        self._drain_scheduled = False
        self._turn_ends_s = None
        self._drain()

    def _drain(self) -> None:
        """Handle waiting requests while slots are free, and in between let stalled connections go
        on."""
        slots, resumed, stalled_first = self._slots, 0, False
        while resumed < _RESUMED_PER_TURN and not self.turn_is_over:
            has_slot = self._queue and slots.outstanding < slots.size
            if self._stalled and not self.full and (stalled_first or not has_slot):
                # In the order in which they stopped. One that has no whole frame takes no room.
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
