"""The core of a connection: its states, and the steps that follow from each event.

Owns: the table of states, which frame is handled next, which answers wait to be sent, and whether
the connection reads. Never: a socket, a clock, or what a request means; `connection` is the shell
that moves the bytes.

The shell reports events (`received`, `answered`, `drained`, …), then calls `next` for the next step
and does it, until `next` returns None:

    >> received     bytes of two requests
    << frame        handle the first one
    >> answered     while it is handled
    << frame        handle the second one: its answer comes later
    << SEND         the first answer
    >> received     another request, while the second one is in progress
    << PAUSE        so nothing more is read
    >> answered     the answer to the second one, after some time
    << SEND, YIELD  the frames read meanwhile are handled in a later turn

A connection has one request in progress. It takes the next one when the kernel has taken the
answer. So the broker does not read from a client that does not read, and a connection holds at most
one request and one answer. Reading is paused only when bytes arrive that cannot be taken. So a
request answered at once, or a long poll without a further request, needs no call to the poller.
(Kafka's SocketServer mutes the channel for each request.)

In each state, reading is also paused while there is no memory for a frame that has begun
(`request_memory`). A connection that ends frees all its bytes at once.

Each rule is shown by a transcript in `tests/unit/broker/network/server/testdata/`.
"""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import TypeAlias

from broker.network.server.request_channel import RequestChannel, ResponseParts
from protocol.frames.framing import FrameReader

FRAMES_PER_TURN = 16
"""The requests of one connection that are handled before other connections have their turn."""
TURN_REQUEST_BYTES = 64 * 1024
"""The request bytes of one connection after which other connections have their turn."""
CORK_BYTES = 16 * 1024
"""The answer bytes that may be held back, to be sent with the answers to requests already read."""
INCOMPLETE_PROGRESS_BYTES = 1024 * 1024
"""The bytes of a large frame that a peer must send to restart `ottla.partial.frame.timeout.ms`."""


class ConnectionState(IntEnum):
    """The states of a connection, each with its action on arriving bytes and its transitions.

    AUTHENTICATING  The client of a listener with SASL has not authenticated yet.
      action: frames are taken and passed to the authenticator
      transition: the authenticator waits for a check → ASKING; the login succeeds → READY; the
              login fails → REFUSED; the turn of requests is over → HELD_UP

    HELD_UP  A frame of a login has arrived, and all other work has its turn.
      action: reading has paused
      transition: the channel has room → AUTHENTICATING

    ASKING  The authenticator waits for the result of a check.
      action: reading pauses
      transition: the result arrives → AUTHENTICATING

    REFUSED  The login was rejected. The client is answered after a delay.
      action: reading pauses
      transition: only to CLOSING, after that answer

    READY  No request is in progress, and the peer has taken all answers.
      action: frames are taken and handled
      transition: a frame is taken → PENDING; an answer is not sent whole → SENDING; the turn is
              over → YIELDED; the request channel is full → STALLED

    PENDING  A request is in progress. Answers to earlier ones may still be unsent.
      action: reading pauses
      transition: the request is answered → READY; it is answered and its client is throttled →
              MUTED; it was a login that is rejected → REFUSED

    SENDING  The peer does not take an answer.
      action: reading pauses
      transition: the peer has taken all → READY

    YIELDED  More frames have arrived, and other connections have their turn.
      action: reading has paused
      transition: the turn comes → READY; an answer is not sent whole → SENDING

    MUTED  The client has exceeded a quota (KIP-219). Its answer may still be unsent.
      action: reading pauses at once, so that further requests stay in the socket
      transition: the throttle time is over → READY

    STALLED  More frames have arrived, and the request channel is full.
      action: reading has paused
      transition: the channel has room → READY; an answer is not sent whole → SENDING

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


class ConnectionEvent(IntEnum):
    """The events that change a connection's state."""

    LOGIN_WAITS = auto()
    LOGIN_CHECKED = auto()
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
) = ConnectionState
_TAKEN, _ANSWERED = ConnectionEvent.TAKEN, ConnectionEvent.ANSWERED

