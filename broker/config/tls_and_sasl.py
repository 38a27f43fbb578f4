"""The TLS and SASL settings of a listener or of a client, as typed values.

`broker.config` creates them from Kafka's keys. `broker.security` reads them, loads the stores, and
checks names and passwords. A text that is a secret is a `Secret`, which cannot be printed by
mistake.

Follows Kafka's `SslConfigs`, `SaslConfigs`, `BrokerSecurityConfigs` and `SslClientAuth`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from broker.config.plugins import PythonClass


class Secret:
    """A password, a key, or a text that contains one. `repr` and `str` hide it."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        """Return a text that does not show the secret."""
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The `ssl.*` settings of a listener or a client."""

    keystore_type: str = "JKS"
    """PEM, PKCS12 or JKS; PKCS12 and JKS accept a file of either form, as in Java."""
    keystore_location: str | None = None
    keystore_password: Secret | None = None
    key_password: Secret | None = None
    keystore_key: Secret | None = None
    """The private key as PEM text."""
    keystore_certificate_chain: str | None = None
    """The node's certificate as PEM text, followed by the certificates that signed it."""
    truststore_type: str = "JKS"
    truststore_location: str | None = None
    truststore_password: Secret | None = None
    truststore_certificates: str | None = None
    """The trusted certificates as PEM text."""
    client_auth: str = "none"
    """none, requested or required; used only by the server half."""
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    protocol: str = "TLSv1.3"
    cipher_suites: tuple[str, ...] = ()
    """Java's names of cipher suites; if empty, OpenSSL's defaults."""
    endpoint_identification_algorithm: str = "https"
    """https: the client half checks the host name; if empty, it does not."""
    principal_mapping_rules: str = "DEFAULT"
    allow_dn_changes: bool = False
    allow_san_changes: bool = False


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """A login module of a JAAS text: `<class> required key="value" … ;`."""

    login_module: str
    options: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """The `sasl.oauthbearer.*` settings, and those of `sasl.login.*` for clients with tokens."""

    jwks_endpoint_url: str | None = None
    jwks_endpoint_refresh_ms: int = 3_600_000
    jwks_endpoint_retry_backoff_ms: int = 100
    jwks_endpoint_retry_backoff_max_ms: int = 10_000
    expected_audience: tuple[str, ...] = ()
    """The audiences of which a token must have one; empty: none is checked."""
    allow_unverified_audience: bool = False
    expected_issuer: str | None = None
    """The issuer that a token must have; None: none is checked."""
    allow_unverified_issuer: bool = False
    scope_claim_name: str = "scope"
    sub_claim_name: str = "sub"
    clock_skew_s: int = 30
    token_endpoint_url: str | None = None
    login_connect_timeout_ms: int | None = None
    login_read_timeout_ms: int | None = None
    client_credentials_client_id: str | None = None
    """The client id. With secret and scope it replaces `clientId` etc. of the JAAS text."""
    client_credentials_client_secret: Secret | None = None
    scope: str | None = None
    response_max_bytes: int = 1_048_576
    """The most bytes that are read of a response with keys or with a token."""
    unsecured_tokens_allowed: bool = False
    """Whether a listener accepts unsigned tokens."""


@dataclass(frozen=True, slots=True)
class MechanismSettings:
    """A SASL mechanism that a listener offers or a client uses."""

    name: str
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."""
    jaas: JaasEntry | None = None
    server_callback_class: str | PythonClass | None = None
    """Kafka's name of a built-in class, or a Python class that checks logins instead."""
    login_callback_class: str | None = None
    max_reauth_ms: int = 0
    """`connections.max.reauth.ms`: how long a login is valid; 0: for ever."""
    oauth: OAuthSettings = OAuthSettings()


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """The SASL settings of a listener."""

    mechanisms: tuple[MechanismSettings, ...]
    """The mechanisms of `sasl.enabled.mechanisms`, in the order in which clients see them."""
    server_max_receive_bytes: int = 524_288
    failed_authentication_delay_ms: int = 100
