"""The security of each listener of a node, and of its connections to brokers and controllers.

Turns texts into typed settings; it opens no store. Both halves of a listener read the same keys, as
in Kafka. A keystore has the certificate of the server and of the client, and the node itself logs
in with `username` and `password` of the JAAS text.

Follows Kafka's `ChannelBuilders`, `SslFactory` and `KafkaConfig`; KIP-103, KIP-684 (only its
own key makes a SASL_SSL listener ask for certificates).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

from broker.config.endpoints import EndPoint
from broker.config.plugins import BUILT_IN, PRINCIPAL_BUILDER, PythonClass, class_of
from broker.config.security.listener_keys import (
    Scope,
    listener_prefix,
    listener_scope,
    mechanism_scope,
)
from broker.config.security.mechanisms import (
    check_mechanism,
    client_mechanism,
    password_fault,
    server_mechanism,
)
from broker.config.security_settings import (
    ClientSecurity,
    ListenerSecurity,
    SaslSettings,
    Secret,
    TlsSettings,
)
from ground.config_def import ConfigError

_SECRET = ("keystore_password", "key_password", "keystore_key", "truststore_password")
_MAY_BE_EMPTY = ("endpoint_identification_algorithm",)
TLS_KEYS = {field.name: f"ssl.{field.name.replace('_', '.')}" for field in fields(TlsSettings)}
"""Kafka's key of each field of TlsSettings."""
_MECHANISMS = "sasl.enabled.mechanisms"
_CLIENT_AUTH = "ssl.client.auth"


@dataclass(frozen=True, slots=True)
class PeerListeners:
    """The listeners of other nodes to which a node connects."""

    inter_broker: str | None
    """The name of the listener between brokers; None on a node that is no broker."""
    controller: str
    protocols: Mapping[str, str]
    """The security protocol of each listener."""
    alone: bool
    """Whether this node is the whole cluster, as far as its configuration shows."""


def listener_security(
    texts: Mapping[str, str], listeners: Sequence[EndPoint]
) -> dict[str, ListenerSecurity]:
    """Return the server half of each listener. Raises ConfigError."""
    return {
        endpoint.listener_name: security_of_listener(
            texts, endpoint.listener_name, endpoint.security_protocol
        )
        for endpoint in listeners
    }


def security_of_listener(
    texts: Mapping[str, str], listener: str, protocol: str
) -> ListenerSecurity:
    """Return the server half of a listener. Raises ConfigError."""
    scope = listener_scope(texts, listener)
    tls = None
    if protocol.endswith("SSL"):
        tls = tls_settings(scope)
        if protocol == "SASL_SSL":
            own = cast(str, scope.nearest().value(_CLIENT_AUTH))
            tls = replace(tls, client_auth=own)
    sasl = _sasl_settings(scope, texts, listener, protocol) if protocol.startswith("SASL") else None
    builder = class_of(
        scope.name(PRINCIPAL_BUILDER),
        scope.text(PRINCIPAL_BUILDER),
        BUILT_IN[PRINCIPAL_BUILDER],
    )
    builder_class = builder if isinstance(builder, PythonClass) else None
    return ListenerSecurity(listener, protocol, tls, sasl, builder_class)


def tls_settings(scope: Scope) -> TlsSettings:
    """Return the `ssl.*` settings of a scope. Raises ConfigError."""
    values = {field: _tls_value(field, scope.value(key)) for field, key in TLS_KEYS.items()}
    return TlsSettings(**values)  # type: ignore[arg-type]


def _tls_value(field: str, value: object) -> object:
    """Return the value of a field of TlsSettings: a Secret for a password or key, and None for an
    empty text."""
    if field in _SECRET:
        return None if value is None else Secret(str(value))
    return None if value == "" and field not in _MAY_BE_EMPTY else value


def _sasl_settings(
    scope: Scope, texts: Mapping[str, str], listener: str, protocol: str
) -> SaslSettings:
    """Return what the listener requires of SASL clients.

    Raises ConfigError if it offers no mechanism, an unknown one, or one without its settings.
    """
    own = f"{listener_prefix(listener)}{_MECHANISMS}"
    where = f"listener {listener} ({protocol})"
    names = cast(tuple[str, ...], scope.value(_MECHANISMS))
    if not names:
        raise ConfigError(
            own, f"{scope.name(_MECHANISMS)} is empty, but {where} needs one; set {own}"
        )
    for name in names:
        check_mechanism(scope.name(_MECHANISMS), where, name)
    return SaslSettings(
        tuple(
            server_mechanism(mechanism_scope(texts, listener, name), listener, name)
            for name in names
        ),
        cast(int, scope.value("sasl.server.max.receive.size")),
        cast(int, Scope(texts).value("connection.failed.authentication.delay.ms")),
    )