TRANSITIONS: dict[ConnectionState, dict[ConnectionEvent, ConnectionState]] = {
    AUTHENTICATING: {
        ConnectionEvent.LOGIN_WAITS: ASKING,
        ConnectionEvent.AUTHENTICATED: READY,
        ConnectionEvent.REFUSED: REFUSED,
        ConnectionEvent.FULL: HELD_UP,
        ConnectionEvent.ENDED: CLOSING,
    },
    HELD_UP: {ConnectionEvent.ROOM: AUTHENTICATING, ConnectionEvent.ENDED: CLOSING},
    ASKING: {ConnectionEvent.LOGIN_CHECKED: AUTHENTICATING, ConnectionEvent.ENDED: CLOSING},
    REFUSED: {ConnectionEvent.ENDED: CLOSING},
    READY: {
        ConnectionEvent.TAKEN: PENDING,
        ConnectionEvent.BLOCKED: SENDING,
        ConnectionEvent.SPENT: YIELDED,
        ConnectionEvent.FULL: STALLED,
        ConnectionEvent.ENDED: CLOSING,
    },
    PENDING: {
        ConnectionEvent.ANSWERED: READY,
        ConnectionEvent.THROTTLED: MUTED,
        ConnectionEvent.REFUSED: REFUSED,
        ConnectionEvent.ENDED: CLOSING,
    },
    SENDING: {ConnectionEvent.DRAINED: READY, ConnectionEvent.ENDED: CLOSING},
    YIELDED: {
        ConnectionEvent.TURN: READY,
        ConnectionEvent.BLOCKED: SENDING,
        ConnectionEvent.ENDED: CLOSING,
    },
    STALLED: {
        ConnectionEvent.ROOM: READY,
        ConnectionEvent.BLOCKED: SENDING,
        ConnectionEvent.ENDED: CLOSING,
    },
    MUTED: {ConnectionEvent.UNMUTED: READY, ConnectionEvent.ENDED: CLOSING},
    CLOSING: {},
}
"""Every transition. An event that the state does not have changes nothing: it comes too late, or
twice."""
_FROM_READY = TRANSITIONS[READY]
_TAKES_FRAMES = (READY, AUTHENTICATING)
_NOTHING_UNDER_WAY = (AUTHENTICATING, HELD_UP, ASKING, REFUSED, READY, YIELDED, STALLED, MUTED)


class ShellStep(Enum):
    """The steps of the shell, beside handling a frame."""

    SEND = "send what `take_answers` gives; say `blocked` if not all of it leaves"
    PAUSE = "do not read"
    RESUME = "read again"
    YIELD = "call `turn` when others had theirs"
    STALL = "call `room` when the request channel has room"
    AWAIT_MEMORY = "call `memory_granted` when the frame that has begun may have its memory"
    AWAIT_REST = "a frame has begun: call `rest_awaited`, and watch `incomplete_until`"
    CLOSE = "close when what was sent has left"
    ABORT = "close now"


SEND = ShellStep.SEND

Todo: TypeAlias = ShellStep | memoryview
"""The next step of the shell: a `ShellStep`, or a frame to handle."""


