"""The core of a connection: its states, and what is to be done when something happens to it.

Owns: the table of states, which frame is handled next, which answers wait to be sent, and whether
the connection reads. Never: a socket, a clock, or what a request means; `connection` is the shell
that moves the bytes.

The shell tells what has happened (`received`, `answered`, `drained`, …), then asks `next` what to
do and does it, until `next` has nothing more:

    >> received     bytes of two requests
    << frame        handle the first one
    >> answered     while it is handled
    << frame        handle the second one: its answer comes later
    << SEND         the first answer
    >> received     the peer asks for more than one thing at a time
    << PAUSE        so nothing more is read
    >> answered     the second one, whenever it comes
    << SEND, YIELD  what has been read meanwhile has its turn soon

A connection has one request under way. It takes the next one when the answer has gone to the
kernel: a slow reader is not read from, and what a connection holds is bounded by one request and
one answer. Reading is paused only when bytes arrive that cannot be taken, so a request answered at
once, or a long poll with nothing behind it, costs no call to the poller. (Kafka's SocketServer
mutes the channel for each request.)

Whatever the state, reading is also paused while there is no memory for a frame that has begun
(`request_memory`). A connection that ends lets go of all its bytes at once.

Each rule is shown by a transcript in `tests/unit/broker/network/server/testdata/`.
"""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import TypeAlias

from broker.network.server.request_channel import RequestChannel, ResponseParts
from protocol.frames.framing import FrameReader

FRAMES_PER_TURN = 16
"""Requests of one connection handled before others have their turn."""
TURN_REQUEST_BYTES = 64 * 1024
"""Request bytes after which others have their turn."""
CORK_BYTES = 16 * 1024
"""Answer bytes that may wait for the answers to further requests that are at hand."""
INCOMPLETE_PROGRESS_BYTES = 1024 * 1024
"""What a peer has to send of a large frame to get another `partial frame timeout`."""


class State(IntEnum):
    """The states. Each: what bytes that arrive lead to (action), which event leads where.

    AUTHENTICATING  A listener with SASL does not know yet who is there.
      action: frames are taken, and are the authenticator's
      transition: it has to ask somebody → ASKING; it is satisfied → READY; it refuses → REFUSED;
              requests have had their turn of the loop → HELD_UP

    HELD_UP  More of a login is there, and all else has its turn.
      action: reading has paused
      transition: the channel has room → AUTHENTICATING

    ASKING  The authenticator has asked somebody else about who logs in.
      action: reading pauses
      transition: it has its answer → AUTHENTICATING

    REFUSED  The authenticator has refused, and says so after a delay.
      action: reading pauses
      transition: none but to CLOSING, when that was said

    READY  No request is under way, and the peer has taken all answers.
      action: frames are taken and handled
      transition: a frame is taken → PENDING; an answer does not leave → SENDING; the turn is over
              → YIELDED; the request channel is full → STALLED

    PENDING  A request is under way. Answers to earlier ones may still be leaving.
      action: reading pauses
      transition: the request is answered → READY; the same, and its sender has to wait → MUTED; it
              was a login that is refused → REFUSED

    SENDING  The peer does not take an answer.
      action: reading pauses
      transition: it has taken all → READY

    YIELDED  More frames are there, and other connections have their turn.
      action: reading has paused
      transition: the turn comes → READY; an answer does not leave → SENDING

    MUTED  The client has taken more than its quota (KIP-219). Its answer may still be leaving.
      action: reading pauses at once, so that what it sends stays at the socket
      transition: its time is over → READY

    STALLED  More frames are there, and the request channel is full.
      action: reading has paused
      transition: the channel has room → READY; an answer does not leave → SENDING

    CLOSING  The connection ends; no further request is taken.
      action: bytes are dropped
      transition: none
    """

    AUTHENTICATING = auto()
    HELD_UP = auto()
    ASKING = auto()
    REFUSED = auto()
    READY = auto()
    PENDING = auto()
    SENDING = auto()
    YIELDED = auto()
    STALLED = auto()
    MUTED = auto()
    CLOSING = auto()


