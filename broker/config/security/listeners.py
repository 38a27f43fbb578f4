"""How each listener of a node is secured, and how the node connects to brokers and controllers.

Texts in, typed settings out; it opens no store. Both halves of a listener read the same keys, as in
Kafka: a keystore is the certificate of the server and of the client, `username` and `password` of
the JAAS text are what the node itself logs in by.

Follows Kafka's `ChannelBuilders`, `SslFactory` and `KafkaConfig` 4.3; KIP-103, KIP-684 (a SASL_SSL
listener asks for certificates only by its own key).
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
TLS_KEYS = {one.name: f"ssl.{one.name.replace('_', '.')}" for one in fields(TlsSettings)}
"""Field of TlsSettings → Kafka's key."""
_MECHANISMS = "sasl.enabled.mechanisms"
_CLIENT_AUTH = "ssl.client.auth"


@dataclass(frozen=True, slots=True)
class Peers:
    """Whom a node connects to: the listeners of the others, and whether there are others."""

    inter_broker: str | None
    """Its name; None on a node that is no broker."""
    controller: str
    protocols: Mapping[str, str]
    """Listener → security protocol."""
    alone: bool
    """This node is the whole cluster, as far as its configuration tells."""


def listener_security(
    texts: Mapping[str, str], listeners: Sequence[EndPoint]
) -> dict[str, ListenerSecurity]:
    """The server half of each listener. Raises ConfigError."""
    return {
        one.listener_name: one_listener(texts, one.listener_name, one.security_protocol)
        for one in listeners
    }


def one_listener(texts: Mapping[str, str], listener: str, protocol: str) -> ListenerSecurity:
    """The server half of one listener. Raises ConfigError."""
    scope = listener_scope(texts, listener)
    tls = None
    if protocol.endswith("SSL"):
        tls = tls_settings(scope)
        if protocol == "SASL_SSL":
            own = cast(str, scope.nearest().value(_CLIENT_AUTH))
            tls = replace(tls, client_auth=own)
    sasl = _sasl(scope, texts, listener, protocol) if protocol.startswith("SASL") else None
    builder = class_of(
        scope.name(PRINCIPAL_BUILDER),
        scope.text(PRINCIPAL_BUILDER),
        BUILT_IN[PRINCIPAL_BUILDER],
    )
    named = builder if isinstance(builder, PythonClass) else None
    return ListenerSecurity(listener, protocol, tls, sasl, named)


def tls_settings(scope: Scope) -> TlsSettings:
    """`ssl.*` as `scope` finds it. Raises ConfigError."""
    values = {field: _tls_value(field, scope.value(key)) for field, key in TLS_KEYS.items()}
    return TlsSettings(**values)  # type: ignore[arg-type]


def _tls_value(field: str, value: object) -> object:
    if field in _SECRET:
        return None if value is None else Secret(str(value))
    return None if value == "" and field not in _MAY_BE_EMPTY else value


def _sasl(scope: Scope, texts: Mapping[str, str], listener: str, protocol: str) -> SaslSettings:
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
    texts: Mapping[str, str], peers: Peers, servers: Mapping[str, ListenerSecurity]
) -> ClientSecurity:
    """How this node connects to brokers. Raises ConfigError."""
    if peers.inter_broker is None:
        return ClientSecurity()
    return _client(
        texts, peers, servers, peers.inter_broker, "sasl.mechanism.inter.broker.protocol"
    )


def controller_security(
    texts: Mapping[str, str], peers: Peers, servers: Mapping[str, ListenerSecurity]
) -> ClientSecurity:
    """How this node connects to controllers. Raises ConfigError."""
    return _client(texts, peers, servers, peers.controller, "sasl.mechanism.controller.protocol")


def _client(
    texts: Mapping[str, str],
    peers: Peers,
    servers: Mapping[str, ListenerSecurity],
    listener: str,
    mechanism_key: str,
) -> ClientSecurity:
    protocol = peers.protocols.get(listener, "PLAINTEXT")
    scope = listener_scope(texts, listener)
    tls = tls_settings(scope) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return ClientSecurity(protocol, tls)
    name = cast(str, Scope(texts).value(mechanism_key))
    check_mechanism(mechanism_key, f"listener {listener} ({protocol})", name)
    server = servers.get(listener)
    enabled = [one.name for one in server.sasl.mechanisms] if server and server.sasl else [name]
    if name not in enabled:
        text = (
            f"{mechanism_key}={name} must be included in {scope.name(_MECHANISMS)} "
            f"({','.join(enabled)}): nodes connect to each other on listener {listener}"
        )
        raise ConfigError(mechanism_key, text)
    mechanisms = mechanism_scope(texts, listener, name)
    who = f"this node logs in to listener {listener} of others"
    mechanism = client_mechanism(mechanisms, who, name, mechanisms.nearest())
    fault = password_fault(mechanism)
    if fault is not None and not peers.alone:
        raise ConfigError(mechanism_key, _without_credentials(texts, listener, name, fault))
    return ClientSecurity(protocol, tls, mechanism)


def _without_credentials(texts: Mapping[str, str], listener: str, name: str, fault: str) -> str:
    key = mechanism_scope(texts, listener, name).name("sasl.jaas.config")
    return f"{key} has no {fault}: this node logs in to others by them; add them"


# --- warnings ------------------------------------------------------------------------------------


def security_warnings(
    texts: Mapping[str, str],
    servers: Mapping[str, ListenerSecurity],
    clients: Mapping[str, ClientSecurity],
) -> Iterator[str]:
    """What is set and has no effect, or will be missed later. `clients`: by listener."""
    for listener, client in clients.items():
        fault = None if client.mechanism is None else password_fault(client.mechanism)
        if fault is not None and client.mechanism is not None:
            yield _without_credentials(texts, listener, client.mechanism.name, fault)
    asked = str(Scope(texts).value(_CLIENT_AUTH))
    for one in servers.values():
        own = f"{listener_prefix(one.listener_name)}{_CLIENT_AUTH}"
        if one.security_protocol == "SASL_SSL" and asked != "none" and own not in texts:
            yield (
                f"{_CLIENT_AUTH}={asked} does not apply to listener {one.listener_name} "
                f"(SASL_SSL): set {own} to ask for certificates there"
            )


def open_controllers(
    texts: Mapping[str, str],
    listeners: Sequence[EndPoint],
    servers: Mapping[str, ListenerSecurity],
    controllers: Sequence[str],
) -> Iterator[str]:
    """Controller listeners that need no login, where clients need one and nobody judges: through
    them anybody may make topics and users. A listener without a port of its own has no peers."""
    of_clients = [one for name, one in servers.items() if name not in controllers]
    if texts.get("authorizer.class.name") or not all(map(_needs_login, of_clients)):
        return
    for one in listeners:
        name = one.listener_name
        if of_clients and name in controllers and one.port and not _needs_login(servers[name]):
            yield (
                f"listener {name} ({one.security_protocol}) needs no login, and is enough to "
                "change everything in this cluster, though clients need one: give it SASL, or SSL "
                "with ssl.client.auth=required, or set authorizer.class.name"
            )


def _needs_login(server: ListenerSecurity) -> bool:
    return server.sasl is not None or (
        server.tls is not None and server.tls.client_auth == "required"
    )
