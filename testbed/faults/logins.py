"""Faults of logins: ApiVersions, SaslHandshake and SaslAuthenticate on a listener with SASL.

Before a client is authenticated, no API answers these requests. So faults are applied where the
frames of a login are received, to a `Meeting` made from the frame. A login that a fault rejects
ends its connection after the listener's delay, as with a wrong password. Tokens without a header,
after a SaslHandshake of version 0, are no requests, and no fault applies to them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from broker.network.server.login import LoginRefusal, ReplyOrRefusal
from broker.network.server.request_channel import ConnectionContext
from broker.requests.context import ClientConnection, RequestContext
from broker.requests.interference import Meeting, ReplyPath
from controller.authorization.rights import UNLIMITED
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import (
    decode,
    encode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.message import Message, replace
from testbed.faults.faults import FaultRules

LOGIN_APIS = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
_REASON = "asked for by a test"


class LoginUnderWay(Protocol):
    """The login of a connection (`broker.network.server.login.Login`)."""

    @property
    def context(self) -> ConnectionContext:
        """The connection's properties, as the APIs see them."""

    @property
    def is_bare(self) -> bool:
        """Whether the next frame is a token without a request header (KIP-43)."""

    def carry_out(
        self, frame: memoryview, later: Callable[[ReplyOrRefusal], None]
    ) -> ReplyOrRefusal | None:
        """Handle a frame of the login, and return the answer or the refusal; None: `later` gets
        it."""


class Ranges(Protocol):
    """The source of answers with the served versions
    (`broker.requests.request_handler.RequestHandler`)."""

    def say_range(self, connection: ClientConnection, frame: memoryview, reply: ReplyPath) -> None:
        """Answer an ApiVersions request by `reply` as if its version were not served."""


class LoginFaults:
    """The application of a broker's faults to logins."""

    def __init__(self, faults: FaultRules, ranges: Ranges) -> None:
        self._faults = faults
        self._ranges = ranges

    def intercept(
        self, login: LoginUnderWay, frame: memoryview, later: Callable[[ReplyOrRefusal], None]
    ) -> ReplyOrRefusal | None:
        """Apply the faults to a frame of a login, and return the answer or the refusal. If no fault
        can apply, have the login handle the frame; see `broker.network.server.login.Login.check`.

        Returns None if the answer comes later, by `later`.
        """
        reply = _LoginReply(later)
        meeting = (
            None if login.is_bare or not self._faults.rules() else self._of(login, frame, reply)
        )
        if meeting is None:
            return login.carry_out(frame, later)
        self._faults.meet(meeting)
        return reply.response_at_once()

    def _of(self, login: LoginUnderWay, frame: memoryview, reply: _LoginReply) -> Meeting | None:
        """Return the frame's request as a `Meeting`, to which fault rules can be applied; None if
        the frame is no request of a login."""
        context, request = _read(login, frame)
        if context is None:
            return None

        def carry_out(_request: object, respond: Callable[[ReplyOrRefusal], None]) -> None:
            """Have the login handle its frame; `respond` gets the answer or the refusal, now or
            later."""
            response = self._faults.run_login_step(partial(login.carry_out, frame, respond))
            if response is not None:
                respond(response)

        return Meeting(
            context,
            request,
            reply,
            carry_out,
            partial(_login_error, context.api_key),
            partial(_answer, context),
            partial(self._ranges.say_range, login.context, frame, reply),
        )


class _LoginReply:
    """The reply to a client that logs in."""

    def __init__(self, later: Callable[[ReplyOrRefusal], None]) -> None:
        self._later = later
        self._response: ReplyOrRefusal | None = None
        self._is_late = False

    def __call__(self, parts: bytes | None) -> None:
        """Answer with these bytes; None: with no bytes."""
        self.say(b"" if parts is None else bytes(parts))

    def keep(self, frame: memoryview) -> memoryview:
        """Return the frame itself, without a copy; see `broker.requests.interference.ReplyPath`."""
        return frame

    def fail(self, error: BaseException) -> None:
        """Refuse the login without an answer, at once, which closes the connection. The error is
        not logged."""
        self.close()

    def close(self) -> None:
        """Refuse the login without an answer, at once, which closes the connection."""
        self.last(b"")

    def last(self, data: bytes) -> None:
        """Refuse the login with these bytes as the answer, at once, which closes the connection
        after them."""
        self.say(LoginRefusal(_REASON, data, delayed=False))

    def say(self, response: ReplyOrRefusal) -> None:
        """Store this response for `response_at_once`; if that was called before, pass it to
        `later`."""
        if self._is_late:
            self._later(response)
        else:
            self._response = response

    def response_at_once(self) -> ReplyOrRefusal | None:
        """Return the response, None if there is none yet: `later` then gets it."""
        self._is_late = self._response is None
        return self._response


def _read(login: LoginUnderWay, frame: memoryview) -> tuple[RequestContext | None, Message | None]:
    """Return the context and the request of a frame; None for both if the frame is no valid request
    of LOGIN_APIS."""
    try:
        key, version, correlation_id, client_id, pos = read_request_header(frame)
        if key not in LOGIN_APIS:
            return None, None
        message, (oldest, latest) = messages_of(ApiKey(key)).request, STABLE_VERSIONS[ApiKey(key)]
        if not oldest <= version <= latest:
            return None, None
        if version >= message.FLEXIBLE_FROM:
            pos = skip_header_tags(frame, pos)
        request = decode(message, frame, pos, version)
    except ProtocolError:
        return None, None
    connection = login.context
    context = RequestContext(
        key,
        version,
        correlation_id,
        client_id,
        connection.client_host,
        connection.listener_name,
        connection.connection_id,
        UNLIMITED,
    )
    return context, request


def _login_error(api_key: int, _request: object, error: ErrorCode) -> Message:
    """Return a response of this API with the error, and with a message if it has a field for
    that."""
    response: Message = messages_of(ApiKey(api_key)).response()
    fields: dict[str, Any] = {"error_code": int(error)}
    if hasattr(response, "error_message"):
        fields["error_message"] = _REASON
    return replace(response, **fields)


def _answer(context: RequestContext, reply: ReplyPath, response: object) -> None:
    """Pass a login's answer or refusal, or an error response that a fault made, to `reply`. An
    error response refuses the login, except that of ApiVersions."""
    if isinstance(response, LoginRefusal):
        if isinstance(reply, _LoginReply):
            reply.say(response)
        else:  # only a part of it is sent
            reply(response.answer or None)
    elif isinstance(response, bytes):
        reply(response)
    else:
        assert isinstance(response, Message) and isinstance(reply, _LoginReply), (
            "an error, in one piece"
        )
        frame = encode_response(response, context.api_version, context.correlation_id).joined()
        if context.api_key == ApiKey.API_VERSIONS:
            reply(frame)  # the login continues
        else:
            reply.say(LoginRefusal(_REASON, frame))
