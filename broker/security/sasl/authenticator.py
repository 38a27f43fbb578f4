"""The server's half of SASL on one connection: frames in, answers out, and at last a principal.

Owns: the states, what may be said in each of them, and how long a login is good (KIP-368). Never:
a socket, the clock, or a mechanism's own messages.

The network gives it each frame that it `takes`, which until the login is complete are all of them:

    >> ApiVersions           may come first, and once
    >> SaslHandshake v1      names the mechanism
    >> SaslAuthenticate      as often as it needs; the last answer tells how long that is good
    >> Produce …             not taken: it is for the broker's APIs
    >> SaslHandshake v1      taken where logins end: the client logs in again, as the same one
    >> SaslAuthenticate      taken, since a login is under way

Where a mechanism has to ask somebody else, `received` gives its Question; `told` has the answer
to the frame then, and meanwhile no other frame comes.

After SaslHandshake v0 (KIP-43) the tokens come as frames without a header. Whatever does not belong
ends the connection: `SaslFailed` says with which answer. What no state has a place for is answered
in its own shape with ILLEGAL_SASL_STATE, if a mechanism has been named; before, it is not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import partial
from typing import NoReturn, TypeAlias

from broker.config.security_settings import MechanismSettings, SaslSettings
from broker.security.sasl.server_mechanism import (
    NewServerMechanism,
    Question,
    SaslRefused,
    ServerMechanism,
)
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import (
    decode,
    encode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.message import Message
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from protocol.primitives import StringTooLong

MIN_AGAIN_MS = 1_000
"""A login that follows another one sooner is out of place, as in Kafka."""

REQUEST_BYTES_MAX = 8 * 1024
"""A longer request is no part of a login, except SaslAuthenticate, whose tokens may be long."""

_SIZE_BYTES = 4
_ERROR_CODE = slice(4, 6)
"""Of an answer to ApiVersions, in all its versions."""
_HANDSHAKE = int(ApiKey.SASL_HANDSHAKE)
_SHOWN_LETTERS = 64


class State(IntEnum):
    """The states. Each: what is taken (action), which event leads where.

    INITIAL  Nothing has come, or an ApiVersions that was answered with an error.
      action: ApiVersions and SaslHandshake
      transition: ApiVersions is answered → VERSIONED; SaslHandshake v1 → TOKENS, v0 → BARE_TOKENS

    VERSIONED  The client knows our versions.
      action: SaslHandshake
      transition: SaslHandshake v1 → TOKENS, v0 → BARE_TOKENS

    TOKENS  A mechanism is named.
      action: SaslAuthenticate
      transition: the mechanism is complete → SERVING

    BARE_TOKENS  A mechanism is named by SaslHandshake v0.
      action: frames without a header
      transition: the mechanism is complete → SERVING

    SERVING  The login is complete.
      action: SaslHandshake, if the login ends some time
      transition: SaslHandshake v1 → TOKENS, v0 → BARE_TOKENS; of another mechanism → MISLED

    MISLED  Who logs in again does so by another mechanism.
      action: nothing; the next frame ends the connection
      transition: that frame → FAILED

    FAILED  The connection ends. Every state leads here.
      action: nothing
      transition: none
    """

    INITIAL = auto()
    VERSIONED = auto()
    TOKENS = auto()
    BARE_TOKENS = auto()
    SERVING = auto()
    MISLED = auto()
    FAILED = auto()


class Event(IntEnum):
    """What leads from state to state."""

    VERSIONS = auto()
    HANDSHAKE = auto()
    HANDSHAKE_V0 = auto()
    OTHER_MECHANISM = auto()
    COMPLETE = auto()
    FAILURE = auto()


INITIAL, VERSIONED, TOKENS, BARE_TOKENS, SERVING, MISLED, FAILED = State

TRANSITIONS: dict[State, dict[Event, State]] = {
    INITIAL: {
        Event.VERSIONS: VERSIONED,
        Event.HANDSHAKE: TOKENS,
        Event.HANDSHAKE_V0: BARE_TOKENS,
        Event.FAILURE: FAILED,
    },
    VERSIONED: {
        Event.HANDSHAKE: TOKENS,
        Event.HANDSHAKE_V0: BARE_TOKENS,
        Event.FAILURE: FAILED,
    },
    TOKENS: {Event.COMPLETE: SERVING, Event.FAILURE: FAILED},
    BARE_TOKENS: {Event.COMPLETE: SERVING, Event.FAILURE: FAILED},
    SERVING: {
        Event.HANDSHAKE: TOKENS,
        Event.HANDSHAKE_V0: BARE_TOKENS,
        Event.OTHER_MECHANISM: MISLED,
        Event.FAILURE: FAILED,
    },
    MISLED: {Event.FAILURE: FAILED},
    FAILED: {Event.FAILURE: FAILED},
}
"""Every transition; an event without one is a bug of ours."""


PrincipalOf: TypeAlias = Callable[[str, str], str]
"""Mechanism and name → `Type:name`."""


def _user(_mechanism: str, name: str) -> str:
    return f"User:{name}"


def _dotted(principal: str) -> str:
    """As Kafka writes it here: `User.alice`."""
    return principal.replace(":", ".", 1)


class SaslFailed(Exception):
    """The connection is to be closed."""

    def __init__(self, reason: str, answer: bytes | None, *, delayed: bool, again: bool) -> None:
        """`reason`: one line for the log, without a secret.
        `answer`: a frame without its size that leaves before the close.
        `delayed`: answer and close come after `connection.failed.authentication.delay.ms`.
        `again`: it was one who had logged in before.
        """
        super().__init__(reason)
        self.reason = reason
        self.answer = answer
        self.delayed = delayed
        self.again = again


@dataclass(frozen=True, slots=True)
class _Header:
    """Of a request."""

    api: ApiKey
    version: int
    correlation_id: int
    end: int
    """Of its first part; in flexible versions tagged fields follow."""


class SaslAuthenticator:
    """One connection: see the module. To be read only: `state`, `principal`, `token_authenticated`,
    `mechanism`, `session_end_ms`."""

    __slots__ = (
        "_again_ms",
        "_answer_api_versions",
        "_asked",
        "_new_mechanism",
        "_other",
        "_principal_of",
        "_refusal",
        "_server",
        "_settings",
        "frame_bytes_max",
        "mechanism",
        "principal",
        "session_end_ms",
        "state",
        "token_authenticated",
    )

    def __init__(
        self,
        sasl: SaslSettings,
        new_mechanism: NewServerMechanism,
        answer_api_versions: Callable[[memoryview], bytes],
        refusal: Callable[[int, Message, ErrorCode], Message | None],
        principal_of: PrincipalOf = _user,
    ) -> None:
        """`answer_api_versions`: a request frame in, the answer's frame out, both without size.
        `refusal`: what an API (by its key) answers where the whole request has that error, None
        where it answers nothing. Both may raise ProtocolError. `principal_of` may raise
        SaslRefused.
        """
        self.state = INITIAL
        self.principal: str | None = None
        """As `User:<name>`, once the login is complete."""
        self.token_authenticated = False
        """Whether it was a delegation token that logged in."""
        self.mechanism: str | None = None
        """What it is, or was, done by."""
        self.session_end_ms: int | None = None
        """When the login ends, on the clock of `now_ms`; None: it does not."""
        self.frame_bytes_max = sasl.server_max_receive_bytes
        """A longer frame ends the connection while the login is not complete."""
        self._settings: Mapping[str, MechanismSettings] = {one.name: one for one in sasl.mechanisms}
        self._new_mechanism = new_mechanism
        self._answer_api_versions = answer_api_versions
        self._refusal = refusal
        self._principal_of = principal_of
        self._server: ServerMechanism | None = None
        # The token whose answer waits for somebody: its request, None where it came bare.
        self._asked: tuple[_Header | None, Callable[[object, int], bytes | Question]] | None = None
        self._other = ""  # the mechanism that was named for another login, and is not `mechanism`
        self._again_ms: int | None = None  # when the last login that followed another began

    @property
    def complete(self) -> bool:
        """Whether requests are for the broker's APIs."""
        return self.state is SERVING

    @property
    def is_bare(self) -> bool:
        """Whether the next frame is a token without a header."""
        return self.state is BARE_TOKENS

    def takes(self, frame: memoryview, now_ms: int) -> bool:
        """Whether this frame, without its size, is for `received` and not for the broker's APIs."""
        if self.state is not SERVING:
            return True
        if self.session_end_ms is None or int.from_bytes(frame[:2]) != _HANDSHAKE:
            return False
        return self._again_ms is None or now_ms - self._again_ms >= MIN_AGAIN_MS

    def expired(self, now_ms: int) -> bool:
        """Whether the login has ended. Then the next frame that is not taken is answered by a
        close."""
        return self.session_end_ms is not None and now_ms > self.session_end_ms

    def received(self, frame: memoryview, now_ms: int) -> bytes | Question:
        """The answer to a frame; both without size. Raises SaslFailed, after which it is over.
        After a Question comes `told`, and no frame before it."""
        assert self._asked is None, "a frame came while its predecessor's answer waits"
        try:
            if self.state in (INITIAL, VERSIONED, SERVING):
                return self._begin(frame, now_ms)
            if self.state is TOKENS:
                return self._authenticate(frame, now_ms)
            if self.state is BARE_TOKENS:
                return self._evaluate(None, bytes(frame), now_ms)
        except (ProtocolError, StringTooLong) as error:
            self._fail(f"Malformed frame during SASL authentication: {error}")
        if self.state is MISLED:
            self._fail(
                f"SASL mechanism '{self._other}' requested by client is not supported for "
                f"re-authentication of mechanism '{self.mechanism}'",
                delayed=True,
            )
        self._fail("The SASL authentication has failed before")

    def told(self, outcome: object, now_ms: int) -> bytes | Question:
        """As `received`, with what came of the Question: its job's result, or the exception."""
        assert self._asked is not None, "nothing was asked"
        (header, go_on), self._asked = self._asked, None
        try:
            return self._answer(header, partial(go_on, outcome, now_ms), now_ms)
        except (ProtocolError, StringTooLong) as error:
            self._fail(f"The answer to a SASL token cannot be written: {error}")

    def too_long(self, size: int) -> SaslFailed:
        """What ends the connection where a frame of that size is announced."""
        self._move(Event.FAILURE)
        reason = f"Frame of {size} bytes during SASL authentication; {self.frame_bytes_max} may be"
        return SaslFailed(reason, None, delayed=True, again=self._again)

    # --- which mechanism ------------------------------------------------------------------------

    def _begin(self, frame: memoryview, now_ms: int) -> bytes:
        header = _read_header(frame)
        if header.api is ApiKey.API_VERSIONS and self.state is not SERVING:
            _refuse_long(frame, header)
            return self._tell_versions(frame)
        if header.api is not ApiKey.SASL_HANDSHAKE:
            self._fail(f"Unexpected Kafka request of type {header.api.name} during SASL handshake.")
        request = _read_body(frame, header)
        assert isinstance(request, SaslHandshakeRequest)
        return self._handshake(header, request.mechanism, now_ms)

    def _tell_versions(self, frame: memoryview) -> bytes:
        if self.state is not INITIAL:
            self._fail("Unexpected Kafka request of type API_VERSIONS during SASL handshake.")
        answer = self._answer_api_versions(frame)
        # A client that is too new asks again, in a version of ours (KIP-511).
        if not any(answer[_ERROR_CODE]):
            self._move(Event.VERSIONS)
        return answer

    def _handshake(self, header: _Header, name: str, now_ms: int) -> bytes:
        again = self.state is SERVING
        names = list(self._settings)
        if name not in self._settings:
            unsupported = int(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
            answer = _frame(SaslHandshakeResponse(unsupported, names), header)
            reason = f"Unsupported SASL mechanism {_shown(name)}"
            if again:
                self._fail(reason)  # as Kafka: without an answer
            self._fail(reason, answer, delayed=True)
        if again:
            self._again_ms = now_ms
        if again and name != self.mechanism:
            self._other = name
            self._move(Event.OTHER_MECHANISM)
        else:
            self.mechanism = name
            self._server = self._new_mechanism(name)
            self._move(Event.HANDSHAKE if header.version else Event.HANDSHAKE_V0)
        return _frame(SaslHandshakeResponse(0, names), header)

    # --- its tokens -----------------------------------------------------------------------------

    def _authenticate(self, frame: memoryview, now_ms: int) -> bytes | Question:
        header = _read_header(frame)
        if header.api is not ApiKey.SASL_AUTHENTICATE:
            self._refuse_other(header, frame)
        request = _read_body(frame, header)
        assert isinstance(request, SaslAuthenticateRequest)
        return self._evaluate(header, bytes(request.auth_bytes), now_ms)

    def _evaluate(self, header: _Header | None, token: bytes, now_ms: int) -> bytes | Question:
        server = self._server
        assert server is not None, "tokens come after a handshake"
        return self._answer(header, partial(server.evaluate, token, now_ms), now_ms)

    def _answer(
        self, header: _Header | None, step: Callable[[], bytes | Question], now_ms: int
    ) -> bytes | Question:
        """What the step of the mechanism comes to; without a header, it is not put into a frame."""
        try:
            token = step()
            if self._server is not None and self._server.complete:
                self._log_in(self._server, now_ms)
        except SaslRefused as refused:
            text = self._text_of(refused)
            answer = None
            if header is not None:
                failed = int(ErrorCode.SASL_AUTHENTICATION_FAILED)
                answer = _frame(SaslAuthenticateResponse(failed, text), header)
            self._fail(_logged(refused, text), answer, delayed=True)
        if isinstance(token, Question):
            self._asked = header, token.go_on
            return token
        if header is None:
            return token
        response = SaslAuthenticateResponse(auth_bytes=token)
        if self.state is SERVING and self.session_end_ms is not None:
            response.session_lifetime_ms = self.session_end_ms - now_ms
        return _frame(response, header)

    def _log_in(self, server: ServerMechanism, now_ms: int) -> None:
        assert self.mechanism is not None
        principal = self._principal_of(self.mechanism, server.principal_name)
        if self.principal is not None and self.principal != principal:
            raise SaslRefused(
                "Cannot change principals during re-authentication from "
                f"{_dotted(self.principal)}: {_dotted(principal)}"
            )
        self.principal = principal
        self.token_authenticated = server.by_token
        self._server = None
        self.session_end_ms = self._end_of(server, now_ms)
        self._move(Event.COMPLETE)

    def _end_of(self, server: ServerMechanism, now_ms: int) -> int | None:
        """The first of: what the listener allows, and what the client showed."""
        assert self.mechanism is not None
        ends = []
        if (allowed_ms := self._settings[self.mechanism].max_reauth_ms) > 0:
            ends.append(now_ms + allowed_ms)
        if server.expires_at_ms is not None:
            ends.append(max(server.expires_at_ms, now_ms))
        return min(ends, default=None)

    # --- what does not belong -------------------------------------------------------------------

    @property
    def _again(self) -> bool:
        return self.principal is not None

    def _text_of(self, refused: SaslRefused) -> str:
        if refused.text:
            return refused.text
        what = "re-authentication" if self._again else "authentication"
        return (
            f"Authentication failed during {what} due to invalid credentials "
            f"with SASL mechanism {self.mechanism}"
        )

    def _refuse_other(self, header: _Header, frame: memoryview) -> NoReturn:
        """A request that is not SaslAuthenticate, in its own shape."""
        reason = f"Unexpected Kafka request of type {header.api.name} during SASL authentication."
        if self._server is not None and self._server.refusal:
            reason += f" It had been told that it is refused: {self._server.refusal}"
        request = _read_body(frame, header)
        illegal = ErrorCode.ILLEGAL_SASL_STATE
        response: Message | None
        if header.api is ApiKey.SASL_HANDSHAKE:
            response = SaslHandshakeResponse(int(illegal))
        else:
            response = self._refusal(header.api, request, illegal)
        answer = None if response is None else _frame(response, header)
        self._fail(reason, answer, delayed=answer is not None)

    def _fail(self, reason: str, answer: bytes | None = None, *, delayed: bool = False) -> NoReturn:
        self._move(Event.FAILURE)
        raise SaslFailed(reason, answer, delayed=delayed, again=self._again)

    def _move(self, event: Event) -> None:
        self.state = TRANSITIONS[self.state][event]


def _read_header(frame: memoryview) -> _Header:
    """Raises ProtocolError, also for an API that there is not."""
    api_key, version, correlation_id, _, end = read_request_header(frame)
    try:
        return _Header(ApiKey(api_key), version, correlation_id, end)
    except ValueError:
        raise ProtocolError(f"API key {api_key} is not served") from None


def _read_body(frame: memoryview, header: _Header) -> Message:
    """The request. Raises ProtocolError, also for a version that there is not."""
    _refuse_long(frame, header)
    message = messages_of(header.api).request
    if not message.MIN_VERSION <= header.version <= message.MAX_VERSION:
        raise ProtocolError(f"{header.api.name} version {header.version} is not served")
    flexible = header.version >= message.FLEXIBLE_FROM
    body = skip_header_tags(frame, header.end) if flexible else header.end
    request: Message = decode(message, frame, body, header.version)
    return request


def _refuse_long(frame: memoryview, header: _Header) -> None:
    """Refuse to look into a long request of a client that has not logged in. Raises
    ProtocolError."""
    if len(frame) > REQUEST_BYTES_MAX and header.api is not ApiKey.SASL_AUTHENTICATE:
        raise ProtocolError(
            f"{header.api.name} of {len(frame)} bytes before the login; {REQUEST_BYTES_MAX} may be"
        )


def _frame(response: Message, header: _Header) -> bytes:
    return encode_response(response, header.version, header.correlation_id).joined()[_SIZE_BYTES:]


def _logged(refused: SaslRefused, told: str) -> str:
    """What the peer was told, and why where that says less."""
    return f"{told}: {refused.reason}" if refused.reason else told


def _shown(name: str) -> str:
    """A peer's text in a line of the log."""
    return ascii(name if len(name) <= _SHOWN_LETTERS else f"{name[:_SHOWN_LETTERS]}…")
