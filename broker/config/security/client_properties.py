"""The security of a command's connections, from the keys of a `--command-config` file.

Turns Kafka's client keys into a `ClientSecurity`. Keys that Kafka's clients do not know are ignored
with a warning, as by Kafka's tools. It reads no file (`broker.config.file.load_client_security`).

Follows Kafka's `AdminClientConfig`, `CommonClientConfigs`, `SaslConfigs` and `SslConfigs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.config.endpoints import SECURITY_PROTOCOLS
from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.security.listener_keys import Scope
from broker.config.security.listeners import TLS_KEYS, tls_settings
from broker.config.security.mechanisms import (
    OAUTH_KEYS,
    check_mechanism,
    client_mechanism,
    password_fault,
)
from broker.config.security_settings import ClientSecurity
from ground.config_def import ConfigError

_PROTOCOL = "security.protocol"
_MECHANISM = "sasl.mechanism"
_READ = (
    _PROTOCOL,
    _MECHANISM,
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    *TLS_KEYS.values(),
    *OAUTH_KEYS.values(),
)
# Keys of Kafka's clients that do not concern security.
_OTHERS = (
    "bootstrap.controllers",
    "bootstrap.servers",
    "client.dns.lookup",
    "client.id",
    "config.providers",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "enable.metrics.push",
    "group.id",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)

_NAMED_MAX = 3
"""The most unknown keys that warnings name: a file with more is probably not a client's."""


def client_security(texts: Mapping[str, str]) -> ClientSecurity:
    """Return the security of a client's connections. Raises ConfigError that names the key."""
    protocol = texts.get(_PROTOCOL, "PLAINTEXT").strip().upper()
    if protocol not in SECURITY_PROTOCOLS:
        reason = f"String must be one of: {', '.join(SECURITY_PROTOCOLS)}"
        raise ConfigError.invalid(_PROTOCOL, texts[_PROTOCOL], reason)
    scope = Scope(texts)
    tls = tls_settings(scope) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return ClientSecurity(protocol, tls)
    name = texts.get(_MECHANISM, "GSSAPI").strip()
    check_mechanism(_MECHANISM, f"{_PROTOCOL}={protocol}", name)
    mechanism = client_mechanism(scope, "the client logs in", name)
    fault = password_fault(mechanism)
    if fault is not None:
        raise ConfigError("sasl.jaas.config", f"sasl.jaas.config has no {fault}; add them")
    return ClientSecurity(protocol, tls, mechanism)


def client_warnings(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each ignored key that may matter; one warning for many unknown keys."""
    unknown: list[str] = []
    for name in texts:
        if name in _READ or name in _OTHERS or name.startswith("config.providers."):
            continue
        if name in BROKER_CONFIG_DEF and name.startswith(("ssl.", "sasl.", "security.")):
            yield f"{name} is ignored: Ottla does not support this key in a client"
        else:
            unknown.append(name)
    if len(unknown) > _NAMED_MAX:
        examples = ", ".join(unknown[:_NAMED_MAX])
        yield (
            f"{examples} and {len(unknown) - _NAMED_MAX} more are ignored: "
            "are they keys of a client?"
        )
    else:
        yield from (f"{name} is ignored: it is not a key of a client" for name in unknown)