class Event(IntEnum):
    """What leads from state to state."""

    ASKED = auto()
    TOLD = auto()
    AUTHENTICATED = auto()
    REFUSED = auto()
    TAKEN = auto()
    ANSWERED = auto()
    THROTTLED = auto()
    UNMUTED = auto()
    BLOCKED = auto()
    DRAINED = auto()
    SPENT = auto()
    TURN = auto()
    FULL = auto()
    ROOM = auto()
    ENDED = auto()


# A look-up in the enum's class costs more than a comparison; these are on the hot path.
(
    AUTHENTICATING,
    HELD_UP,
    ASKING,
    REFUSED,
    READY,
    PENDING,
    SENDING,
    YIELDED,
    STALLED,
    MUTED,
    CLOSING,
) = State
_TAKEN, _ANSWERED = Event.TAKEN, Event.ANSWERED

TRANSITIONS: dict[State, dict[Event, State]] = {
    AUTHENTICATING: {
        Event.ASKED: ASKING,
        Event.AUTHENTICATED: READY,
        Event.REFUSED: REFUSED,
        Event.FULL: HELD_UP,
        Event.ENDED: CLOSING,
    },
    HELD_UP: {Event.ROOM: AUTHENTICATING, Event.ENDED: CLOSING},
    ASKING: {Event.TOLD: AUTHENTICATING, Event.ENDED: CLOSING},
    REFUSED: {Event.ENDED: CLOSING},
    READY: {
        Event.TAKEN: PENDING,
        Event.BLOCKED: SENDING,
        Event.SPENT: YIELDED,
        Event.FULL: STALLED,
        Event.ENDED: CLOSING,
    },
    PENDING: {
        Event.ANSWERED: READY,
        Event.THROTTLED: MUTED,
        Event.REFUSED: REFUSED,
        Event.ENDED: CLOSING,
    },
    SENDING: {Event.DRAINED: READY, Event.ENDED: CLOSING},
    YIELDED: {Event.TURN: READY, Event.BLOCKED: SENDING, Event.ENDED: CLOSING},
    STALLED: {Event.ROOM: READY, Event.BLOCKED: SENDING, Event.ENDED: CLOSING},
    MUTED: {Event.UNMUTED: READY, Event.ENDED: CLOSING},
    CLOSING: {},
}
"""Every transition. An event without one changes nothing: it comes too late, or again."""
_FROM_READY = TRANSITIONS[READY]
_TAKES_FRAMES = (READY, AUTHENTICATING)
_NOTHING_UNDER_WAY = (AUTHENTICATING, HELD_UP, ASKING, REFUSED, READY, YIELDED, STALLED, MUTED)


class Step(Enum):
    """What the shell is to do, beside handling a frame."""

    SEND = "send what `take_answers` gives; say `blocked` if not all of it leaves"
    PAUSE = "do not read"
    RESUME = "read again"
    YIELD = "call `turn` when others had theirs"
    STALL = "call `room` when the request channel has room"
    AWAIT_MEMORY = "call `memory_granted` when the frame that has begun may have its memory"
    AWAIT_REST = "a frame has begun: call `rest_awaited`, and watch `incomplete_until`"
    CLOSE = "close when what was sent has left"
    ABORT = "close now"


SEND = Step.SEND

Todo: TypeAlias = Step | memoryview
"""What is to be done: a step, or a frame that is to be handled."""


