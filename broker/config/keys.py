"""Every key of a server's configuration.

`BROKER_CONFIG_DEF` holds Kafka's keys, those of its `StandardAuthorizer`, and, under the prefix
`ottla.`, a few of our own. It sets no
value and checks none.
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

# Bytes a second; dynamic configs of brokers only, so not among the keys of a file (`QuotaConfig`).
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RATES = (LEADER_RATE, FOLLOWER_RATE, MOVE_RATE)

LISTENER_PREFIX = "listener.name."
"""Before the keys of one listener: `broker.config.security.listener_keys`."""
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
"""What that prefix may stand before."""


def key_of(name: str, keys: Mapping[str, ConfigKey] = BROKER_CONFIG_DEF) -> str | None:
    """The key that `name` gives a value to: its own, or one behind a listener's prefix. None: no
    such key."""
    while name not in keys:
        _, dot, name = name.partition(".")
        if not dot:
            return None
    return name


def is_sensitive(name: str) -> bool:
    """Whether a value of `name` must not be shown. As in Kafka, one of an unknown key is, too."""
    key = key_of(name) if name.startswith(LISTENER_PREFIX) else name
    return key is None or key not in BROKER_CONFIG_DEF or BROKER_CONFIG_DEF[key].sensitive
