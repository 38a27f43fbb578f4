"""How this node, or a command, gets into a listener of others: what the network asks before it
connects.

Owns what was loaded for it, the TLS context; logins are made elsewhere
(`broker.security.client_logins`). It may change: connections that are made then are by the new
settings, and open ones stay. Never: a socket. Without security it loads nothing.

Follows Kafka's `ChannelBuilders.clientChannelBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from broker.config.listener_security import PLAINTEXT_CLIENT, ClientSecurity
from broker.security.connect_failures import explained

if TYPE_CHECKING:
    import ssl

    from broker.security.tls.reloading import ClientTls


class ClientLogin(Protocol):
    """The client's half of one login. Both calls may block: for a token, or for the milliseconds
    that a password takes. Both raise OSError where the login is refused or cannot be."""

    @property
    def lifetime_ms(self) -> int:
        """For how long the login is good, once it is made; 0: for ever."""

    def begin(self) -> bytes:
        """The first frame, its size first."""

    def received(self, answer: bytes) -> bytes | None:
        """The next frame to an answer, which is without its size; None: the login is made."""


NewLogin = Callable[[str], ClientLogin]
"""Begins a login under a client id. Raises OSError where it cannot."""


class ClientGuard:
    """Of one kind of connections."""

    def __init__(
        self,
        security: ClientSecurity,
        key_prefix: str = "",
        new_login: NewLogin | None = None,
    ) -> None:
        """Loads its stores, for as long as it is there. Raises ConfigError.

        `key_prefix`: of the keys that `security` was made from, for errors; `new_login`: None where
        there is no login to make.
        """
        self._security = security
        self._key_prefix = key_prefix
        self._tls: ClientTls | None = None
        if security.tls is not None:
            from broker.security.tls.reloading import ClientTls

            self._tls = ClientTls(key_prefix, security.tls)
        self._new_login = new_login
        assert (security.mechanism is None) == (new_login is None)

    def __str__(self) -> str:
        """Of which kind they are, for people."""
        mechanism = self._security.mechanism
        protocol = self._security.security_protocol
        return protocol if mechanism is None else f"{protocol}, {mechanism.name}"

    @property
    def security(self) -> ClientSecurity:
        """What it was made of."""
        return self._security

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """For the connections that are made now."""
        return None if self._tls is None else self._tls.context

    @property
    def is_secured(self) -> bool:
        """Whether there is anything of TLS or SASL."""
        return self._security.security_protocol != PLAINTEXT_CLIENT.security_protocol

    @property
    def logs_in(self) -> bool:
        """Whether there is a login before the first request."""
        return self._new_login is not None

    def login(self, client_id: str) -> ClientLogin:
        """For a new connection, or for the same again. Raises OSError where there is nothing to
        log in with."""
        assert self._new_login is not None
        return self._new_login(client_id)

    def check(self, security: ClientSecurity) -> None:
        """Load what `replace` would, and change nothing. Raises ConfigError."""
        if security.tls is not None:
            assert self._tls is not None
            self._tls.check(security.tls)

    def replace(self, security: ClientSecurity) -> None:
        """Connections are made by this from now on, if it can be loaded; its stores are read anew.
        What begins logins follows by itself. Raises ConfigError, and changes nothing."""
        if security.tls is not None:
            assert self._tls is not None
            self._tls.reload(security.tls)
        self._security = security

    def explain(self, error: Exception, host: str) -> str:
        """Why a connection could not be made or did not last, in one line that says what to do."""
        by_key = "listener.security.protocol.map" if self._key_prefix else "security.protocol"
        return explained(error, host, self._security.security_protocol, by_key)


PLAINTEXT_GUARD = ClientGuard(PLAINTEXT_CLIENT)
