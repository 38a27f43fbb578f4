"""The server's half of SASL on one connection: frames in, answers out, a principal at the end.

Owns the states, the requests that each state accepts, and the end of a login (KIP-368). Never
touches a socket, reads the clock, or parses a mechanism's own messages.

The network passes each frame for which `takes` is true. Before the login is complete, that is every
frame:

    >> ApiVersions           may come first, and once
    >> SaslHandshake v1      names the mechanism
    >> SaslAuthenticate      as many as the mechanism needs; the last answer has the lifetime
    >> Produce …             not taken: it is for the broker's APIs
    >> SaslHandshake v1      taken if logins end: the same principal re-authenticates
    >> SaslAuthenticate      taken, because a login is in progress

If a mechanism needs a blocking call, `received` returns that BlockingCall. `resume` takes the
result of the call and returns the answer to the frame; no other frame comes before that.

After SaslHandshake v0 (KIP-43) the tokens come as frames without a header. A frame that the state
does not accept ends the connection: `SaslFailed` has the last answer. After a mechanism was named,
that answer is the request's own response with ILLEGAL_SASL_STATE; before, there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import partial
from typing import NoReturn, TypeAlias

from broker.config.security_settings import MechanismSettings, SaslSettings
from broker.security.sasl.server_mechanism import (
    BlockingCall,
    NewServerMechanism,
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
"""The least time between two re-authentications, in milliseconds, as in Kafka."""

REQUEST_BYTES_MAX = 8 * 1024
"""The longest request of a login, except for SaslAuthenticate, whose tokens may be longer."""

_SIZE_BYTES = 4
_ERROR_CODE = slice(4, 6)
"""The error code's place in an answer to ApiVersions, in all versions."""
_HANDSHAKE = int(ApiKey.SASL_HANDSHAKE)
_SHOWN_LETTERS = 64