# --- the client halves ---------------------------------------------------------------------------


def inter_broker_security(
    texts: Mapping[str, str], peers: PeerListeners, servers: Mapping[str, ListenerSecurity]
) -> ClientSecurity:
    """Return the security of this node's connections to brokers; PLAINTEXT if this node is no
    broker. Raises ConfigError."""
    if peers.inter_broker is None:
        return ClientSecurity()
    return _client_security(
        texts, peers, servers, peers.inter_broker, "sasl.mechanism.inter.broker.protocol"
    )


def controller_security(
    texts: Mapping[str, str], peers: PeerListeners, servers: Mapping[str, ListenerSecurity]
) -> ClientSecurity:
    """Return the security of this node's connections to controllers. Raises ConfigError."""
    return _client_security(
        texts, peers, servers, peers.controller, "sasl.mechanism.controller.protocol"
    )


def _client_security(
    texts: Mapping[str, str],
    peers: PeerListeners,
    servers: Mapping[str, ListenerSecurity],
    listener: str,
    mechanism_key: str,
) -> ClientSecurity:
    """Return how this node connects to other nodes on the listener.

    Raises ConfigError if the listener does not offer the chosen mechanism, or if credentials are
    missing although the cluster has other nodes.
    """
    protocol = peers.protocols.get(listener, "PLAINTEXT")
    scope = listener_scope(texts, listener)
    tls = tls_settings(scope) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return ClientSecurity(protocol, tls)
    name = cast(str, Scope(texts).value(mechanism_key))
    check_mechanism(mechanism_key, f"listener {listener} ({protocol})", name)
    server = servers.get(listener)
    enabled = (
        [mechanism.name for mechanism in server.sasl.mechanisms]
        if server and server.sasl
        else [name]
    )
    if name not in enabled:
        text = (
            f"{mechanism_key}={name} must be included in {scope.name(_MECHANISMS)} "
            f"({','.join(enabled)}): nodes connect to each other on listener {listener}"
        )
        raise ConfigError(mechanism_key, text)
    mechanisms = mechanism_scope(texts, listener, name)
    purpose = f"this node logs in to listener {listener} of others"
    mechanism = client_mechanism(mechanisms, purpose, name, mechanisms.nearest())
    fault = password_fault(mechanism)
    if fault is not None and not peers.alone:
        raise ConfigError(mechanism_key, _no_credentials_text(texts, listener, name, fault))
    return ClientSecurity(protocol, tls, mechanism)


def _no_credentials_text(texts: Mapping[str, str], listener: str, name: str, fault: str) -> str:
    """Return the error for a node that cannot log in to others: `fault` is missing."""
    key = mechanism_scope(texts, listener, name).name("sasl.jaas.config")
    return f"{key} has no {fault}: this node logs in to others by them; add them"


# --- warnings ------------------------------------------------------------------------------------


def security_warnings(
    texts: Mapping[str, str],
    servers: Mapping[str, ListenerSecurity],
) -> Iterator[str]:
    """Yield warnings about keys without effect."""
    client_auth = str(Scope(texts).value(_CLIENT_AUTH))
    for server in servers.values():
        own = f"{listener_prefix(server.listener_name)}{_CLIENT_AUTH}"
        if server.security_protocol == "SASL_SSL" and client_auth != "none" and own not in texts:
            yield (
                f"{_CLIENT_AUTH}={client_auth} does not apply to listener {server.listener_name} "
                f"(SASL_SSL): set {own} to ask for certificates there"
            )


def open_controllers(
    texts: Mapping[str, str],
    listeners: Sequence[EndPoint],
    servers: Mapping[str, ListenerSecurity],
    controllers: Sequence[str],
) -> Iterator[str]:
    """Yield a warning for each controller listener without a login, if clients need a login.

    Without an authorizer any client could create topics and users through such a listener. A
    listener with port 0 is left out, because no other node knows its port.
    """
    of_clients = [server for name, server in servers.items() if name not in controllers]
    if texts.get("authorizer.class.name") or not all(map(_needs_login, of_clients)):
        return
    for endpoint in listeners:
        name = endpoint.listener_name
        if of_clients and name in controllers and endpoint.port and not _needs_login(servers[name]):
            yield (
                f"listener {name} ({endpoint.security_protocol}) needs no login, and is enough to "
                "change everything in this cluster, though clients need one: give it SASL, or SSL "
                "with ssl.client.auth=required, or set authorizer.class.name"
            )


def _needs_login(server: ListenerSecurity) -> bool:
    """Return whether the listener's clients need SASL or a certificate."""
    return server.sasl is not None or (
        server.tls is not None and server.tls.client_auth == "required"
    )
