"""Ottla's treatment of Kafka's keys: it serves a key, rejects it, or ignores it with a warning.

A key of an unsupported feature on which an owner relies is rejected if it is set, such as Java
classes of security, or tiered storage. A broker that silently ignored it would do less than its
owner believes. Any other unsupported key is accepted with a warning. A value equal to Kafka's
default is always accepted. The same rules apply to a key of a listener
(`listener.name.<listener>.<key>`).

It never checks values beyond that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from broker.config.group_configs import limits_group_configs
from broker.config.keys import (
    AUTHORIZER_CONFIG_DEF,
    BROKER_CONFIG_DEF,
    LISTENER_KEYS,
    LISTENER_PREFIX,
    key_of,
)
from broker.config.values import BrokerConfig, shown
from ground.config_def import ConfigError
from storage.log_config import LOG_CONFIG_DEF, SYNONYMS

# The reasons for rejecting a key, by its prefix or whole name.
_REFUSED: dict[str, str] = {
    "sasl.client.callback.handler.class": "Java classes cannot be loaded",
    "sasl.oauthbearer.jwt.retriever.class": "Java classes cannot be loaded",
    "sasl.oauthbearer.jwt.validator.class": "Java classes cannot be loaded",
    "security.providers": "Java classes cannot be loaded",
    "ssl.engine.factory.class": "Java classes cannot be loaded",
    "remote.log.storage.system.enable": "tiered storage is not supported",
    "transaction.two.phase.commit.enable": "two-phase commit is not supported",
    "cordoned.log.dirs": "cordoned log directories are not supported yet",
}

# Keys that users of Kafka before 4.0 know.
_REMOVED_IN_4_0 = (
    "inter.broker.protocol.version",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "offsets.commit.required.acks",
    "broker.id.generation.enable",
    "control.plane.listener.name",
)

# Read while the configuration is created: the value in force has another name, or none.
_FOLDED = ("listener.security.protocol.map", "log.dir", "ottla.unknown.keys")
# Read by name in `broker.config.group_configs`.
_LIMITS_OF_GROUPS = tuple(
    f"group.{kind}.{end}.{name}.ms"
    for kind in ("consumer", "share")
    for end in ("min", "max")
    for name in ("assignment.interval", "heartbeat.interval", "session.timeout")
)
_LIMITS_OF_DELIVERIES = tuple(
    f"group.share.{end}.{name}"
    for end in ("min", "max")
    for name in ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")
)
_TOPIC_DEFAULTS = frozenset(name for names in SYNONYMS.values() for name, _ in names)
_ATTRIBUTES = frozenset(BrokerConfig._fields)

# Read by `broker.config.security` for each listener, so they have no attribute.
SECURITY_KEYS = (
    "config.providers",
    "connections.max.reauth.ms",
    "principal.builder.class",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
    "ottla.sasl.oauthbearer.response.max.bytes",
    "ottla.sasl.oauthbearer.unsecured.tokens.allowed",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
    "security.inter.broker.protocol",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.principal.mapping.rules",
    "ssl.protocol",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
# Read by name where it is used, so that no attribute shows it.
SECRET_KEYS = ("delegation.token.secret.key",)
SERVED = tuple(
    name
    for name, key in BROKER_CONFIG_DEF.items()
    if key.attribute in _ATTRIBUTES
    or name in _TOPIC_DEFAULTS
    or name in _FOLDED
    or name in SECURITY_KEYS
    or name in SECRET_KEYS
    or name in _LIMITS_OF_GROUPS
    or name in _LIMITS_OF_DELIVERIES
)
"""The keys, including Ottla's own, that some module reads or that are defaults of topic configs."""

_BY_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)
"""The keys that are read only with the prefix of a listener and a mechanism."""
_JAVA_ONLY = (
    "ssl.keymanager.algorithm",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
)
"""The keys that choose between implementations inside Java."""

# They have no effect here, and no user relies on their effect, so they get no warning.
_QUIET = (
    "delete.records.purgatory.purge.interval.requests",
    "fetch.purgatory.purge.interval.requests",
    "metric.reporters",
    "producer.purgatory.purge.interval.requests",
    "share.fetch.purgatory.purge.interval.requests",
)

# These groups are supported, but their assignors never run in another thread.
_OFFLOAD = ("group.consumer.assignor.offload.enable", "group.share.assignor.offload.enable")
_EARLY = "early.start.listeners"

# Stored and described to clients, but without effect so far.
_NOT_ACTED_ON = (
    "log.local.retention.",
    "log.preallocate",
    "log.remote.copy.lag.",
)
_TOPIC_NOT_ACTED_ON = ("remote.log.",)
"""The prefix of such configs of topics for which a server has no key."""


def is_of_zookeeper(name: str) -> bool:
    """Return whether a key is about the connection to ZooKeeper, which Kafka 4.0 removed."""
    return name.startswith("zookeeper.")