class LoginState(IntEnum):
    """The states of a login. Each has the frames that it accepts (action) and where they lead.

    INITIAL  No frame has come, or only an ApiVersions that was answered with an error.
      action: ApiVersions and SaslHandshake
      transition: ApiVersions is answered → VERSIONED; SaslHandshake v1 → TOKENS, v0 → BARE_TOKENS

    VERSIONED  The client knows the broker's API versions.
      action: SaslHandshake
      transition: SaslHandshake v1 → TOKENS, v0 → BARE_TOKENS

    TOKENS  A mechanism is named.
      action: SaslAuthenticate
      transition: the mechanism is complete → SERVING

    BARE_TOKENS  A mechanism is named by SaslHandshake v0.
      action: frames without a header
      transition: the mechanism is complete → SERVING

    SERVING  The login is complete.
      action: SaslHandshake, if the login has an end
      transition: SaslHandshake v1 → TOKENS, v0 → BARE_TOKENS; of another mechanism → MISLED

    MISLED  The client re-authenticates by another mechanism.
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


class LoginEvent(IntEnum):
    """The events that lead from state to state."""

    VERSIONS = auto()
    HANDSHAKE = auto()
    HANDSHAKE_V0 = auto()
    OTHER_MECHANISM = auto()
    COMPLETE = auto()
    FAILURE = auto()


INITIAL, VERSIONED, TOKENS, BARE_TOKENS, SERVING, MISLED, FAILED = LoginState

TRANSITIONS: dict[LoginState, dict[LoginEvent, LoginState]] = {
    INITIAL: {
        LoginEvent.VERSIONS: VERSIONED,
        LoginEvent.HANDSHAKE: TOKENS,
        LoginEvent.HANDSHAKE_V0: BARE_TOKENS,
        LoginEvent.FAILURE: FAILED,
    },
    VERSIONED: {
        LoginEvent.HANDSHAKE: TOKENS,
        LoginEvent.HANDSHAKE_V0: BARE_TOKENS,
        LoginEvent.FAILURE: FAILED,
    },
    TOKENS: {LoginEvent.COMPLETE: SERVING, LoginEvent.FAILURE: FAILED},
    BARE_TOKENS: {LoginEvent.COMPLETE: SERVING, LoginEvent.FAILURE: FAILED},
    SERVING: {
        LoginEvent.HANDSHAKE: TOKENS,
        LoginEvent.HANDSHAKE_V0: BARE_TOKENS,
        LoginEvent.OTHER_MECHANISM: MISLED,
        LoginEvent.FAILURE: FAILED,
    },
    MISLED: {LoginEvent.FAILURE: FAILED},
    FAILED: {LoginEvent.FAILURE: FAILED},
}
"""All transitions; an event that its state does not list is a bug of this module."""


PrincipalOf: TypeAlias = Callable[[str, str], str]
"""A function from mechanism and user name to a principal, `Type:name`."""


def _user(_mechanism: str, name: str) -> str:
    """Return the principal `User:<name>`, the same for every mechanism."""
    return f"User:{name}"


def _dotted(principal: str) -> str:
    """Return a principal as Kafka writes it in this error: `User.alice`."""
    return principal.replace(":", ".", 1)


class SaslFailed(Exception):
    """A failed login, which ends the connection.

    `reason` is one line for the log, without a secret. `answer` is a frame without its size prefix
    that is sent before the close; None: no answer. `delayed`: the answer and the close come after
    `connection.failed.authentication.delay.ms`. `again`: the client had logged in before on this
    connection.
    """

    def __init__(self, reason: str, answer: bytes | None, *, delayed: bool, again: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.answer = answer
        self.delayed = delayed
        self.again = again


@dataclass(frozen=True, slots=True)
class _Header:
    """The header of a request."""

    api: ApiKey
    version: int
    correlation_id: int
    end: int
    """The offset at which the client id ends; in flexible versions tagged fields follow."""


class SaslAuthenticator:
    """The server's half of SASL on one connection. Callers only read `state`, `principal`,
    `token_authenticated`, `mechanism` and `session_end_ms`."""

    __slots__ = (
        "_again_ms",
        "_answer_api_versions",
        "_pending",
        "_new_mechanism",
        "_other_name",
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
        """Begin in INITIAL.

        `answer_api_versions` takes a request's frame and returns the answer's frame, both without
        a size prefix. `refusal` returns the response of an API, by its key, that has this error
        for the whole request; None if the API sends no response. Both may raise ProtocolError.
        `principal_of` may raise SaslRefused.
        """
        self.state = INITIAL
        self.principal: str | None = None
        """The principal, `User:<name>`; None before the first login is complete."""
        self.token_authenticated = False
        """Whether the client logged in with a delegation token."""
        self.mechanism: str | None = None
        """The mechanism of the current or the last login; None before a handshake."""
        self.session_end_ms: int | None = None
        """The time at which the login ends, on the clock of `now_ms`; None: it has no end."""
        self.frame_bytes_max = sasl.server_max_receive_bytes
        """The longest frame before the login is complete; a longer one ends the connection."""
        self._settings: Mapping[str, MechanismSettings] = {
            mechanism.name: mechanism for mechanism in sasl.mechanisms
        }
        self._new_mechanism = new_mechanism
        self._answer_api_versions = answer_api_versions
        self._refusal = refusal
        self._principal_of = principal_of
        self._server: ServerMechanism | None = None
        # The token whose BlockingCall has no result yet: its request's header (None: a bare token)
        # and the function that continues with the result.
        self._pending: (
            tuple[_Header | None, Callable[[object, int], bytes | BlockingCall]] | None
        ) = None
        self._other_name = ""  # named in a re-authentication, and not `mechanism`
        self._again_ms: int | None = None  # the time of the last re-authentication's handshake

    @property
    def complete(self) -> bool:
        """Whether the login is complete, so that requests are for the broker's APIs."""
        return self.state is SERVING

    @property
    def is_bare(self) -> bool:
        """Whether the next frame is a token without a header."""
        return self.state is BARE_TOKENS

    def takes(self, frame: memoryview, now_ms: int) -> bool:
        """Return whether this frame, without its size prefix, is for `received` and not for the
        broker's APIs.

        During a login that is every frame. After it, only a SaslHandshake is, if the login has an
        end and MIN_AGAIN_MS have passed since the last re-authentication.
        """
        if self.state is not SERVING:
            return True
        if self.session_end_ms is None or int.from_bytes(frame[:2]) != _HANDSHAKE:
            return False
        return self._again_ms is None or now_ms - self._again_ms >= MIN_AGAIN_MS

    def expired(self, now_ms: int) -> bool:
        """Return whether the login has ended. If so, the next frame for which `takes` is false ends
        the connection."""
        return self.session_end_ms is not None and now_ms > self.session_end_ms

    def received(self, frame: memoryview, now_ms: int) -> bytes | BlockingCall:
        """Process a frame of the login and return the answer, both without a size prefix.

        If the mechanism needs a blocking call first, return that call; `resume` must come next,
        before any other frame. Raises SaslFailed, which ends the connection.
        """
        assert self._pending is None, "a frame came while its predecessor's answer waits"
        try:
            if self.state in (INITIAL, VERSIONED, SERVING):
                return self._answer_first(frame, now_ms)
            if self.state is TOKENS:
                return self._authenticate(frame, now_ms)
            if self.state is BARE_TOKENS:
                return self._evaluate(None, bytes(frame), now_ms)
        except (ProtocolError, StringTooLong) as error:
            self._fail(f"Malformed frame during SASL authentication: {error}")
        if self.state is MISLED:
            self._fail(
                f"SASL mechanism '{self._other_name}' requested by client is not supported for "
                f"re-authentication of mechanism '{self.mechanism}'",
                delayed=True,
            )
        self._fail("The SASL authentication has failed before")

    def resume(self, outcome: object, now_ms: int) -> bytes | BlockingCall:
        """Continue after a BlockingCall with the result of its job, or with the exception that the
        job raised. Return and raise as `received` does."""
        assert self._pending is not None, "nothing was asked"
        (header, continue_login), self._pending = self._pending, None
        try:
            return self._answer(header, partial(continue_login, outcome, now_ms), now_ms)
        except (ProtocolError, StringTooLong) as error:
            self._fail(f"The answer to a SASL token cannot be written: {error}")

    def too_long(self, size: int) -> SaslFailed:
        """Fail the login because the client announced a frame of `size` bytes. Return the failure,
        without raising it."""
        self._move(LoginEvent.FAILURE)
        reason = f"Frame of {size} bytes during SASL authentication; {self.frame_bytes_max} may be"
        return SaslFailed(reason, None, delayed=True, again=self._again)

    # --- the handshake --------------------------------------------------------------------------

    def _answer_first(self, frame: memoryview, now_ms: int) -> bytes:
        """Return the answer to ApiVersions or SaslHandshake. Raises SaslFailed for another request,
        and for ApiVersions after a login; ProtocolError for a malformed request."""
        header = _read_header(frame)
        if header.api is ApiKey.API_VERSIONS and self.state is not SERVING:
            _refuse_long(frame, header)
            return self._answer_versions(frame)
        if header.api is not ApiKey.SASL_HANDSHAKE:
            self._fail(f"Unexpected Kafka request of type {header.api.name} during SASL handshake.")
        request = _read_body(frame, header)
        assert isinstance(request, SaslHandshakeRequest)
        return self._handshake(header, request.mechanism, now_ms)

    def _answer_versions(self, frame: memoryview) -> bytes:
        """Return the answer to ApiVersions; if it has no error, the state becomes VERSIONED. Raises
        SaslFailed for a second ApiVersions after that."""
        if self.state is not INITIAL:
            self._fail("Unexpected Kafka request of type API_VERSIONS during SASL handshake.")
        answer = self._answer_api_versions(frame)
        # A newer client sends it again in a version that the broker has (KIP-511).
        if not any(answer[_ERROR_CODE]):
            self._move(LoginEvent.VERSIONS)
        return answer

    def _handshake(self, header: _Header, name: str, now_ms: int) -> bytes:
        """Answer SaslHandshake and begin its mechanism, in the state TOKENS or BARE_TOKENS. A
        re-authentication by another mechanism gets the same answer, but its next frame fails.

        Raises SaslFailed for an unknown mechanism; at a re-authentication, the client then gets no
        answer.
        """
        again = self.state is SERVING
        names = list(self._settings)
        if name not in self._settings:
            unsupported = int(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
            answer = _frame(SaslHandshakeResponse(unsupported, names), header)
            reason = f"Unsupported SASL mechanism {_shown(name)}"
            if again:
                self._fail(reason)  # as in Kafka, without an answer
            self._fail(reason, answer, delayed=True)
        if again:
            self._again_ms = now_ms
        if again and name != self.mechanism:
            self._other_name = name
            self._move(LoginEvent.OTHER_MECHANISM)
        else:
            self.mechanism = name
            self._server = self._new_mechanism(name)
            self._move(LoginEvent.HANDSHAKE if header.version else LoginEvent.HANDSHAKE_V0)
        return _frame(SaslHandshakeResponse(0, names), header)

    # --- the tokens -----------------------------------------------------------------------------

    def _authenticate(self, frame: memoryview, now_ms: int) -> bytes | BlockingCall:
        """Return the answer to SaslAuthenticate, or the blocking call that its mechanism needs
        first. Raises SaslFailed for another request or a rejected token, ProtocolError for a
        malformed request."""
        header = _read_header(frame)
        if header.api is not ApiKey.SASL_AUTHENTICATE:
            self._refuse_other(header, frame)
        request = _read_body(frame, header)
        assert isinstance(request, SaslAuthenticateRequest)
        return self._evaluate(header, bytes(request.auth_bytes), now_ms)

    def _evaluate(self, header: _Header | None, token: bytes, now_ms: int) -> bytes | BlockingCall:
        """Pass a client's token to the mechanism, and return the answer's frame or the blocking
        call that comes first. `header` is None for a token without a header. Raises SaslFailed if
        the mechanism rejects the token."""
        server = self._server
        assert server is not None, "tokens come after a handshake"
        return self._answer(header, partial(server.evaluate, token, now_ms), now_ms)

    def _answer(
        self, header: _Header | None, step: Callable[[], bytes | BlockingCall], now_ms: int
    ) -> bytes | BlockingCall:
        """Run a step of the mechanism and return the frame with its token; without a header, the
        bare token. If the mechanism is complete, log the client in.

        A BlockingCall is stored for `resume` and returned. Raises SaslFailed if the step rejects
        the login.
        """
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
        if isinstance(token, BlockingCall):
            self._pending = header, token.resume
            return token
        if header is None:
            return token
        response = SaslAuthenticateResponse(auth_bytes=token)
        if self.state is SERVING and self.session_end_ms is not None:
            response.session_lifetime_ms = self.session_end_ms - now_ms
        return _frame(response, header)

    def _log_in(self, server: ServerMechanism, now_ms: int) -> None:
        """Complete a login: set the principal, the session's end and the state SERVING.

        Raises SaslRefused if a re-authentication changes the principal.
        """
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
        self._move(LoginEvent.COMPLETE)

    def _end_of(self, server: ServerMechanism, now_ms: int) -> int | None:
        """Return the time at which the login ends: after `connections.max.reauth.ms` or when the
        client's token expires, whichever is first; None: the login has no end."""
        assert self.mechanism is not None
        ends = []
        if (allowed_ms := self._settings[self.mechanism].max_reauth_ms) > 0:
            ends.append(now_ms + allowed_ms)
        if server.expires_at_ms is not None:
            ends.append(max(server.expires_at_ms, now_ms))
        return min(ends, default=None)

    # --- failures -------------------------------------------------------------------------------

    @property
    def _again(self) -> bool:
        """Whether the client has logged in before on this connection."""
        return self.principal is not None

    def _text_of(self, refused: SaslRefused) -> str:
        """Return the error message for the client: the mechanism's own, or Kafka's usual text."""
        if refused.text:
            return refused.text
        step = "re-authentication" if self._again else "authentication"
        return (
            f"Authentication failed during {step} due to invalid credentials "
            f"with SASL mechanism {self.mechanism}"
        )

    def _refuse_other(self, header: _Header, frame: memoryview) -> NoReturn:
        """Fail the login because of a request that is not SaslAuthenticate. Raises SaslFailed; its
        answer is that request's response with ILLEGAL_SASL_STATE."""
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
        """Set the state FAILED, and raise SaslFailed with the reason for the log and the client's
        answer."""
        self._move(LoginEvent.FAILURE)
        raise SaslFailed(reason, answer, delayed=delayed, again=self._again)

    def _move(self, event: LoginEvent) -> None:
        """Set the state to which `event` leads. Raises KeyError if the state does not list the
        event."""
        self.state = TRANSITIONS[self.state][event]


def _read_header(frame: memoryview) -> _Header:
    """Read a request's header. Raises ProtocolError if it is malformed or the API is unknown."""
    api_key, version, correlation_id, _, end = read_request_header(frame)
    try:
        return _Header(ApiKey(api_key), version, correlation_id, end)
    except ValueError:
        raise ProtocolError(f"API key {api_key} is not served") from None


def _read_body(frame: memoryview, header: _Header) -> Message:
    """Read a request's body. Raises ProtocolError if it is malformed, its version is unknown, or
    the request is too long for a login."""
    _refuse_long(frame, header)
    message = messages_of(header.api).request
    if not message.MIN_VERSION <= header.version <= message.MAX_VERSION:
        raise ProtocolError(f"{header.api.name} version {header.version} is not served")
    flexible = header.version >= message.FLEXIBLE_FROM
    body = skip_header_tags(frame, header.end) if flexible else header.end
    request: Message = decode(message, frame, body, header.version)
    return request


def _refuse_long(frame: memoryview, header: _Header) -> None:
    """Raise ProtocolError for a request above REQUEST_BYTES_MAX that is not SaslAuthenticate,
    because parsing it would cost much before the client is authenticated."""
    if len(frame) > REQUEST_BYTES_MAX and header.api is not ApiKey.SASL_AUTHENTICATE:
        raise ProtocolError(
            f"{header.api.name} of {len(frame)} bytes before the login; {REQUEST_BYTES_MAX} may be"
        )


def _frame(response: Message, header: _Header) -> bytes:
    """Return the response to the request of `header` as a frame without its size prefix."""
    return encode_response(response, header.version, header.correlation_id).joined()[_SIZE_BYTES:]


def _logged(refused: SaslRefused, text: str) -> str:
    """Return the log's line: the text that the peer gets, and the reason if there is another."""
    return f"{text}: {refused.reason}" if refused.reason else text


def _shown(name: str) -> str:
    """Return a peer's text as it may stand in the log: at most 64 characters, in ASCII, quoted."""
    return ascii(name if len(name) <= _SHOWN_LETTERS else f"{name[:_SHOWN_LETTERS]}…")
