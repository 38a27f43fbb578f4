"""What TLS and SASL are told of one listener or one client: typed values, nothing else.

Made by `broker.config` from Kafka's keys, read by `broker.security`, which loads stores and judges
names and passwords. A text that is a secret is a `Secret`, which nobody can print by mistake.

Follows Kafka's `SslConfigs`, `SaslConfigs`, `BrokerSecurityConfigs` and `SslClientAuth`, 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from broker.config.plugins import PythonClass


class Secret:
    """A password, a key, or a text that has one in it. `repr` and `str` hide it."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """`ssl.*` of one listener or client."""

    keystore_type: str = "JKS"
    """PEM, PKCS12 or JKS; JKS looks at the file, since keytool writes PKCS12 by default."""
    keystore_location: str | None = None
    keystore_password: Secret | None = None
    key_password: Secret | None = None
    keystore_key: Secret | None = None
    """PEM in the value: the private key."""
    keystore_certificate_chain: str | None = None
    """PEM in the value: the node's certificate, then those that signed it."""
    truststore_type: str = "JKS"
    truststore_location: str | None = None
    truststore_password: Secret | None = None
    truststore_certificates: str | None = None
    """PEM in the value."""
    client_auth: str = "none"
    """none, requested or required; of the server half."""
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    protocol: str = "TLSv1.3"
    cipher_suites: tuple[str, ...] = ()
    """Java's names; empty: what OpenSSL takes by itself."""
    endpoint_identification_algorithm: str = "https"
    """https: the client half checks the host name; empty: it does not."""
    principal_mapping_rules: str = "DEFAULT"
    allow_dn_changes: bool = False
    allow_san_changes: bool = False


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module of a JAAS text: `<class> required key="value" … ;`."""

    login_module: str
    options: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """`sasl.oauthbearer.*` and what of `sasl.login.*` a client with tokens needs."""

    jwks_endpoint_url: str | None = None
    jwks_endpoint_refresh_ms: int = 3_600_000
    jwks_endpoint_retry_backoff_ms: int = 100
    jwks_endpoint_retry_backoff_max_ms: int = 10_000
    expected_audience: tuple[str, ...] = ()
    expected_issuer: str | None = None
    scope_claim_name: str = "scope"
    sub_claim_name: str = "sub"
    clock_skew_s: int = 30
    token_endpoint_url: str | None = None
    login_connect_timeout_ms: int | None = None
    login_read_timeout_ms: int | None = None
    client_credentials_client_id: str | None = None
    """With the secret and the scope: in place of `clientId` etc. of the JAAS text."""
    client_credentials_client_secret: Secret | None = None
    scope: str | None = None
    response_max_bytes: int = 1_048_576
    """How much of an answer with keys or a token is read."""
    unsecured_tokens_allowed: bool = False
    """Whether a listener may take tokens that nobody signed."""


@dataclass(frozen=True, slots=True)
class MechanismSettings:
    """One SASL mechanism of one listener, or the one that a client uses."""

    name: str
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."""
    jaas: JaasEntry | None = None
    server_callback_class: str | PythonClass | None = None
    """A name of Kafka's, for what is built in, or a class that judges in its place."""
    login_callback_class: str | None = None
    max_reauth_ms: int = 0
    """`connections.max.reauth.ms`: how long a login is good; 0: for ever."""
    oauth: OAuthSettings = OAuthSettings()


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """SASL of one listener."""

    mechanisms: tuple[MechanismSettings, ...]
    """`sasl.enabled.mechanisms`, in the order in which they are told to clients."""
    server_max_receive_bytes: int = 524_288
    failed_authentication_delay_ms: int = 100
