"""The security of one listener: how the clients of new connections authenticate, and as which
principals.

Owns what was loaded for the listener: its TLS context, the mapping rules for certificates' names,
its SASL mechanisms. Never touches a socket. A node without security loads none of the modules that
functions import here.

Follows Kafka's `ChannelBuilders`, `SslChannelBuilder` and `SaslChannelBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from broker.config.listener_security import ListenerSecurity
from broker.requests.context import ANONYMOUS
from broker.security.logins import Logins
from protocol.errors import ErrorCode
from protocol.message import Message

if TYPE_CHECKING:
    import ssl

    from broker.security.sasl.authenticator import PrincipalOf, SaslAuthenticator
    from broker.security.sasl.server_mechanism import NewServerMechanism
    from broker.security.tls.principal_mapping import PrincipalMapping
    from broker.security.tls.reloading import ListenerTls
    from ground.ports import T
    from ottla.plugins.principal import Peer

AnswerApiVersions = Callable[[memoryview], bytes]
"""A function from a request's frame to the whole answer, both without their size prefix."""
Refuse = Callable[[int, Message, ErrorCode], Message | None]
"""A function of API key, request and error that returns the error response; None if the API sends
no response."""


LoginInterceptor: TypeAlias = Callable[[Any, memoryview, Callable[[Any], None]], Any]
"""A replacement for `broker.network.server.login.Login.check`, which gets the login first."""
BuildPrincipal: TypeAlias = "Callable[[Peer], str]"
"""A principal builder. Raises NoPrincipal for a peer that may not connect."""
UNMAPPED = "no rule of ssl.principal.mapping.rules maps the certificate's name"


class NoPrincipal(Exception):
    """An authenticated peer has no principal here; `str()` says why, for the log."""


