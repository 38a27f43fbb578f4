"""Who may connect to one listener, and as whom: what the network asks about a new connection.

Owns what was loaded for the listener: its TLS context, the rules for names in certificates, its
SASL mechanisms. Never: a socket. A node without security loads none of what it imports here.

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
"""A request's frame → the whole answer, both without their size."""
Refuse = Callable[[int, Message, ErrorCode], Message | None]
"""API key, request, error → the response that says it; None where there is none."""


MeetLogin: TypeAlias = Callable[[Any, memoryview, Callable[[Any], None]], Any]
"""`broker.network.server.login.Login.check` of a login, by somebody else."""
NamePeer: TypeAlias = "Callable[[Peer], str]"
"""A principal builder: raises NoPrincipal for who may not connect."""
UNMAPPED = "no rule of ssl.principal.mapping.rules maps the certificate's name"


class NoPrincipal(Exception):
    """Who has authenticated is nobody here; `str()` says why, for the log."""


class Ask(Protocol):
    """See `ground.ports.Blocking`; with a deadline."""

    def __call__(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None: ...


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
        name_peer: NamePeer | None = None,
        ask: Ask | None = None,
    ) -> None:
        """Loads its stores. `new_mechanism` where it has SASL; `key_prefix`: what stands before
        `ssl.` in the keys of its stores; `between_nodes`: other nodes connect to it; `name_peer`:
        a principal builder; `ask`: for what the mechanisms want to know of others. Raises
        ConfigError."""
        self.logins = logins
        self.meet_login: MeetLogin | None = None
        """Who comes between a login's frames and what they are answered (`meet_logins_by`)."""
        self._security = security
        self._new_mechanism = new_mechanism
        self._refuse = refuse
        self._name_peer = name_peer
        self._ask = ask
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

    def tell_alerts_by(self, send: Callable[[bytes], object], heard: Callable[[], object]) -> None:
        """The handshake that begins in this context says by this why it fails. `heard` is told
        that the peer has said something."""
        from broker.security.tls import alerts

        alerts.send.set(send)
        alerts.heard.set(heard)

    def meet_logins_by(self, meet: MeetLogin | None) -> None:
        """Who comes between a login's frames and what they are answered; None: nobody."""
        self.meet_login = meet

    @property
    def refusal_delay_s(self) -> float:
        """How long who failed to log in waits for the answer."""
        sasl = self._security.sasl
        return 0.0 if sasl is None else sasl.failed_authentication_delay_ms / 1000.0

    def authenticator(
        self, answer_api_versions: AnswerApiVersions, principal_of: PrincipalOf
    ) -> SaslAuthenticator | None:
        """For a new connection; None where the listener has no SASL. `principal_of`: by SASL."""
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

    def ask(self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]) -> None:
        """Have somebody else asked, in a thread; `done` comes later."""
        assert self._ask is not None, "no mechanism of this listener asks anybody"
        self._ask(job, done)

    def principal_by_certificate(self, certificate: bytes | None, host: str) -> str:
        """Of a peer that showed that, in DER, or nothing. Without SASL only: where there is, the
        certificate's name is nobody's. Raises NoPrincipal."""
        usual: str | None = ANONYMOUS
        if self._mapping is not None:
            from broker.security.tls.peer_certificate import principal_of

            usual = principal_of(self._shown(certificate), self._mapping)
        if self._name_peer is not None:
            return self._name_peer(self._peer(usual, host, certificate))
        if usual is None:
            raise NoPrincipal(UNMAPPED)
        return usual

    def principal_by_sasl(
        self, mechanism: str, user: str, certificate: bytes | None, host: str
    ) -> str:
        """Of a peer that has logged in. Raises NoPrincipal."""
        usual = f"User:{user}"
        if self._name_peer is None:
            return usual
        peer = self._peer(usual, host, certificate)
        return self._name_peer(peer._replace(mechanism=mechanism, user=user))

    def _shown(self, certificate: bytes | None) -> bytes | None:
        """What is looked at of what was shown."""
        tls = self._security.tls
        return None if tls is None or tls.client_auth == "none" else certificate

    def _peer(self, usual: str | None, host: str, certificate: bytes | None) -> Peer:
        from ottla.plugins.principal import Peer

        security = self._security
        peer = Peer(usual, security.listener_name, security.security_protocol, host)
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
