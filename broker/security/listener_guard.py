"""Who may connect to one listener, and as whom: what the network asks about a new connection.

Owns what was loaded for the listener: its TLS context, the rules for names in certificates, its
SASL mechanisms. Never: a socket. A node without security loads none of what it imports here.

Follows Kafka's `ChannelBuilders`, `SslChannelBuilder` and `SaslChannelBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.config.listener_security import ListenerSecurity
from broker.security.logins import Logins
from protocol.errors import ErrorCode
from protocol.message import Message

if TYPE_CHECKING:
    import ssl

    from broker.security.sasl.authenticator import SaslAuthenticator
    from broker.security.sasl.server_mechanism import NewServerMechanism
    from broker.security.tls.principal_mapping import PrincipalMapping
    from broker.security.tls.reloading import ListenerTls

AnswerApiVersions = Callable[[memoryview], bytes]
"""A request's frame → the whole answer, both without their size."""
Refuse = Callable[[int, Message, ErrorCode], Message | None]
"""API key, request, error → the response that says it; None where there is none."""


class ListenerGuard:
    """One secured listener's."""

    def __init__(
        self,
        security: ListenerSecurity,
        logins: Logins,
        new_mechanism: NewServerMechanism | None,
        refuse: Refuse,
        *,
        key_prefix: str = "",
        between_nodes: bool,
    ) -> None:
        """Loads its stores. `new_mechanism` where it has SASL; `key_prefix`: what stands before
        `ssl.` in the keys of its stores; `between_nodes`: other nodes connect to it. Raises
        ConfigError."""
        self.logins = logins
        self._security = security
        self._new_mechanism = new_mechanism
        self._refuse = refuse
        self._tls: ListenerTls | None = None
        self._mapping: PrincipalMapping | None = None
        if security.tls is not None:
            from broker.security.tls.principal_mapping import PrincipalMapping
            from broker.security.tls.reloading import ListenerTls

            self._tls = ListenerTls(key_prefix, security.tls, between_nodes=between_nodes)
            self._mapping = PrincipalMapping(security.tls.principal_mapping_rules)

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """For the connections that come now."""
        return None if self._tls is None else self._tls.context

    def tell_alerts_by(self, send: Callable[[bytes], object]) -> None:
        """The handshake that begins in this context says by this why it fails."""
        from broker.security.tls import alerts

        alerts.send.set(send)

    @property
    def refusal_delay_s(self) -> float:
        """How long who failed to log in waits for the answer."""
        sasl = self._security.sasl
        return 0.0 if sasl is None else sasl.failed_authentication_delay_ms / 1000.0

    def authenticator(self, answer_api_versions: AnswerApiVersions) -> SaslAuthenticator | None:
        """For a new connection; None where the listener has no SASL."""
        if self._security.sasl is None or self._new_mechanism is None:
            return None
        from broker.security.sasl.authenticator import SaslAuthenticator

        return SaslAuthenticator(
            self._security.sasl, self._new_mechanism, answer_api_versions, self._refuse
        )

    def principal_of(self, certificate: bytes | None) -> str | None:
        """Whose certificate that is, in DER; None where no rule maps its name. Without SASL only:
        where there is, the certificate's name is nobody's."""
        from broker.security.tls.peer_certificate import principal_of

        assert self._mapping is not None and self._security.tls is not None
        asked = self._security.tls.client_auth != "none"
        return principal_of(certificate if asked else None, self._mapping)

    def check(self, security: ListenerSecurity) -> None:
        """Load what `replace` would, and change nothing. Raises ConfigError."""
        if security.tls is not None:
            from broker.security.tls.principal_mapping import PrincipalMapping

            PrincipalMapping(security.tls.principal_mapping_rules)
            assert self._tls is not None
            self._tls.check(security.tls)

    def replace(self, security: ListenerSecurity, new_mechanism: NewServerMechanism | None) -> None:
        """Connections that come from now on are served by this, if it can be loaded; its stores
        are read anew. Raises ConfigError, and changes nothing."""
        if security.tls is not None:
            from broker.security.tls.principal_mapping import PrincipalMapping

            mapping = PrincipalMapping(security.tls.principal_mapping_rules)
            assert self._tls is not None
            self._tls.reload(security.tls)
            self._mapping = mapping
        self._security, self._new_mechanism = security, new_mechanism
