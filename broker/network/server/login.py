"""How a connection of a secured listener comes to its principal.

By SASL: its first frames are the authenticator's (`broker.security.sasl.authenticator`), which has
an answer to each, until it knows who is there; some answers come later. By TLS alone: the
certificate's name, or nobody's. A principal builder, where there is one, has the last word.

Owns the authenticator, and what is told about the login. Never: the states of a connection
(`connection_state`), or bytes on sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from broker.network.server.request_channel import ConnectionContext, RequestChannel
from broker.security.listener_guard import ListenerGuard, NoPrincipal
from protocol.frames.framing import SIZE_BYTES, FrameReader

if TYPE_CHECKING:
    from broker.security.sasl.authenticator import SaslAuthenticator
    from broker.security.sasl.server_mechanism import Question


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nobody is let in, and what is said about it: a whole answer, its size first, or
    nothing."""

    reason: str
    answer: bytes = b""
    delayed: bool = True
    """Whether it waits for `connection.failed.authentication.delay.ms`."""
    again: bool = False
    """Whether it was somebody who had logged in before."""
    how: str = ""
    """What the peer tried; empty: what the login knows of it."""


Said: TypeAlias = bytes | Refusal
"""What is to be said to a frame of a login: its size first, or why nobody is let in."""


class Login:
    """Of one connection."""

    def __init__(
        self,
        guard: ListenerGuard,
        context: ConnectionContext,
        channel: RequestChannel,
        reader: FrameReader,
        wall_ms: Callable[[], int],
    ) -> None:
        self._wall_ms = wall_ms
        self._guard = guard
        self._context = context
        self._channel = channel
        self._reader = reader
        self._frame_bytes_max = reader.max_bytes
        self._certificate: bytes | None = None
        self._authenticator: SaslAuthenticator | None = guard.authenticator(
            self._api_versions, self._principal_of
        )
        if self._authenticator is not None:
            reader.limit(self._authenticator.frame_bytes_max)
        self.complete = False

    def close(self) -> None:
        """Let go of the authenticator, which knows this login: the connection is gone."""
        self._authenticator = None

    def refusal(self, reason: str, how: str) -> Refusal:
        """For what is no frame of a login; `how`: see `Refusal`."""
        return Refusal(reason, how=how)

    @property
    def by_sasl(self) -> bool:
        """Whether its first frames are the authenticator's."""
        return self._authenticator is not None

    @property
    def context(self) -> ConnectionContext:
        """The connection, as the APIs see it."""
        return self._context

    @property
    def is_bare(self) -> bool:
        """Whether its next frame is a token without a header (KIP-43)."""
        return self._authenticator is not None and self._authenticator.is_bare

    @property
    def refusal_delay_s(self) -> float:
        """How long a refusal waits."""
        return self._guard.refusal_delay_s

    @property
    def may_expire(self) -> bool:
        """Whether it has to authenticate again some time (KIP-368)."""
        assert self._authenticator is not None
        return self._authenticator.session_end_ms is not None

    def check(self, frame: memoryview, later: Callable[[Said], None]) -> Said | None:
        """What to say to a frame before the login is `complete`, or to one that it `takes` later.
        None: that needs somebody else's answer; `later` has it, unless the connection has ended,
        and no frame may come before."""
        meet = self._guard.meet_login
        if meet is None:
            return self.carry_out(frame, later)
        said: Said | None = meet(self, frame, later)
        return said

    def carry_out(self, frame: memoryview, later: Callable[[Said], None]) -> Said | None:
        """As `check`, whoever comes between."""
        authenticator = self._authenticator
        assert authenticator is not None
        return self._step(partial(authenticator.received, frame, self._wall_ms()), later)

    def _step(
        self, step: Callable[[], bytes | Question], later: Callable[[Said], None]
    ) -> Said | None:
        from broker.security.sasl.authenticator import SaslFailed

        authenticator = self._authenticator
        assert authenticator is not None
        try:
            answer = step()
        except SaslFailed as failed:
            return Refusal(failed.reason, _framed(failed.answer), failed.delayed, failed.again)
        if not isinstance(answer, bytes):
            self._guard.ask(answer.job, partial(self._answered, later))
            return None
        if authenticator.complete:
            assert authenticator.principal is not None
            self._reader.limit(self._frame_bytes_max)
            self._guard.logins.success(again=self.complete)
            self.complete = True
            self._context.authenticated(
                authenticator.principal, by_token=authenticator.token_authenticated
            )
        return _framed(answer)

    def _answered(
        self, later: Callable[[Said], None], result: object, error: Exception | None
    ) -> None:
        """Somebody who was asked for this login has answered."""
        if self._context.closed:
            return
        authenticator = self._authenticator
        assert authenticator is not None
        outcome = result if error is None else error
        said = self._step(partial(authenticator.told, outcome, self._wall_ms()), later)
        if said is not None:
            later(said)

    def takes(self, frame: memoryview) -> bool:
        """Whether who is logged in logs in again by this frame, which `check` answers."""
        assert self._authenticator is not None
        return self._authenticator.takes(frame, self._wall_ms())

    def identify(self, certificate: bytes | None) -> Refusal | None:
        """Who is there, by what the TLS layer was shown, in DER."""
        try:
            principal = self._guard.principal_by_certificate(certificate, self._context.client_host)
        except NoPrincipal as nobody:
            return Refusal(str(nobody), delayed=False)
        self.complete = True
        self._context.authenticated(principal)
        self._guard.logins.success()
        return None

    def shown(self, certificate: bytes | None) -> None:
        """What the TLS layer was shown, in DER, of one who logs in by SASL."""
        self._certificate = certificate

    def _principal_of(self, mechanism: str, user: str) -> str:
        try:
            return self._guard.principal_by_sasl(
                mechanism, user, self._certificate, self._context.client_host
            )
        except NoPrincipal as nobody:
            from broker.security.sasl.server_mechanism import SaslRefused

            raise SaslRefused("", str(nobody)) from nobody

    def failed(self, refusal: Refusal) -> None:
        """It was refused."""
        context, how = self._context, refusal.how
        if not how:
            how = "TLS" if self._guard.tls_context is not None else context.security_protocol
            if self._authenticator is not None:
                how = self._authenticator.mechanism or "SASL"
        self._guard.logins.failure(
            context.connection_id, context.client_host, how, refusal.reason, again=refusal.again
        )

    @property
    def is_over(self) -> bool:
        """Whether the login has ended, and no other one followed."""
        assert self._authenticator is not None
        return self._authenticator.expired(self._wall_ms())

    def _api_versions(self, frame: memoryview) -> bytes:
        return self._channel.answer_now(self._context, frame)[SIZE_BYTES:]


def _framed(answer: bytes | None) -> bytes:
    return b"" if answer is None else len(answer).to_bytes(SIZE_BYTES) + answer
