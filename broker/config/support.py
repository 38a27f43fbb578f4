"""What Ottla does with each of Kafka's keys: serves it, refuses it, or says that it ignores it.

A key that guards something (TLS, SASL, authorization, policies) is refused when it is set, since a
broker that quietly left it out would be open where its owner believes it closed. A key that only
tunes something is taken with a warning. A value equal to Kafka's default is always fine.

It never looks at values beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.config.group_configs import limits_group_configs
from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.values import BrokerConfig
from storage.config_def import ConfigError
from storage.log_config import SYNONYMS

# Prefix or whole name → why it is refused.
_REFUSED: dict[str, str] = {
    "sasl.": "SASL is not supported yet",
    "ssl.": "TLS is not supported yet",
    "delegation.token.": "delegation tokens are not supported yet",
    "authorizer.class.name": "authorization is not supported yet",
    "connections.max.reauth.ms": "SASL is not supported yet",
    "principal.builder.class": "Java classes cannot be loaded",
    "security.providers": "Java classes cannot be loaded",
    "client.quota.callback.class": "Java classes cannot be loaded",
    "create.topic.policy.class.name": "Java classes cannot be loaded",
    "alter.config.policy.class.name": "Java classes cannot be loaded",
    "config.providers": "config providers are not supported",
    "security.inter.broker.protocol": "TLS and SASL are not supported yet",
    "controller.quorum.auto.join.enable": "a dynamic quorum is not supported yet",
    "remote.log.storage.system.enable": "tiered storage is not supported",
    "transaction.two.phase.commit.enable": "two-phase commit is not supported",
    "cordoned.log.dirs": "cordoned log directories are not supported yet",
}

# Known to people who come from Kafka before 4.0.
_REMOVED_IN_4_0 = (
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "zookeeper.session.timeout.ms",
    "inter.broker.protocol.version",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "offsets.commit.required.acks",
    "broker.id.generation.enable",
    "control.plane.listener.name",
)

# Read where the configuration is made: the value in force stands under another name.
_FOLDED = ("listener.security.protocol.map", "log.dir")
# Checked, as Kafka does, and no more.
_ONLY_CHECKED = (
    "connection.failed.authentication.delay.ms",
    "group.coordinator.rebalance.protocols",
)
_TOPIC_DEFAULTS = frozenset(name for names in SYNONYMS.values() for name, _ in names)
_ATTRIBUTES = frozenset(BrokerConfig._fields)

SERVED = tuple(
    name
    for name, key in BROKER_CONFIG_DEF.items()
    if (key.attribute in _ATTRIBUTES or name in _TOPIC_DEFAULTS or name in _FOLDED)
    and name not in _ONLY_CHECKED
)
"""Keys that some part of Ottla reads, or that give a topic config its default, our own included."""

# Guards against nothing and tells nobody anything: of no effect here, so not worth a warning.
_QUIET = (
    "delete.records.purgatory.purge.interval.requests",
    "fetch.purgatory.purge.interval.requests",
    "metric.reporters",
    "producer.purgatory.purge.interval.requests",
    "security.inter.broker.protocol",
)

# Kept and told to clients, but the work that goes by them is a later step.
_NOT_ACTED_ON = (
    "log.local.retention.",
    "log.preallocate",
)


def unknown_key(name: str) -> ConfigError:
    """The refusal of a key that neither Kafka nor Ottla has, with the nearest that exists."""
    if name in _REMOVED_IN_4_0:
        return ConfigError(name, f"{name} was removed in Apache Kafka 4.0; remove it")
    if name.startswith("listener.name."):
        return ConfigError(name, f"{name}: overrides of one listener are not supported yet")
    import difflib  # only where something is wrong: a start must stay fast

    near = difflib.get_close_matches(name, list(BROKER_CONFIG_DEF), n=1, cutoff=0.75)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigError(name, f"unknown configuration key {name}{hint}")


def refuse_what_is_not_served(texts: Mapping[str, str]) -> None:
    """Raise ConfigError for a guarding key set to something else than Kafka's default."""
    for name, text in texts.items():
        if not is_default(name, text):
            reason = _REFUSED.get(name) or next(
                (
                    why
                    for start, why in _REFUSED.items()
                    if start[-1] == "." and name.startswith(start)
                ),
                None,
            )
            if reason is not None:
                raise ConfigError(name, f"{name} is set, but {reason}; remove it")


def ignored_keys(texts: Mapping[str, str]) -> Iterator[str]:
    """One warning for each key that is set to something of no effect here."""
    for name, text in texts.items():
        if is_default(name, text):
            continue
        if name in SERVED and name.startswith(_NOT_ACTED_ON):
            yield f"{name}={text} is kept and told to clients, but has no effect yet"
        elif limits_group_configs(name):
            yield f"{name}={text} applies to configs of groups that Ottla does not support yet"
        elif name not in SERVED and name not in _QUIET:
            yield f"{name}={shown(name, text)} is ignored: Ottla does not support this key yet"


def is_default(name: str, text: str) -> bool:
    """Whether the text means what Kafka takes when the key is absent."""
    key = BROKER_CONFIG_DEF[name]
    if key.required or key.default is None:
        return False
    try:
        return key.parse(text) == key.parse(key.default)
    except ConfigError:
        return False


def shown(name: str, text: str) -> str:
    """A value as it may be printed."""
    return "[hidden]" if BROKER_CONFIG_DEF[name].sensitive else text
