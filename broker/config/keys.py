"""The definitions of all keys of a server's configuration.

`BROKER_CONFIG_DEF` has Kafka's keys, those of its `StandardAuthorizer`, and a few of Ottla's own
with the prefix `ottla.`. It sets no value and checks none.
"""

from __future__ import annotations

from collections.abc import Mapping

from ground.config_def import ConfigDef, ConfigKey

_KAFKA = ConfigDef.from_package("broker", "broker-configs.json")
OTTLA_CONFIG_DEF = ConfigDef.from_package("broker", "ottla-configs.json")
AUTHORIZER_CONFIG_DEF = ConfigDef.from_package("broker", "authorizer-configs.json")
BROKER_CONFIG_DEF = ConfigDef(
    [*_KAFKA.values(), *AUTHORIZER_CONFIG_DEF.values(), *OTTLA_CONFIG_DEF.values()]
)
GROUP_CONFIG_DEF = ConfigDef.from_package("broker", "group-configs.json")

# Rates in bytes a second. They are dynamic configs of brokers only (Kafka's `QuotaConfig`), and so
# no keys of a file.
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RATES = (LEADER_RATE, FOLLOWER_RATE, MOVE_RATE)

LISTENER_PREFIX = "listener.name."
"""The prefix of a listener's own keys: see `broker.config.security.listener_keys`."""
_OF_CONNECTIONS = (
    "connections.max.reauth.ms",
    "max.connection.creation.rate",
    "max.connections",
    "num.network.threads",
    "principal.builder.class",
)
LISTENER_KEYS = tuple(
    name
    for name in BROKER_CONFIG_DEF
    if name.startswith(("ssl.", "sasl.")) or name in _OF_CONNECTIONS
)
"""The keys that may follow `LISTENER_PREFIX`."""


def key_of(name: str, keys: Mapping[str, ConfigKey] = BROKER_CONFIG_DEF) -> str | None:
    """Return the key that `name` sets: itself, or the key after a listener's prefix, or None."""
    while name not in keys:
        _, dot, name = name.partition(".")
        if not dot:
            return None
    return name


def is_sensitive(name: str) -> bool:
    """Return whether a value of `name` must not be shown; True for an unknown key, as in Kafka."""
    key = key_of(name) if name.startswith(LISTENER_PREFIX) else name
    return key is None or key not in BROKER_CONFIG_DEF or BROKER_CONFIG_DEF[key].sensitive
