"""The typed attributes are the keys of the facts, with their types."""

from __future__ import annotations

import inspect

from broker.config.keys import BROKER_CONFIG_DEF, GROUP_CONFIG_DEF, BrokerConfigFields
from broker.config.parse import BrokerConfig
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


def test_every_key_has_its_attribute_with_the_right_type() -> None:
    fields = inspect.get_annotations(BrokerConfigFields)
    derived = inspect.get_annotations(BrokerConfig)
    expected = {}
    for key in BROKER_CONFIG_DEF.values():
        if key.attribute in derived or key.name.startswith(WITHOUT_ATTRIBUTE):
            continue
        if key.name in FOLDED_INTO_ANOTHER:
            continue
        nullable = key.default is None and not key.required
        expected[key.attribute] = PYTHON_TYPES[key.type] + (" | None" if nullable else "")
    assert fields == expected


def test_every_attribute_has_a_value() -> None:
    config = BrokerConfig.single_node()
    names = [*inspect.get_annotations(BrokerConfigFields), *inspect.get_annotations(BrokerConfig)]
    assert [name for name in names if not hasattr(config, name)] == []


def test_the_facts_are_whole() -> None:
    kafkas = [name for name in BROKER_CONFIG_DEF if not name.startswith("ottla.")]
    assert len(kafkas) == 360
    assert len(GROUP_CONFIG_DEF) == 17


def test_required_keys_are_those_without_a_default() -> None:
    required = [name for name, key in BROKER_CONFIG_DEF.items() if key.required]
    assert sorted(required) == ["controller.listener.names", "node.id", "process.roles"]