class ConnectionCore:
    """The state machine of one connection. Callers may read `state`, and `paused`: reading is
    paused."""

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

    def __init__(
        self, reader: FrameReader, room: RequestChannel, state: ConnectionState = READY
    ) -> None:
        """Create the core in `state`: READY or AUTHENTICATING."""
        self.state = state
        self.paused = False
        self._reader = reader
        self._room = room
        self._out: list[ResponseParts] = []
        self._out_bytes = 0
        self._leaving = False  # it closes as soon as no request is in progress
        self._last_step: ShellStep | None = None  # the step that the state needs after all others
        self._surplus = False  # bytes arrived that cannot be taken
        self._waits_for_memory = False
        self._unsent = False  # an earlier answer is unsent, in a state that cannot become SENDING
        # The frames and bytes left of this turn; 0 outside of a turn.
        self._frames_left = 0
        self._bytes_left = 0
        # The time at which the incomplete frame began or last made enough progress; bytes since.
        self._incomplete_since_s: float | None = None
        self._progress_bytes = 0

    # --- events --------------------------------------------------------------------------------

    def received(self, nbytes: int) -> None:
        """Pass `nbytes` that arrived in its buffer to the reader. A turn begins if frames may be
        taken now; else reading will pause."""
        if self.state is CLOSING:
            return
        self._reader.buffer_updated(nbytes)
        self._progress_bytes += nbytes
        if self.state in _TAKES_FRAMES:
            self._begin_turn()
        else:
            self._surplus = True

    def add_login_answer(self, answer: ResponseParts) -> None:
        """Append the authenticator's answer to the answers that are to be sent."""
        self._out.append(answer)

    def login_waits(self) -> None:
        """Take no further frame until `login_checked`: the authenticator waits for a check."""
        self._move(ConnectionEvent.LOGIN_WAITS)

    def login_checked(self) -> bool:
        """Continue after the authenticator's check. Return False if the connection has ended."""
        if not self._move(ConnectionEvent.LOGIN_CHECKED):
            return False
        self._begin_turn()
        return True

    def authenticated(self) -> None:
        """Handle requests from now on: the client has authenticated."""
        self._move(ConnectionEvent.AUTHENTICATED)

    def refused(self) -> None:
        """Take no further frame: the login was rejected. After a delay the caller adds the answer,
        if there is one, by `add_login_answer`, and calls `leave`."""
        self._move(ConnectionEvent.REFUSED)

    def mark_in_progress(self) -> None:
        """Wait for the answer to a request that `next` did not return, or that is being handled."""
        self._move(_TAKEN)

    def answered(self, parts: ResponseParts | None, throttled: bool = False) -> bool:
        """Take the answer to the request in progress, None if it has no answer. If `throttled`,
        nothing is read until `unmuted`. Return False if no request is in progress."""
        event = ConnectionEvent.THROTTLED if throttled else _ANSWERED
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
        """Resume reading: the client's throttle time is over."""
        if self._move(ConnectionEvent.UNMUTED):
            self._begin_turn()
            self._stop_behind_unsent()

    def blocked(self) -> None:
        """Wait for the peer to take what was sent. A state with a request in progress stays, and
        its answer waits."""
        if self._move(ConnectionEvent.BLOCKED):
            self._last_step = None
        else:
            self._unsent = self.state in (PENDING, MUTED)

    def drained(self) -> None:
        """Continue with the next frames: the peer has taken all that was sent."""
        self._unsent = False
        if self._move(ConnectionEvent.DRAINED):
            self._begin_turn()

    def turn(self) -> None:
        """Begin another turn: other connections had theirs."""
        if self._move(ConnectionEvent.TURN):
            self._begin_turn()

    def room(self) -> None:
        """Continue with the next frames: the request channel has room."""
        if self._move(ConnectionEvent.ROOM):
            self._begin_turn()

    def memory_granted(self) -> None:
        """Continue with the frame that has begun: there is memory for it."""
        self._waits_for_memory = False
        self._reader.feed()

    def rest_awaited(self, now_s: float) -> None:
        """Start the peer's time to send the rest of a frame."""
        self._incomplete_since_s = now_s
        self._progress_bytes = 0

    def leave(self) -> None:
        """Take no further request; close when the one in progress is answered."""
        self._leaving = True

    def end_of_input(self) -> None:
        """End the connection, as Kafka does, because the peer will send no more."""
        self._end(ShellStep.CLOSE)

    def abort(self) -> bool:
        """Close now, after the answers given so far, as far as the kernel takes them. Return False
        if the connection had ended."""
        return self._end(ShellStep.ABORT)

    def lost(self) -> None:
        """End the connection without a further step, and drop its unsent answers: it was lost or
        closed."""
        self._out.clear()
        self._end(None)
        self._last_step = None

    # --- steps ---------------------------------------------------------------------------------

    def next(self) -> Todo | None:
        """Return the next step or frame, None to wait for an event. Raises ProtocolError if the
        size of a frame is invalid."""
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
                self._move(ConnectionEvent.SPENT)
                self._last_step = ShellStep.YIELD
            elif self._room.full:
                self._move(ConnectionEvent.FULL)
                self._last_step = ShellStep.STALL
            elif (frame := reader.next_frame()) is not None:
                self._frames_left -= 1
                self._bytes_left -= len(frame)
                self.state = _FROM_READY[_TAKEN]
                return frame
        if self._out:
            return SEND
        if self._leaving and self.state in _NOTHING_UNDER_WAY:
            self._end(ShellStep.CLOSE)
        if (step := self._adapt_reader()) is not None:
            return step
        self._frames_left = 0
        step, self._last_step = self._last_step, None
        return step

    def take_answers(self) -> list[ResponseParts]:
        """Return the answers to send, and remove them."""
        self._unsent = False
        out, self._out, self._out_bytes = self._out, [], 0
        return out

    def incomplete_until(self, now_s: float, timeout_s: float) -> float | None:
        """Return the time by which the peer must complete its frame. Return None if it has begun
        none, or is not read from.

        Every INCOMPLETE_PROGRESS_BYTES that it sends restart `timeout_s`.
        """
        since = self._incomplete_since_s
        if since is None or self.paused or self.state is CLOSING or not self._reader.in_progress:
            return None
        if self._progress_bytes >= INCOMPLETE_PROGRESS_BYTES:
            self.rest_awaited(now_s)
            since = now_s
        return since + timeout_s

    # --- inside --------------------------------------------------------------------------------

    def _move(self, event: ConnectionEvent) -> bool:
        """Follow the transition of `event`; return False if the state has none for it."""
        state = TRANSITIONS[self.state].get(event)
        if state is None:
            return False
        self.state = state
        return True

    def _end(self, step: ShellStep | None) -> bool:
        """End the connection with `step`, and close the reader. Return False if the connection had
        ended before."""
        if not self._move(ConnectionEvent.ENDED):
            return False
        self._last_step = step
        self._reader.close()
        return True

    def _stop_behind_unsent(self) -> None:
        """Move to SENDING if an earlier answer is still unsent. If more answers are to be sent,
        sending them reports it."""
        if self._unsent and not self._out:
            self._move(ConnectionEvent.BLOCKED)

    def _frame_of_login(self) -> memoryview | None:
        """Return the next frame of a client that has not authenticated, None if there is no whole
        frame or the turn of requests is over."""
        if self._room.turn_is_over:
            self._move(ConnectionEvent.FULL)
            self._last_step = ShellStep.STALL
            return None
        return self._reader.next_frame()

    def _give_buffer_back(self) -> None:
        """Lend a large buffer to the request under way; without such a request, keep no buffer."""
        if self.state is not PENDING:
            self._reader.release()
        elif self._reader.is_large:
            self._reader.lend()

    def _begin_turn(self) -> None:
        """Allow FRAMES_PER_TURN frames and TURN_REQUEST_BYTES of requests from now on."""
        self._frames_left = FRAMES_PER_TURN
        self._bytes_left = TURN_REQUEST_BYTES

    def _adapt_reader(self) -> ShellStep | None:
        """Adapt the reader to the state if no frame is taken. Return the step needed, or None."""
        reader, ready = self._reader, self.state in _TAKES_FRAMES
        if self.paused:
            if ready and not reader.starved and not reader.has_unread:
                self.paused = False
                self._incomplete_since_s = None  # the peer could not send more
                reader.attach()
                return ShellStep.RESUME
        elif (
            reader.starved
            or (not ready and (self._surplus or reader.has_unread))
            or self.state is MUTED
        ):
            self.paused, self._surplus = True, False
            reader.detach()
            return ShellStep.PAUSE
        if reader.starved and not self._waits_for_memory:
            self._waits_for_memory = True
            return ShellStep.AWAIT_MEMORY
        if reader.keeps_too_much:
            self._give_buffer_back()
        if ready:
            if not reader.filled:
                self._incomplete_since_s = None
            elif self._incomplete_since_s is None:
                return ShellStep.AWAIT_REST
        return None
