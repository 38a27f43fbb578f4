"""The DescribeConfigs description of each key: its value, the source of it, and other sources.

Takes what is set at each level and returns `ConfigEntry` values in name order. Sensitive values are
left out here, so that no caller can leak one.

Follows `kafka.server.ConfigHelper`; KIP-226 (sources and synonyms), KIP-569 (types).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from broker.config.keys import (
    AUTHORIZER_CONFIG_DEF,
    BROKER_CONFIG_DEF,
    GROUP_CONFIG_DEF,
    LISTENER_PREFIX,
    RATES,
    key_of,
)
from broker.config.values import BrokerConfig
from ground.config_def import (
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConfigSource,
    ConfigType,
    format_value,
)
from storage.log_config import LOG_CONFIG_DEF, SYNONYMS, LogConfig, server_defaults

# In Kafka only the authorizer knows its own keys. They are described like unknown keys, without
# values.
_LISTED = ConfigDef(
    [key for name, key in BROKER_CONFIG_DEF.items() if name not in AUTHORIZER_CONFIG_DEF]
)

# Keys that are described as settable while a server runs (DynamicBrokerConfig), besides the keys
# that give a topic config its default.
_DYNAMIC = (
    "background.threads",
    "config.providers",
    "cordoned.log.dirs",
    "errors.deadletterqueue.auto.create.topics.enable",
    "errors.deadletterqueue.topic.name.prefix",
    "follower.fetch.last.tiered.offset.enable",
    "group.consumer.assignment.interval.ms",
    "group.consumer.assignor.offload.enable",
    "group.coordinator.cached.buffer.max.bytes",
    "group.share.assignment.interval.ms",
    "group.share.assignor.offload.enable",
    "group.streams.assignment.interval.ms",
    "group.streams.assignor.offload.enable",
    "listener.security.protocol.map",
    "listeners",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "metric.reporters",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "principal.builder.class",
    "producer.id.expiration.ms",
    "remote.fetch.max.wait.ms",
    "remote.list.offsets.request.timeout.ms",
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.fetch.max.bytes.per.second",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
    "sasl.enabled.mechanisms",
    "sasl.jaas.config",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.mechanism.inter.broker.protocol",
    "share.coordinator.cached.buffer.max.bytes",
    "transaction.partition.verification.enable",
)
# The server keys that give a group config its default and do not have its name after `group.`.
_GROUP_DEFAULTS = {"streams.assignor.name": "group.streams.assignors"}
_STATIC_TLS = ("ssl.allow.dn.changes", "ssl.allow.san.changes", "ssl.principal.mapping.rules")

# The server keys that are synonyms of each other, the finest unit first.
_SERVER_SYNONYMS = {
    name: tuple(synonym for synonym, _ in synonyms)
    for synonyms in SYNONYMS.values()
    if len(synonyms) > 1
    for name, _ in synonyms
    if name != "log.flush.scheduler.interval.ms"
}
DYNAMIC_SERVER_KEYS = (*_DYNAMIC, *(synonyms[0][0] for synonyms in SYNONYMS.values()))


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """A source that gives, or would give, a key its value."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key of a resource in the form of DescribeConfigs."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    synonyms: tuple[ConfigSynonym, ...]


@dataclass(frozen=True, slots=True)
class ServerLevels:
    """The configs of a server: its file, and dynamic configs for it or for all servers."""

    config: BrokerConfig
    dynamic: Mapping[str, str] = field(default_factory=dict)
    dynamic_default: Mapping[str, str] = field(default_factory=dict)


