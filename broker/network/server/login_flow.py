"""The login of one connection: the effects of its frames and certificate on the connection's core.

Owns: the steps from the first byte until the client has authenticated, the rejection and its delay,
and the renewals of a login that expires (KIP-368). Never: decides whether a login succeeds
(`login`), or sends a byte. Requests of an authenticated client pass through here only if its login
expires.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker.network.server.connection_state import CLOSING, ConnectionCore
from broker.network.server.login import Login, LoginRefusal, ReplyOrRefusal
from broker.network.server.request_channel import RequestChannel, ResponseParts
from protocol.errors import ProtocolError

CallLater = Callable[[float, Callable[[LoginRefusal], None], LoginRefusal], object]
"""A function that calls another one with a refusal, after some seconds."""


class LoginConnection(Protocol):
    """The connection, as its login sees it."""

    core: ConnectionCore

    def certificate(self) -> bytes | None:
        """Return the peer's TLS certificate in DER, None without TLS or a certificate."""

    def logged_in(self, may_expire: bool) -> None:
        """End the login's deadline, because the client has authenticated. `may_expire`: the session
        has an end (KIP-368)."""

    def login_renewed(self, may_expire: bool, answer: ResponseParts) -> None:
        """Send `answer` to a frame of a login that is being renewed, or is renewed by this
        frame."""

    def login_went_on(self) -> None:
        """Do the core's next steps after the login changed it outside of a frame's handling."""


class LoginFlow:
    """The login of one connection, to which it refers from `begin` until `close`."""

    def __init__(self, login: Login, channel: RequestChannel, call_later: CallLater) -> None:
        self._login = login
        self._channel = channel
        self._call_later = call_later
        self._connection: LoginConnection
        self._core: ConnectionCore
        self.by_sasl = login.by_sasl
        """Whether the client logs in by SASL, so that the first frames belong to the login."""

    def begin(self, connection: LoginConnection) -> None:
        """Begin the login of an open connection. Without SASL the TLS certificate, or the lack of
        one, decides it at once."""
        self._connection, self._core = connection, connection.core
        certificate = connection.certificate()
        if self.by_sasl:
            self._login.keep_certificate(certificate)
            return
        refusal = self._login.identify(certificate)
        if refusal is None:
            connection.logged_in(may_expire=False)
        else:
            self._refuse(refusal)

    def close(self) -> None:
        """Break the reference cycle with a closed connection. Later results of checks find its core
        CLOSING."""
        self._login.close()
        del self._connection

    def take(self, frame: memoryview) -> None:
        """Pass a frame of a client that logs in by SASL to the login, and queue its answer or
        reject it. If the check takes longer, no other frame is taken until its end."""
        self._channel.begin_turn()
        answer = self._login.check(frame, self._checked)
        if answer is None:
            self._core.login_waits()
        else:
            self._take_answer(answer)

    def takes_renewal(self, frame: memoryview) -> bool:
        """Take the frame if it belongs to a renewed login; return whether it does. Raises
        ProtocolError if the login has expired and the frame does not renew it."""
        login = self._login
        if not login.takes(frame):
            if login.is_over:
                raise ProtocolError("its login has ended, and it has not logged in again")
            return False
        answer = login.check(frame, self._take_renewal)
        if answer is not None:
            self._take_renewal(answer)
        return True

    def refuse(self, reason: str, how: str) -> None:
        """Reject a login because the client's bytes are no frame of one; `how` as in
        `LoginRefusal`."""
        self._refuse(self._login.refusal(reason, how))

    def _checked(self, answer: ReplyOrRefusal) -> None:
        """Queue the answer of a check that ended after the frame's handling, or reject the login.
        Does nothing if the connection has ended."""
        if self._core.login_checked():
            self._take_answer(answer)
            self._connection.login_went_on()

    def _take_answer(self, answer: ReplyOrRefusal) -> None:
        """Queue the answer, or reject the login. If the login is complete, open the connection to
        requests."""
        if not isinstance(answer, bytes):
            self._refuse(answer)
            return
        if answer:
            self._core.add_login_answer(answer)
        if self._login.complete:
            self._core.authenticated()
            self._connection.logged_in(self._login.may_expire)

    def _take_renewal(self, answer: ReplyOrRefusal) -> None:
        """Send the answer to a frame of a renewed login, or reject it."""
        if self._core.state is CLOSING:
            return
        if isinstance(answer, bytes):
            self._connection.login_renewed(self._login.may_expire, answer)
        else:
            self._refuse(answer)

    def _refuse(self, refusal: LoginRefusal) -> None:
        """Log and count a rejected login, take no further frame, and answer and close. If the
        refusal is delayed, do that after the listener's delay."""
        login = self._login
        login.failed(refusal)
        self._core.refused()
        if refusal.delayed and login.refusal_delay_s:
            self._call_later(login.refusal_delay_s, self._answer_refused, refusal)
            self._connection.login_went_on()
        else:
            self._answer_refused(refusal)

    def _answer_refused(self, refusal: LoginRefusal) -> None:
        """Queue the refusal's answer as the last one, and close the connection after it."""
        core = self._core
        if core.state is not CLOSING:
            if refusal.answer:
                core.add_login_answer(refusal.answer)
            core.leave()
            self._connection.login_went_on()
