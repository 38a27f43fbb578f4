"""Every key of a server's configuration.

`BROKER_CONFIG_DEF` holds Kafka's keys and, under the prefix `ottla.`, a few of our own. It sets no
value and checks none.
"""

from __future__ import annotations

from storage.config_def import ConfigDef

_KAFKA = ConfigDef.from_package("broker", "broker-configs.json")
OTTLA_CONFIG_DEF = ConfigDef.from_package("broker", "ottla-configs.json")
BROKER_CONFIG_DEF = ConfigDef([*_KAFKA.values(), *OTTLA_CONFIG_DEF.values()])
GROUP_CONFIG_DEF = ConfigDef.from_package("broker", "group-configs.json")

# Bytes a second; dynamic configs of brokers only, so not among the keys of a file (`QuotaConfig`).
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
RATES = (LEADER_RATE, FOLLOWER_RATE, MOVE_RATE)
