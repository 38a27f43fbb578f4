"""The typed attributes are keys of the facts, with their types."""

from __future__ import annotations

import inspect

import pytest

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.parse import single_node_config
from broker.config.values import BrokerConfig
from ground.config_def import ConfigType

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

# Beside the keys, and keys whose value in force is worked out of several.
NO_KEYS = (
    "originals",
    "profile_name",
    "warnings",
    "topic_defaults",
    "advertised_controller_listeners",
    "listener_security",
    "listener_limits",
    "inter_broker_security",
    "controller_security",
)
WORKED_OUT = (
    "advertised_listeners",
    "controller_quorum_voters",
    "inter_broker_listener_name",
    "listeners",
    "log_dirs",
    "log_retention_ms",
    "log_roll_jitter_ms",
    "log_roll_ms",
    "max_connections_per_ip_overrides",
    "metadata_log_dir",
)


def test_every_attribute_is_a_key_with_its_type() -> None:
    keys = {key.attribute: key for key in BROKER_CONFIG_DEF.values()}
    found = inspect.get_annotations(BrokerConfig)
    assert [name for name in found if name not in keys and name not in NO_KEYS] == []
    different = []
    for name, kind in found.items():
        if name in (*NO_KEYS, *WORKED_OUT):
            continue
        nullable = keys[name].default is None and not keys[name].required
        expected = PYTHON_TYPES[keys[name].type] + (" | None" if nullable else "")
        if kind.__forward_arg__ != expected:
            different.append((name, expected))
    assert different == []


def test_it_never_changes() -> None:
    config = single_node_config()
    with pytest.raises(AttributeError):
        config.num_io_threads = 1  # type: ignore[misc]
