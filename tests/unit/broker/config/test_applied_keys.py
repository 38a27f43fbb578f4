"""Which keys a node applies: those that Kafka lets change, and of listeners only their limits."""

from __future__ import annotations

from broker.config.applied_keys import APPLIED_KEYS, LISTENER_LIMIT_KEYS, is_of_node
from broker.config.description import DYNAMIC_SERVER_KEYS
from broker.config.parse import single_node_config


def test_kafka_lets_them_all_change() -> None:
    assert [name for name in APPLIED_KEYS if name not in DYNAMIC_SERVER_KEYS] == []
    assert [name for name in LISTENER_LIMIT_KEYS if name not in APPLIED_KEYS] == []


def test_limits_are_of_this_nodes_listeners_and_nothing_else_stands_between() -> None:
    config = single_node_config()
    for name, ours in (
        ("max.connections", True),
        ("message.max.bytes", False),
        ("listener.name.plaintext.max.connections", True),
        ("listener.name.controller.num.network.threads", True),
        ("listener.name.elsewhere.max.connections", False),
        ("listener.name.plaintext.x.max.connections", False),
        ("listener.name.plaintext.max.connections.per.ip", False),
        ("listener.name.plaintext.ssl.keystore.location", False),
    ):
        assert is_of_node(config, name) == ours, name
