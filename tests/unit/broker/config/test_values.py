"""The typed attributes are the keys of the facts, with their types."""

from __future__ import annotations

import inspect

import pytest

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.parse import single_node_config
from broker.config.values import BrokerConfig
from storage.config_def import ConfigType

PYTHON_TYPES = {
    ConfigType.BOOLEAN: "bool",
    ConfigType.INT: "int",
    ConfigType.SHORT: "int",
    ConfigType.LONG: "int",
    ConfigType.DOUBLE: "float",
    ConfigType.LIST: "tuple[str, ...]",
    ConfigType.STRING: "str",
    ConfigType.CLASS: "str",
    ConfigType.PASSWORD: "str",
}
WITHOUT_ATTRIBUTE = ("sasl.", "ssl.", "delegation.token.")
FOLDED_INTO_ANOTHER = ("log.dir", "early.start.listeners")

# Beside the keys, and keys whose value in force is worked out of several.
NO_KEYS = ("originals", "profile_name", "warnings", "topic_defaults", "log_config")
WORKED_OUT = (
    "advertised_listeners",
    "controller_quorum_voters",
    "inter_broker_listener_name",
    "listener_security_protocol_map",
    "listeners",
    "log_dirs",
    "log_flush_interval_ms",
    "log_retention_ms",
    "log_roll_jitter_ms",
    "log_roll_ms",
    "max_connections_per_ip_overrides",
    "metadata_log_dir",
)


def test_every_key_has_its_attribute_with_the_right_type() -> None:
    found = inspect.get_annotations(BrokerConfig)
    attributes = {name: kind.__forward_arg__ for name, kind in found.items()}
    expected = {}
    for key in BROKER_CONFIG_DEF.values():
        if key.name.startswith(WITHOUT_ATTRIBUTE) or key.name in FOLDED_INTO_ANOTHER:
            continue
        nullable = key.default is None and not key.required
        expected[key.attribute] = PYTHON_TYPES[key.type] + (" | None" if nullable else "")
    assert sorted(attributes) == sorted((*expected, *NO_KEYS))
    different = [name for name, kind in expected.items() if attributes[name] != kind]
    assert [name for name in different if name not in WORKED_OUT] == []


def test_it_never_changes() -> None:
    config = single_node_config()
    with pytest.raises(AttributeError):
        config.num_io_threads = 1  # type: ignore[misc]


def test_who_binds_what() -> None:
    config = single_node_config()
    assert config.is_broker and config.is_controller
    assert [one.listener_name for one in config.broker_listeners] == ["PLAINTEXT"]
    assert [one.listener_name for one in config.controller_listeners] == ["CONTROLLER"]