def unknown_key(name: str) -> ConfigError:
    """Return the error for a key that neither Kafka nor Ottla has, with the most similar key."""
    if name in _REMOVED_IN_4_0 or is_of_zookeeper(name):
        return ConfigError(name, f"{name} was removed in Apache Kafka 4.0; leave it out")
    if name == "java.security.auth.login.config":
        text = (
            f"{name} is a property of Java; put what stands in its section KafkaServer into "
            "listener.name.<listener>.<mechanism>.sasl.jaas.config, or name the file in "
            "the option --jaas-config of ottla serve"
        )
        return ConfigError(name, text)
    import difflib  # only after an error: a start must stay fast

    near = difflib.get_close_matches(name, list(BROKER_CONFIG_DEF), n=1, cutoff=0.75)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigError(name, f"unknown configuration key {name}{hint}")


def _are_of_controllers(listeners: str, texts: Mapping[str, str]) -> bool:
    """Return whether `listeners` names only controllers' listeners, which open before the ACLs are
    known."""
    controllers = texts.get("controller.listener.names", "").split(",")
    names = [name.strip() for name in controllers]
    return all(name.strip() in names for name in listeners.split(","))


def reject_unsupported_keys(texts: Mapping[str, str]) -> None:
    """Raise ConfigError if a key of `_REFUSED`, such as one of tiered storage, has another value
    than Kafka's default."""
    for name, text in texts.items():
        key = _key(name)
        if key is None or is_default(name, text):
            continue
        reason = _REFUSED.get(key) or next(
            (why for start, why in _REFUSED.items() if start[-1] == "." and key.startswith(start)),
            None,
        )
        if reason is not None:
            raise ConfigError(name, f"{name} is set, but {reason}; leave it out")


def ignored_keys(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each key whose value has no effect here and is not Kafka's default."""
    for name, text in texts.items():
        key = _key(name)
        if key is None or is_default(name, text):
            continue
        setting = f"{name}={shown(name, text)}"
        if key in SERVED and key.startswith(_NOT_ACTED_ON):
            yield f"{setting} is kept and told to clients, but has no effect yet"
        elif limits_group_configs(key) and key not in (*SERVED, *_OFFLOAD):
            yield f"{setting} applies to configs of groups that Ottla does not support yet"
        elif name in _BY_MECHANISM:
            yield f"{name} is ignored: set listener.name.<listener>.<mechanism>.{name}"
        elif key in _JAVA_ONLY:
            yield f"{setting} is ignored: it chooses between implementations of Java"
        elif key.startswith("sasl.kerberos."):
            yield f"{setting} is ignored: Kerberos (GSSAPI) is not supported"
        elif key not in SERVED and key not in _QUIET and key != _EARLY:
            yield f"{setting} is ignored: Ottla does not support this key yet"
    yield from _ignored_of_authorizer(texts)


def ignored_topic_configs(configs: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each config of a topic that has no effect here and is not Kafka's
    default.

    `configs` are valid.
    """
    for name, text in configs.items():
        key = LOG_CONFIG_DEF[name]
        servers = [server_key for server_key, _ in SYNONYMS.get(name, ())]
        without_effect = name.startswith(_TOPIC_NOT_ACTED_ON) or any(
            server_key.startswith(_NOT_ACTED_ON) for server_key in servers
        )
        if without_effect and key.parse(text) != key.parse(key.default):
            yield f"{name}={text} is kept and told to clients, but has no effect yet"


def _ignored_of_authorizer(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each key of the authorizer that has no effect on this node."""
    has_authorizer = bool(texts.get("authorizer.class.name", "").strip())
    for name, text in texts.items():
        if name in AUTHORIZER_CONFIG_DEF and not has_authorizer and not is_default(name, text):
            yield (
                f"{name}={text} is ignored: authorizer.class.name is not set, and everybody may "
                "do everything"
            )
    early = texts.get(_EARLY, "")
    if early.strip() and not _are_of_controllers(early, texts):
        yield f"{_EARLY}={early} is ignored: a broker's listeners open when it knows the ACLs"


def unused_security(texts: Mapping[str, str], protocols: Collection[str]) -> Iterator[str]:
    """Yield a warning if TLS or SASL is set up and no protocol in `protocols` uses it."""
    for start, used_by in (("ssl.", "SSL"), ("sasl.", "SASL")):
        names = [
            name for name in texts if name.startswith(start) and not is_default(name, texts[name])
        ]
        if names and not any(used_by in protocol.split("_") for protocol in protocols):
            both = f"{used_by} or SASL_SSL" if used_by == "SSL" else "SASL_PLAINTEXT or SASL_SSL"
            yield (
                f"{names[0]} has no effect: no listener is {both}; "
                "listener.security.protocol.map says what each is"
            )


def _key(name: str) -> str | None:
    """Return the key that `name` sets, without a listener's prefix; None if there is none."""
    if name.startswith(LISTENER_PREFIX):
        key = key_of(name)
        return key if key in LISTENER_KEYS else None  # `check_listener_keys` handles the others
    return name if name in BROKER_CONFIG_DEF else None


def is_default(name: str, text: str) -> bool:
    """Return whether a text means the same as Kafka's default; False for an unknown key."""
    plain_name = _key(name)
    if plain_name is None:
        return False
    key = BROKER_CONFIG_DEF[plain_name]
    if key.required or key.default is None:
        return False
    try:
        return key.parse(text) == key.parse(key.default)
    except ConfigError:
        return False
