"""All faults of a configuration at once."""

from __future__ import annotations

from broker.config.parse import known_keys
from broker.config.refusals.faults import all_faults
from ground.config_def import ConfigError


def faults(texts: dict[str, str], refusal: ConfigError) -> list[str]:
    return [str(one) for one in all_faults(texts, refusal, known_keys(texts))]


def test_each_fault_is_told_once_in_the_order_of_the_file() -> None:
    texts = {
        "num.partions": "3",
        "node.id": "1",
        "log.retention.ms": "7d",
        "num.io.threads": "0",
        "cordoned.log.dirs": "/a",
    }
    refusal = ConfigError.invalid("log.retention.ms", "7d", "Not a number of type LONG")
    found = faults(texts, refusal)
    assert len(found) == 4
    assert [one.partition("num.partitions")[1] for one in found][0]
    assert found[1] == str(refusal)
    assert "num.io.threads: Value must" in found[2]
    assert "cordoned log directories are not supported" in found[3]


def test_a_refusal_of_several_keys_together_stands_first() -> None:
    refusal = ConfigError("listeners", "they do not fit")
    assert faults({"node.id": "1"}, refusal) == ["they do not fit"]
    assert faults({"nope": "1"}, refusal)[0] == "they do not fit"


def test_keys_of_listeners_and_providers_are_known() -> None:
    texts = {
        "config.providers": "file",
        "config.providers.file.class": "x",
        "listener.name.a.max.connections": "3",
    }
    assert faults(texts, ConfigError("a", "b")) == ["b"]
