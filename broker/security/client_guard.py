"""The security of outgoing connections: how this node, or a command, connects to the listeners of
other nodes.

Owns the TLS context that was loaded for them; `broker.security.client_logins` makes the logins.
The settings may be replaced while the node runs: new connections use the new settings, and open
connections stay as they are. Never opens a socket. Without security it loads nothing.

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
    """The client's half of one login. `begin` and `received` may block: for a token, or for the
    milliseconds that hashing a password takes. Both raise OSError if the login is rejected or
    impossible."""

    @property
    def lifetime_ms(self) -> int:
        """The lifetime of the login after it is complete, in milliseconds; 0: unlimited."""

    def begin(self) -> bytes:
        """Return the first frame, with its size prefix. May block. Raises OSError if the login is
        impossible."""

    def received(self, answer: bytes) -> bytes | None:
        """Process an answer, without its size prefix. Return the next frame to send, with its size
        prefix, or None if the login is complete. May block. Raises OSError if the login is
        rejected."""


NewLogin = Callable[[str], ClientLogin]
"""A function that begins a login with a client id. Raises OSError if it cannot."""


class ClientGuard:
    """The security of one kind of outgoing connections, such as those to controllers."""

    def __init__(
        self,
        security: ClientSecurity,
        key_prefix: str = "",
        new_login: NewLogin | None = None,
    ) -> None:
        """Load the keystore and the truststore, if `security` has TLS. Raises ConfigError if they
        cannot be loaded.

        `key_prefix` is the prefix of the configuration keys that `security` was made from, for
        errors; `new_login` is None exactly if `security` has no SASL mechanism.
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
        """Return the security protocol and the mechanism, for a message to people."""
        mechanism = self._security.mechanism
        protocol = self._security.security_protocol
        return protocol if mechanism is None else f"{protocol}, {mechanism.name}"

    @property
    def security(self) -> ClientSecurity:
        """The settings that new connections use."""
        return self._security

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS context for new connections; None without TLS."""
        return None if self._tls is None else self._tls.context

    @property
    def is_secured(self) -> bool:
        """Whether these connections use TLS, SASL or both."""
        return self._security.security_protocol != PLAINTEXT_CLIENT.security_protocol

    @property
    def logs_in(self) -> bool:
        """Whether a SASL login comes before the first request."""
        return self._new_login is not None

    def login(self, client_id: str) -> ClientLogin:
        """Return a new login, for a new connection or for the re-authentication of an open one.
        Only for connections that use SASL (`logs_in`). Raises OSError if there are no credentials
        to log in with."""
        assert self._new_login is not None
        return self._new_login(client_id)

    def check(self, security: ClientSecurity) -> None:
        """Load the stores that `replace` would load, and change nothing. Raises ConfigError if
        `replace` would fail."""
        if security.tls is not None:
            assert self._tls is not None
            self._tls.check(security.tls)

    def replace(self, security: ClientSecurity) -> None:
        """Read the stores of `security` again, and use these settings for new connections.
        `new_login` stays. Raises ConfigError if a store cannot be loaded; then nothing changes."""
        if security.tls is not None:
            assert self._tls is not None
            self._tls.reload(security.tls)
        self._security = security

    def explain(self, error: Exception, host: str) -> str:
        """Return, in one line, the reason why a connection to `host` failed or ended, and the
        remedy."""
        by_key = "listener.security.protocol.map" if self._key_prefix else "security.protocol"
        return explained(error, host, self._security.security_protocol, by_key)


PLAINTEXT_GUARD = ClientGuard(PLAINTEXT_CLIENT)