def describe_topic(overrides: Mapping[str, str], server: ServerLevels) -> list[ConfigEntry]:
    """Return an entry for every config of a topic with these overrides, in name order; for an
    internal one only if it is set."""
    defaults = server_defaults(
        {**server.config.originals, **server.dynamic_default, **server.dynamic}
    )
    config = LogConfig.from_overrides(overrides, defaults)
    entries = []
    for name, key in _public(LOG_CONFIG_DEF, overrides):
        synonyms: list[ConfigSynonym] = []
        if name in config.overridden:
            text = _text(key, overrides[name])
            synonyms.append(ConfigSynonym(name, text, ConfigSource.TOPIC_CONFIG))
        if name in SYNONYMS:
            synonyms += _server_synonyms(SYNONYMS[name][0][0], server)
        value = format_value(getattr(config, key.attribute))
        entries.append(_entry(key, value, synonyms, read_only=False))
    return entries


def describe_server(server: ServerLevels) -> list[ConfigEntry]:
    """Return an entry for every public key of a server in name order, and for the other keys that
    are set.

    These are keys of the authorizer and of listeners, and unknown ones.
    """
    entries = []
    set_names = {*server.config.originals, *server.dynamic_default, *server.dynamic}
    for name, key in _public(_LISTED, set_names):
        synonyms = _server_synonyms(name, server)
        entries.append(_entry(key, _value(synonyms), synonyms, read_only=not is_dynamic(name)))
    for name in sorted(set_names.difference(_LISTED)):
        key, synonyms = _further_key(name), _server_synonyms(name, server)
        entries.append(_entry(key, _value(synonyms), synonyms, read_only=name not in RATES))
    return entries


def describe_all_servers(dynamic_default: Mapping[str, str]) -> list[ConfigEntry]:
    """Return an entry for each dynamic config of all servers (the resource without a name), with
    its value as it was written."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    entries = []
    for name, key in _public(_LISTED, dynamic_default):
        if name in dynamic_default:
            text = _written(key, dynamic_default[name])
            synonym = ConfigSynonym(name, text, source)
            entries.append(_entry(key, text, [synonym], read_only=not is_dynamic(name)))
    for name in sorted(set(dynamic_default).difference(_LISTED)):
        key = _further_key(name)
        text = _written(key, dynamic_default[name])
        synonyms = [ConfigSynonym(name, text, source)]
        if name.startswith(LISTENER_PREFIX) and (plain := key_of(name)) in dynamic_default:
            shown = _written(_key(str(plain)), dynamic_default[str(plain)])
            synonyms.append(ConfigSynonym(str(plain), shown, source))
        entries.append(_entry(key, text, synonyms, read_only=name not in RATES))
    return entries


def describe_group(overrides: Mapping[str, str], server: ServerLevels) -> list[ConfigEntry]:
    """Return an entry for every config of a consumer, share or streams group (KIP-848, KIP-932,
    KIP-1071), in name order; for an internal one only if it is set, with its text as it was
    written, as Kafka does."""
    entries = []
    for name, key in _public(GROUP_CONFIG_DEF, overrides):
        synonyms: list[ConfigSynonym] = []
        if name in overrides:
            text = overrides[name] if key.internal else _text(key, overrides[name])
            synonyms.append(ConfigSynonym(name, text, ConfigSource.GROUP_CONFIG))
        server_key = _GROUP_DEFAULTS.get(name, f"group.{name}")
        if server_key in _LISTED:
            synonyms += _server_synonyms(server_key, server)
        elif key.default is not None:
            synonyms.append(ConfigSynonym(name, key.default, ConfigSource.DEFAULT_CONFIG))
        value = synonyms[0].value if synonyms else None
        entries.append(_entry(key, value, synonyms, read_only=False))
    return entries


def is_dynamic(name: str) -> bool:
    """Return whether Kafka lets this server key change while the server runs."""
    if name.startswith("ssl."):
        return name not in _STATIC_TLS
    return name in DYNAMIC_SERVER_KEYS


def _public(keys: ConfigDef, set_keys: Container[str]) -> Iterator[tuple[str, ConfigKey]]:
    """Return the names and keys to describe, in name order: an internal one only if it is among
    `set_keys`."""
    return (
        (name, keys[name]) for name in sorted(keys) if not keys[name].internal or name in set_keys
    )


def _further_key(name: str) -> ConfigKey:
    """Return a key that is not in Kafka's list.

    A listener's key has the type of the plain key. An unknown key may be a secret, so it is
    described like one.
    """
    plain_key = key_of(name) if name.startswith(LISTENER_PREFIX) else None
    if plain_key is None:
        kind = ConfigType.LONG if name in RATES else ConfigType.UNKNOWN
        return ConfigKey(name, kind, None, False, False, lambda _name, _value: None)
    return replace(_LISTED[plain_key], name=name)


def _entry(
    key: ConfigKey, value: str | None, synonyms: Sequence[ConfigSynonym], *, read_only: bool
) -> ConfigEntry:
    """Return the key's line of an answer; its value is None if it must stay hidden."""
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    hidden = _is_hidden(key)
    shown = None if hidden else value
    return ConfigEntry(key.name, shown, source, read_only, hidden, key.type, tuple(synonyms))


