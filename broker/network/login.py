"""How a connection of a secured listener comes to its principal.

By SASL: its first frames are the authenticator's (`broker.security.sasl.authenticator`), which has
an answer to each, until it knows who is there. By TLS alone: the certificate's name, or nobody's.

Owns the authenticator, and what is told about the login. Never: the states of a connection
(`connection_state`), or bytes on sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.network.request_channel import ConnectionContext, RequestChannel
from broker.security.listener_guard import ListenerGuard
from protocol.frames.framing import SIZE_BYTES, FrameReader

if TYPE_CHECKING:
    from broker.security.sasl.authenticator import SaslAuthenticator

UNMAPPED = "no rule of ssl.principal.mapping.rules maps the certificate's name"


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
        self._authenticator: SaslAuthenticator | None = guard.authenticator(self._api_versions)
        if self._authenticator is not None:
            reader.limit(self._authenticator.frame_bytes_max)
        self.complete = False

    def refusal(self, reason: str, how: str) -> Refusal:
        """For what is no frame of a login; `how`: see `Refusal`."""
        return Refusal(reason, how=how)

    @property
    def by_sasl(self) -> bool:
        """Whether its first frames are the authenticator's."""
        return self._authenticator is not None

    @property
    def refusal_delay_s(self) -> float:
        """How long a refusal waits."""
        return self._guard.refusal_delay_s

    @property
    def may_expire(self) -> bool:
        """Whether it has to authenticate again some time (KIP-368)."""
        assert self._authenticator is not None
        return self._authenticator.session_end_ms is not None

    def check(self, frame: memoryview) -> bytes | Refusal:
        """The answer to a frame before the login is `complete`, or to one that it `takes` later;
        its size first."""
        from broker.security.sasl.authenticator import SaslFailed

        authenticator = self._authenticator
        assert authenticator is not None
        try:
            answer = authenticator.received(frame, self._wall_ms())
        except SaslFailed as failed:
            return Refusal(failed.reason, _framed(failed.answer), failed.delayed, failed.again)
        if authenticator.complete:
            assert authenticator.principal is not None
            self._reader.limit(self._frame_bytes_max)
            self._guard.logins.success(again=self.complete)
            self.complete = True
            self._context.authenticated(
                authenticator.principal, by_token=authenticator.token_authenticated
            )
        return _framed(answer)

    def takes(self, frame: memoryview) -> bool:
        """Whether who is logged in logs in again by this frame, which `check` answers."""
        assert self._authenticator is not None
        return self._authenticator.takes(frame, self._wall_ms())

    def identify(self, certificate: bytes | None) -> Refusal | None:
        """Who is there, by what the TLS layer was shown, in DER."""
        principal = self._guard.principal_of(certificate)
        if principal is None:
            return Refusal(UNMAPPED, delayed=False)
        self.complete = True
        self._context.authenticated(principal)
        self._guard.logins.success()
        return None

    def failed(self, refusal: Refusal) -> None:
        """It was refused."""
        context, how = self._context, refusal.how
        if not how:
            how = "TLS"
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
