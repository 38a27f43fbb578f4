"""The login of one connection: what its frames and its certificate do to the connection's core.

Owns the way from the first byte until it is known who is there, the refusal and its delay, and the
renewals of a login that ends some time (KIP-368). Never: decides who is let in (`login`), or sends
a byte; a request of a client that is known does not come here, unless its login ends some time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker.network.server.connection_state import CLOSING, ConnectionCore
from broker.network.server.login import Login, Refusal, Said
from broker.network.server.request_channel import RequestChannel, ResponseParts
from protocol.errors import ProtocolError

CallLater = Callable[[float, Callable[[Refusal], None], Refusal], object]
"""Calls a function with a refusal after some seconds."""


class LoginConnection(Protocol):
    """The connection, as its login knows it."""

    core: ConnectionCore

    def certificate(self) -> bytes | None:
        """Return what the peer has shown to the TLS layer, in DER."""

    def logged_in(self, may_expire: bool) -> None:
        """Mark the connection as authenticated. `may_expire`: the session has an end (KIP-368)."""

    def login_renewed(self, may_expire: bool, answer: ResponseParts) -> None:
        """The client has logged in again, or goes on with it; `answer` is for its frame."""

    def login_went_on(self) -> None:
        """The core has heard from the login, outside of any frame's turn."""


class LoginFlow:
    """The login of one connection, which it refers to from `begin` until `close`."""

    def __init__(self, login: Login, channel: RequestChannel, call_later: CallLater) -> None:
        self._login = login
        self._channel = channel
        self._call_later = call_later
        self._connection: LoginConnection
        self._core: ConnectionCore
        self.by_sasl = login.by_sasl
        """Whether the first frames are the login's."""

    def begin(self, connection: LoginConnection) -> None:
        """The connection is up: one without SASL is known by its certificate, or by nothing."""
        self._connection, self._core = connection, connection.core
        certificate = connection.certificate()
        if self.by_sasl:
            self._login.shown(certificate)
            return
        refusal = self._login.identify(certificate)
        if refusal is None:
            connection.logged_in(may_expire=False)
        else:
            self._refuse(refusal)

    def close(self) -> None:
        """The connection is gone: no cycle is left of it. Nothing comes later but to a core that
        is CLOSING."""
        self._login.close()
        del self._connection

    def take(self, frame: memoryview) -> None:
        """Take a frame of a client that logs in by SASL."""
        self._channel.begin_turn()
        said = self._login.check(frame, self._checked)
        if said is None:
            self._core.asks()
        else:
            self._take_said(said)

    def takes_renewal(self, frame: memoryview) -> bool:
        """Take the frame if the client logs in again by it; whether it does. Raises ProtocolError
        where it did not do so in time."""
        login = self._login
        if not login.takes(frame):
            if login.is_over:
                raise ProtocolError("its login has ended, and it has not logged in again")
            return False
        said = login.check(frame, self._take_renewal)
        if said is not None:
            self._take_renewal(said)
        return True

    def refuse(self, reason: str, how: str) -> None:
        """Refuse a client whose bytes are no frame of a login; `how`: see `Refusal`."""
        self._refuse(self._login.refusal(reason, how))

    def _checked(self, said: Said) -> None:
        """Go on with the result of a check that ran outside of the frame's turn."""
        if self._core.told():
            self._take_said(said)
            self._connection.login_went_on()

    def _take_said(self, said: Said) -> None:
        if not isinstance(said, bytes):
            self._refuse(said)
            return
        if said:
            self._core.said(said)
        if self._login.complete:
            self._core.authenticated()
            self._connection.logged_in(self._login.may_expire)

    def _take_renewal(self, said: Said) -> None:
        """The answer to a client that logs in again is known, at once or later."""
        if self._core.state is CLOSING:
            return
        if isinstance(said, bytes):
            self._connection.login_renewed(self._login.may_expire, said)
        else:
            self._refuse(said)

    def _refuse(self, refusal: Refusal) -> None:
        login = self._login
        login.failed(refusal)
        self._core.refused()
        if refusal.delayed and login.refusal_delay_s:
            self._call_later(login.refusal_delay_s, self._say_refused, refusal)
            self._connection.login_went_on()
        else:
            self._say_refused(refusal)

    def _say_refused(self, refusal: Refusal) -> None:
        core = self._core
        if core.state is not CLOSING:
            if refusal.answer:
                core.said(refusal.answer)
            core.leave()
            self._connection.login_went_on()