def _server_synonyms(name: str, server: ServerLevels) -> list[ConfigSynonym]:
    """Return all sources that give `name` a value, the nearest first.

    As in Kafka, sources before the key's own name are left out, and a dynamic config is shown as it
    was written.
    """
    names = _SERVER_SYNONYMS.get(name, (name,))
    if name.startswith(LISTENER_PREFIX) and (plain := key_of(name)) is not None:
        names = (name, plain)
    levels = (
        (server.dynamic, ConfigSource.DYNAMIC_BROKER_CONFIG, _written),
        (server.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, _written),
        (_static(server.config), ConfigSource.STATIC_BROKER_CONFIG, _text),
        (_DEFAULTS, ConfigSource.DEFAULT_CONFIG, _default),
    )
    synonyms = [
        ConfigSynonym(synonym, shown(_key(synonym), texts[synonym]), source)
        for texts, source, shown in levels
        for synonym in names
        if synonym in texts
    ]
    own = next(
        (position for position, synonym in enumerate(synonyms) if synonym.name == name),
        len(synonyms),
    )
    return synonyms[own:]


def _key(name: str) -> ConfigKey:
    """Return the definition of a key, also of a key that Kafka does not list."""
    return _LISTED[name] if name in _LISTED else _further_key(name)


def _static(config: BrokerConfig) -> Mapping[str, str]:
    """Return the texts of the file, with the node's id also under its old name."""
    return {"broker.id": str(config.node_id), **config.originals}


def _text(key: ConfigKey, text: str) -> str | None:
    """Return a value in its usual form (trimmed, without repeated elements); None for a secret.

    Raises ConfigError if it cannot be read.
    """
    return None if _is_hidden(key) else format_value(key.parse(text))


def _default(key: ConfigKey, _unused: str) -> str | None:
    """Return the default of a key in its usual form; None for a secret."""
    return _default_texts()[key.name]


@cache
def _default_texts() -> dict[str, str | None]:
    """Return the default of each listed key as a description shows it."""
    return {name: _text(_LISTED[name], text) for name, text in _DEFAULTS.items()}


def _written(key: ConfigKey, text: str) -> str | None:
    """Return a value as it was written; None for a secret."""
    return None if _is_hidden(key) else text


def _value(synonyms: Sequence[ConfigSynonym]) -> str | None:
    """Return the value in force, that of the nearest source, in its usual form; None if there is
    none or it is a secret."""
    if not synonyms or synonyms[0].value is None:
        return None
    try:
        return _text(_key(synonyms[0].name), synonyms[0].value)
    except ConfigError:  # another release wrote it
        return synonyms[0].value


def _is_hidden(key: ConfigKey) -> bool:
    """Return whether a value of the key must not be shown, as of a secret or an unknown key."""
    return key.sensitive or key.type is ConfigType.UNKNOWN


_DEFAULTS = {key.name: key.default for key in _LISTED.values() if key.default is not None}
