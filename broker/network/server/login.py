"""The authentication of a connection to a secured listener, which gives it its principal.

With SASL, the first frames go to the authenticator (`broker.security.sasl.authenticator`), which
answers each, at once or later, until the client has authenticated. With TLS alone, the principal is
the certificate's name, or anonymous. A principal builder, if there is one, makes the final choice.

Owns: the authenticator, and the reports about the login. Never: the states of a connection
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
    from broker.security.sasl.server_mechanism import BlockingCall


@dataclass(frozen=True, slots=True)
class LoginRefusal:
    """The reason of a rejected login, with the answer to the client: a whole response, its size
    first, or empty."""

    reason: str
    answer: bytes = b""
    delayed: bool = True
    """Whether the answer waits for `connection.failed.authentication.delay.ms`."""
    again: bool = False
    """Whether the client had logged in before."""
    how: str = ""
    """The protocol or mechanism that the client tried; empty if the login knows it."""


ReplyOrRefusal: TypeAlias = bytes | LoginRefusal
"""The result of a frame of a login: the answer, its size first, or the reason of a rejection."""


class Login:
    """The authentication of one connection."""

    def __init__(
        self,
        guard: ListenerGuard,
        context: ConnectionContext,
        channel: RequestChannel,
        reader: FrameReader,
        wall_ms: Callable[[], int],
    ) -> None:
        """Prepare the authentication. If clients log in by SASL, the reader takes only frames of
        the size that the authenticator allows."""
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
        """Drop the authenticator, which refers to this login: the connection is closed."""
        self._authenticator = None

    def refusal(self, reason: str, how: str) -> LoginRefusal:
        """Return the refusal of bytes that are no frame of a login; `how` as in `LoginRefusal`."""
        return LoginRefusal(reason, how=how)

    @property
    def by_sasl(self) -> bool:
        """Whether the client logs in by SASL, so that the first frames go to the authenticator."""
        return self._authenticator is not None

    @property
    def context(self) -> ConnectionContext:
        """The connection's properties, as the APIs see them."""
        return self._context

    @property
    def is_bare(self) -> bool:
        """Whether the next frame is a token without a request header (KIP-43)."""
        return self._authenticator is not None and self._authenticator.is_bare

    @property
    def refusal_delay_s(self) -> float:
        """The delay of the answer to a rejected login."""
        return self._guard.refusal_delay_s

    @property
    def may_expire(self) -> bool:
        """Whether the session expires unless the client authenticates again (KIP-368)."""
        assert self._authenticator is not None
        return self._authenticator.session_end_ms is not None

    def check(
        self, frame: memoryview, later: Callable[[ReplyOrRefusal], None]
    ) -> ReplyOrRefusal | None:
        """Return the answer to a frame before the login is `complete`, or to a later frame that it
        `takes`. None: the check is not complete yet; `later` gets its result, unless the connection
        has ended. No other frame may be passed before that."""
        intercept = self._guard.login_interceptor
        if intercept is None:
            return self.carry_out(frame, later)
        answer: ReplyOrRefusal | None = intercept(self, frame, later)
        return answer

    def carry_out(
        self, frame: memoryview, later: Callable[[ReplyOrRefusal], None]
    ) -> ReplyOrRefusal | None:
        """Return the answer to a frame of the login, as `check` does, without the guard's
        `login_interceptor`. None: `later` gets the answer."""
        authenticator = self._authenticator
        assert authenticator is not None
        return self._step(partial(authenticator.received, frame, self._wall_ms()), later)

    def _step(
        self, step: Callable[[], bytes | BlockingCall], later: Callable[[ReplyOrRefusal], None]
    ) -> ReplyOrRefusal | None:
        """Take a step, and return the bytes to send or the refusal.

        None means that a plug-in was asked: `later` gets the outcome. After the last step, the
        context has the principal.
        """
        from broker.security.sasl.authenticator import SaslFailed

        authenticator = self._authenticator
        assert authenticator is not None
        try:
            answer = step()
        except SaslFailed as failed:
            return LoginRefusal(failed.reason, _framed(failed.answer), failed.delayed, failed.again)
        if not isinstance(answer, bytes):
            self._guard.run_blocking(answer.job, partial(self._answered, later))
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
        self, later: Callable[[ReplyOrRefusal], None], result: object, error: Exception | None
    ) -> None:
        """Continue the login with the result of a job that the authenticator needed, and pass the
        answer or refusal to `later`. Does nothing if the connection has closed."""
        if self._context.closed:
            return
        authenticator = self._authenticator
        assert authenticator is not None
        outcome = result if error is None else error
        login_answer = self._step(partial(authenticator.resume, outcome, self._wall_ms()), later)
        if login_answer is not None:
            later(login_answer)

    def takes(self, frame: memoryview) -> bool:
        """Return whether this frame renews a complete login; `check` then answers it."""
        assert self._authenticator is not None
        return self._authenticator.takes(frame, self._wall_ms())

    def identify(self, certificate: bytes | None) -> LoginRefusal | None:
        """Set the principal by the TLS certificate, in DER, or its absence. Return the refusal if
        there is no principal, else None."""
        try:
            principal = self._guard.principal_by_certificate(certificate, self._context.client_host)
        except NoPrincipal as error:
            return LoginRefusal(str(error), delayed=False)
        self.complete = True
        self._context.authenticated(principal)
        self._guard.logins.success()
        return None

    def keep_certificate(self, certificate: bytes | None) -> None:
        """Keep the TLS certificate, in DER, of a client that logs in by SASL."""
        self._certificate = certificate

    def _principal_of(self, mechanism: str, user: str) -> str:
        """Return the principal of a user. Raises SaslRefused if no mapping gives one."""
        try:
            return self._guard.principal_by_sasl(
                mechanism, user, self._certificate, self._context.client_host
            )
        except NoPrincipal as error:
            from broker.security.sasl.server_mechanism import SaslRefused

            raise SaslRefused("", str(error)) from error

    def failed(self, refusal: LoginRefusal) -> None:
        """Report a rejected login to the listener's log and counts."""
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
        """Whether the login has expired without being renewed."""
        assert self._authenticator is not None
        return self._authenticator.expired(self._wall_ms())

    def _api_versions(self, frame: memoryview) -> bytes:
        """Return the response to an ApiVersions request during the login, without its size."""
        return self._channel.answer_now(self._context, frame)[SIZE_BYTES:]


def _framed(answer: bytes | None) -> bytes:
    """Return the answer with its size before it; no bytes for None."""
    return b"" if answer is None else len(answer).to_bytes(SIZE_BYTES) + answer
