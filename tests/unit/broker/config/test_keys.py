"""The keys of the facts are whole."""

from __future__ import annotations

from broker.config.keys import BROKER_CONFIG_DEF, GROUP_CONFIG_DEF


def test_the_facts_are_whole() -> None:
    kafkas = [name for name in BROKER_CONFIG_DEF if not name.startswith("ottla.")]
    assert len(kafkas) == 379 + 2  # those of the authorizer
    assert len(GROUP_CONFIG_DEF) == 27


def test_required_keys_are_those_without_a_default() -> None:
    required = [name for name, key in BROKER_CONFIG_DEF.items() if key.required]
    assert sorted(required) == ["controller.listener.names", "node.id", "process.roles"]
