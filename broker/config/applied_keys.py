"""The keys that a running node applies when they change, except the security of its listeners.

Has only names: `broker.config.in_force` has the values, `broker.config.dynamic` rejects other keys.
Follows KIP-226.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.config.endpoints import ListenerLimits
from broker.config.keys import LISTENER_PREFIX
from broker.config.values import BrokerConfig
from storage.log_config import SYNONYMS

TOPIC_DEFAULTS = tuple(synonyms[0][0] for synonyms in SYNONYMS.values())
CLEANER_KEYS = (
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
)
THREAD_KEYS = (
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "num.io.threads",
    "background.threads",
)
_CONNECTION_KEYS = (
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
)
LISTENER_LIMIT_KEYS = ("max.connection.creation.rate", "max.connections", "num.network.threads")
"""The keys of a listener that may change besides its security, also for all brokers at once."""
_PRODUCER_KEYS = ("producer.id.expiration.ms", "transaction.partition.verification.enable")
_GROUP_KEYS = ("group.consumer.assignment.interval.ms", "group.share.assignment.interval.ms")
_DEAD_LETTER_KEYS = (
    "errors.deadletterqueue.auto.create.topics.enable",
    "errors.deadletterqueue.topic.name.prefix",
)
_NODE_KEYS = (
    *CLEANER_KEYS,
    *THREAD_KEYS,
    *_CONNECTION_KEYS,
    *_PRODUCER_KEYS,
    *_DEAD_LETTER_KEYS,
    *_GROUP_KEYS,
)
APPLIED_KEYS = (*TOPIC_DEFAULTS, *_NODE_KEYS, "metric.reporters")


class EffectiveListenerLimits(NamedTuple):
    """The limits that apply to a listener."""

    max_connections: int
    max_connection_creation_rate: int
    """The largest number of new connections a second."""
    num_network_threads: int


def is_of_node(config: BrokerConfig, name: str) -> bool:
    """Return whether this node applies a dynamic config.

    The security of its listeners and the defaults of topics are not counted.
    """
    if not name.startswith(LISTENER_PREFIX):
        return name in _NODE_KEYS
    return any(
        name.removeprefix(f"{LISTENER_PREFIX}{listener.listener_name.lower()}.")
        in LISTENER_LIMIT_KEYS
        for listener in config.listeners
    )


def limits_of(config: BrokerConfig, listener: str) -> EffectiveListenerLimits:
    """Return the limits of a listener: its own, or else those of the node.

    As in Kafka, the broker's limits of connections apply to each listener too, even to the listener
    between brokers.
    """
    own = config.listener_limits.get(listener, ListenerLimits())
    most, rate = own.max_connections, own.max_connection_creation_rate
    return EffectiveListenerLimits(
        config.max_connections if most is None else most,
        config.max_connection_creation_rate if rate is None else rate,
        own.num_network_threads or config.num_network_threads,
    )