class ConnectionCore:
    """One connection: see the module. To be read only: `state`, and `paused`, whether it does not
    read."""

    __slots__ = (
        "_bytes_left",
        "_frames_left",
        "_incomplete_since_s",
        "_last_step",
        "_leaving",
        "_out",
        "_out_bytes",
        "_progress_bytes",
        "_reader",
        "_room",
        "_surplus",
        "_unsent",
        "_waits_for_memory",
        "paused",
        "state",
    )

    def __init__(self, reader: FrameReader, room: RequestChannel, state: State = READY) -> None:
        """`state`: READY, or AUTHENTICATING."""
        self.state = state
        self.paused = False
        self._reader = reader
        self._room = room
        self._out: list[ResponseParts] = []
        self._out_bytes = 0
        self._leaving = False  # it closes as soon as nothing is under way
        self._last_step: Step | None = None  # what the state asks for, when all else is done
        self._surplus = False  # bytes came that cannot be taken
        self._waits_for_memory = False
        self._unsent = False  # an earlier answer had not left when the state could not say so
        # What is left of this turn; nothing outside of one.
        self._frames_left = 0
        self._bytes_left = 0
        # The incomplete frame: since when it is one, or has made enough progress; what came since.
        self._incomplete_since_s: float | None = None
        self._progress_bytes = 0

    # --- what has happened ---------------------------------------------------------------------

    def received(self, nbytes: int) -> None:
        """So many bytes have come, into the reader's buffer."""
        if self.state is CLOSING:
            return
        self._reader.buffer_updated(nbytes)
        self._progress_bytes += nbytes
        if self.state in _TAKES_FRAMES:
            self._begin_turn()
        else:
            self._surplus = True

    def said(self, answer: ResponseParts) -> None:
        """The authenticator's answer to the frame that was taken."""
        self._out.append(answer)

    def asks(self) -> None:
        """The authenticator has an answer to the frame that was taken when it is `told`."""
        self._move(Event.ASKED)

    def told(self) -> bool:
        """The authenticator has its answer now. False: the connection has ended."""
        if not self._move(Event.TOLD):
            return False
        self._begin_turn()
        return True

    def authenticated(self) -> None:
        """It is known who is there: from now on requests are handled."""
        self._move(Event.AUTHENTICATED)

    def refused(self) -> None:
        """The authenticator has refused. Its answer, if there is one, leaves after a delay: then
        `said`, and `leave`."""
        self._move(Event.REFUSED)

    def under_way(self) -> None:
        """A request that was not taken here, or that is being handled, is answered later."""
        self._move(_TAKEN)

    def answered(self, parts: ResponseParts | None, throttled: bool = False) -> bool:
        """The answer to the request under way; None: it has none. `throttled`: nothing is read
        until it is `unmuted`. False: there is no request."""
        event = Event.THROTTLED if throttled else _ANSWERED
        state = TRANSITIONS[self.state].get(event)
        if state is None:
            return False
        self.state = state
        if self._reader.lent:
            self._reader.settle()
        if parts is not None:
            self._out.append(parts)
            if isinstance(parts, (bytes, bytearray, memoryview)):
                self._out_bytes += len(parts)
            else:
                self._out_bytes += CORK_BYTES
        if self._unsent:
            self._stop_behind_unsent()
        return True

    def unmuted(self) -> None:
        """The client has waited as long as it had to."""
        if self._move(Event.UNMUTED):
            self._begin_turn()
            self._stop_behind_unsent()

    def blocked(self) -> None:
        """What was sent has not left. A request under way keeps its state: its answer waits."""
        if self._move(Event.BLOCKED):
            self._last_step = None
        else:
            self._unsent = self.state in (PENDING, MUTED)

    def drained(self) -> None:
        """The peer has taken all that was sent."""
        self._unsent = False
        if self._move(Event.DRAINED):
            self._begin_turn()

    def turn(self) -> None:
        """Others had their turn."""
        if self._move(Event.TURN):
            self._begin_turn()

    def room(self) -> None:
        """The request channel has room."""
        if self._move(Event.ROOM):
            self._begin_turn()

    def memory_granted(self) -> None:
        """There is memory for the frame that has begun."""
        self._waits_for_memory = False
        self._reader.feed()

    def rest_awaited(self, now_s: float) -> None:
        """From now on the peer has its time to send the rest of a frame."""
        self._incomplete_since_s = now_s
        self._progress_bytes = 0

    def leave(self) -> None:
        """Take no further request; close when the one under way is answered."""
        self._leaving = True

    def end_of_input(self) -> None:
        """The peer will send no more: as in Kafka, that ends the connection."""
        self._end(Step.CLOSE)

    def abort(self) -> bool:
        """Close now. Answers given so far leave first, as far as the kernel takes them. False: it
        had ended."""
        return self._end(Step.ABORT)

    def lost(self) -> None:
        """The connection is gone, whoever closed it."""
        self._out.clear()
        self._end(None)
        self._last_step = None

    # --- what to do ----------------------------------------------------------------------------

    def next(self) -> Todo | None:
        """What to do now; None: wait for something to happen. Raises ProtocolError for a frame
        whose size cannot be."""
        reader = self._reader
        if (
            (self.state is READY or self.state is AUTHENTICATING)
            and reader.position != reader.end
            and self._out_bytes < CORK_BYTES
            and not self._leaving
            and not self._unsent
        ):
            if self.state is AUTHENTICATING:
                if (frame := self._frame_of_login()) is not None:
                    return frame
            elif not self._frames_left or self._bytes_left <= 0:
                self._move(Event.SPENT)
                self._last_step = Step.YIELD
            elif self._room.full:
                self._move(Event.FULL)
                self._last_step = Step.STALL
            elif (frame := reader.next_frame()) is not None:
                self._frames_left -= 1
                self._bytes_left -= len(frame)
                self.state = _FROM_READY[_TAKEN]
                return frame
        if self._out:
            return SEND
        if self._leaving and self.state in _NOTHING_UNDER_WAY:
            self._end(Step.CLOSE)
        if (step := self._mind_reader()) is not None:
            return step
        self._frames_left = 0
        step, self._last_step = self._last_step, None
        return step

    def take_answers(self) -> list[ResponseParts]:
        """What is to be sent."""
        self._unsent = False
        out, self._out, self._out_bytes = self._out, [], 0
        return out

    def incomplete_until(self, now_s: float, timeout_s: float) -> float | None:
        """When the peer must have sent the rest of its frame; None if it owes us nothing.

        Each time that it has sent INCOMPLETE_PROGRESS_BYTES, it gets `timeout_s` again.
        """
        since = self._incomplete_since_s
        if since is None or self.paused or self.state is CLOSING or not self._reader.in_progress:
            return None
        if self._progress_bytes >= INCOMPLETE_PROGRESS_BYTES:
            self.rest_awaited(now_s)
            since = now_s
        return since + timeout_s

    # --- inside --------------------------------------------------------------------------------

    def _move(self, event: Event) -> bool:
        state = TRANSITIONS[self.state].get(event)
        if state is None:
            return False
        self.state = state
        return True

    def _end(self, step: Step | None) -> bool:
        if not self._move(Event.ENDED):
            return False
        self._last_step = step
        self._reader.close()
        return True

    def _stop_behind_unsent(self) -> None:
        """What had not left while a request was under way stops the next one. Where there is more
        to send, that tells."""
        if self._unsent and not self._out:
            self._move(Event.BLOCKED)

    def _frame_of_login(self) -> memoryview | None:
        """Return the next frame before it is known who is there, if it is the turn of requests."""
        if self._room.turn_is_over:
            self._move(Event.FULL)
            self._last_step = Step.STALL
            return None
        return self._reader.next_frame()

    def _give_buffer_back(self) -> None:
        """Lend a large buffer to the request under way; where there is none, keep no buffer."""
        if self.state is not PENDING:
            self._reader.release()
        elif self._reader.is_large:
            self._reader.lend()

    def _begin_turn(self) -> None:
        self._frames_left = FRAMES_PER_TURN
        self._bytes_left = TURN_REQUEST_BYTES

    def _mind_reader(self) -> Step | None:
        """What leaves the reader fit for the state, when no frame is taken any more."""
        reader, ready = self._reader, self.state in _TAKES_FRAMES
        if self.paused:
            if ready and not reader.starved and not reader.has_unread:
                self.paused = False
                self._incomplete_since_s = None  # the peer could not go on
                reader.attach()
                return Step.RESUME
        elif (
            reader.starved
            or (not ready and (self._surplus or reader.has_unread))
            or self.state is MUTED
        ):
            self.paused, self._surplus = True, False
            reader.detach()
            return Step.PAUSE
        if reader.starved and not self._waits_for_memory:
            self._waits_for_memory = True
            return Step.AWAIT_MEMORY
        if reader.keeps_too_much:
            self._give_buffer_back()
        if ready:
            if not reader.filled:
                self._incomplete_since_s = None
            elif self._incomplete_since_s is None:
                return Step.AWAIT_REST
        return None