class RunBlocking(Protocol):
    """A function that runs a job in a thread, as `ground.ports.Blocking` does, with a deadline."""

    def __call__(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job` in a thread, then call `done(result, error)` once on the event loop. Where a
        deadline applies, the error after it is AnswerTimeout."""


class ListenerGuard:
    """The security of one listener that has TLS, SASL or a principal builder."""

    def __init__(
        self,
        security: ListenerSecurity,
        logins: Logins,
        new_mechanism: NewServerMechanism | None,
        refuse: Refuse,
        *,
        key_prefix: str = "",
        between_nodes: bool,
        build_principal: BuildPrincipal | None = None,
        run_blocking: RunBlocking | None = None,
    ) -> None:
        """Load the keystore and the truststore, and parse the mapping rules, if `security` has TLS.
        Raises ConfigError if a store or rule cannot be loaded.

        `new_mechanism` is None without SASL. `key_prefix` is the text before `ssl.` in the keys of
        the stores. `between_nodes`: other nodes connect to this listener. `build_principal` is a
        principal builder, None for Kafka's default. `run_blocking` runs the blocking calls of SASL
        mechanisms, None if no mechanism makes any.
        """
        self.logins = logins
        self.login_interceptor: LoginInterceptor | None = None
        """The function that answers a login's frames in place of the login
        (`intercept_logins_by`)."""
        self._security = security
        self._new_mechanism = new_mechanism
        self._refuse = refuse
        self._build_principal = build_principal
        self._run_blocking = run_blocking
        self._tls: ListenerTls | None = None
        self._mapping: PrincipalMapping | None = None
        if security.tls is not None:
            from broker.security.tls.principal_mapping import PrincipalMapping
            from broker.security.tls.reloading import ListenerTls

            self._tls = ListenerTls(key_prefix, security.tls, between_nodes=between_nodes)
            self._mapping = PrincipalMapping(security.tls.principal_mapping_rules)

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS context for new connections; None without TLS."""
        return None if self._tls is None else self._tls.context

    def set_alert_callbacks(
        self, send: Callable[[bytes], object], on_bytes: Callable[[], object]
    ) -> None:
        """Store two functions in the current `contextvars` context, for the TLS handshake that
        begins in it. `send` sends bytes to the peer past the TLS layer: the alert of a failed
        handshake. `on_bytes` is called each time the peer has sent bytes."""
        from broker.security.tls import alerts

        alerts.send.set(send)
        alerts.on_bytes.set(on_bytes)

    def intercept_logins_by(self, intercept: LoginInterceptor | None) -> None:
        """Set the function that answers each frame of a login in place of the login, also on open
        connections. None: the login answers."""
        self.login_interceptor = intercept

    @property
    def refusal_delay_s(self) -> float:
        """The delay before the answer to a failed login, in seconds; 0 without SASL."""
        sasl = self._security.sasl
        return 0.0 if sasl is None else sasl.failed_authentication_delay_ms / 1000.0

    def authenticator(
        self, answer_api_versions: AnswerApiVersions, principal_of: PrincipalOf
    ) -> SaslAuthenticator | None:
        """Return the SASL login of a new connection; None if the listener has no SASL.
        `principal_of` maps mechanism and user name to the principal."""
        if self._security.sasl is None or self._new_mechanism is None:
            return None
        from broker.security.sasl.authenticator import SaslAuthenticator

        return SaslAuthenticator(
            self._security.sasl,
            self._new_mechanism,
            answer_api_versions,
            self._refuse,
            principal_of,
        )

    def run_blocking(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run a mechanism's blocking `job` in a thread; later call `done` with its result or its
        exception. Only for a listener that has a `run_blocking`."""
        assert self._run_blocking is not None, "no mechanism of this listener asks anybody"
        self._run_blocking(job, done)

    def principal_by_certificate(self, certificate: bytes | None, host: str) -> str:
        """Return the principal of a peer that showed this certificate, in DER; None: it showed
        none. Without a certificate, or if the listener asks for none, it is ANONYMOUS. A principal
        builder may return another.

        Raises NoPrincipal if no mapping rule matches or the builder rejects the peer. Only for
        listeners without SASL: with SASL the certificate's name is no principal.
        """
        default_principal: str | None = ANONYMOUS
        if self._mapping is not None:
            from broker.security.tls.peer_certificate import principal_of

            default_principal = principal_of(self._shown(certificate), self._mapping)
        if self._build_principal is not None:
            return self._build_principal(self._peer(default_principal, host, certificate))
        if default_principal is None:
            raise NoPrincipal(UNMAPPED)
        return default_principal

    def principal_by_sasl(
        self, mechanism: str, user: str, certificate: bytes | None, host: str
    ) -> str:
        """Return the principal of a peer that has logged in as `user` by `mechanism`:
        `User:<user>`, or the result of the principal builder. Raises NoPrincipal if the builder
        rejects the peer."""
        default_principal = f"User:{user}"
        if self._build_principal is None:
            return default_principal
        peer = self._peer(default_principal, host, certificate)
        return self._build_principal(peer._replace(mechanism=mechanism, user=user))

    def _shown(self, certificate: bytes | None) -> bytes | None:
        """Return the peer's certificate, or None if the listener does not ask for certificates."""
        tls = self._security.tls
        return None if tls is None or tls.client_auth == "none" else certificate

    def _peer(self, default_principal: str | None, host: str, certificate: bytes | None) -> Peer:
        """Return the description of the client that the principal builder gets: its listener,
        protocol, address, default principal and the names in its certificate.

        Raises NoPrincipal if the names in its certificate cannot be read.
        """
        from ottla.plugins.principal import Peer

        security = self._security
        peer = Peer(default_principal, security.listener_name, security.security_protocol, host)
        shown = self._shown(certificate)
        if shown is None:
            return peer
        from broker.security.tls.der import DerError
        from broker.security.tls.peer_certificate import (
            distinguished_name,
            subject_alternative_names,
        )

        try:
            return peer._replace(
                certificate_name=distinguished_name(shown),
                certificate_alternative_names=subject_alternative_names(shown),
            )
        except DerError as error:
            raise NoPrincipal(f"the names in its certificate cannot be read: {error}") from error

    def check(self, security: ListenerSecurity) -> None:
        """Load the stores and rules that `replace` would load, and change nothing. Raises
        ConfigError if `replace` would fail."""
        if security.tls is not None:
            from broker.security.tls.principal_mapping import PrincipalMapping

            PrincipalMapping(security.tls.principal_mapping_rules)
            assert self._tls is not None
            self._tls.check(security.tls)

    def replace(self, security: ListenerSecurity, new_mechanism: NewServerMechanism | None) -> None:
        """Read the stores of `security` again, and use these settings and `new_mechanism` for new
        connections. Raises ConfigError if a store or rule cannot be loaded; then nothing
        changes."""
        if security.tls is not None:
            from broker.security.tls.principal_mapping import PrincipalMapping

            mapping = PrincipalMapping(security.tls.principal_mapping_rules)
            assert self._tls is not None
            self._tls.reload(security.tls)
            self._mapping = mapping
        self._security, self._new_mechanism = security, new_mechanism
