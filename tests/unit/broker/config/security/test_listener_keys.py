"""Keys of one listener: which there are, and which value counts."""

from __future__ import annotations

import pytest

from broker.config.security.listener_keys import (
    Scope,
    check_listener_keys,
    listener_scope,
    mechanism_scope,
)
from broker.config.unknown_keys import NAMED_MAX
from ground.config_def import ConfigError


def warnings(*names: str) -> list[str]:
    texts = {name: "none" if name.endswith("client.auth") else "1" for name in names}
    return list(check_listener_keys(texts, ["CLIENTS", "CLIENTS.SLOW"]))


def test_the_nearest_value_counts() -> None:
    key = "connections.max.reauth.ms"
    texts = {key: "1"}
    scope = mechanism_scope(texts, "CLIENTS", "SCRAM-SHA-256")
    assert scope.value(key) == 1
    texts[f"listener.name.clients.{key}"] = "2"
    assert scope.value(key) == 2
    texts[f"listener.name.clients.scram-sha-256.{key}"] = "3"
    assert scope.value(key) == 3
    assert listener_scope(texts, "CLIENTS").value(key) == 2
    assert listener_scope(texts, "OTHERS").value(key) == 1
    assert Scope({}).value(key) == 0


def test_a_bad_value_is_refused_under_the_name_that_was_set() -> None:
    scope = listener_scope({"listener.name.clients.ssl.client.auth": "maybe"}, "CLIENTS")
    with pytest.raises(ConfigError) as refused:
        scope.value("ssl.client.auth")
    assert refused.value.name == "listener.name.clients.ssl.client.auth"
    assert "listener.name.clients.ssl.client.auth: String must be one of" in str(refused.value)


def test_keys_of_listeners_are_taken_without_a_word() -> None:
    assert (
        warnings(
            "listener.name.clients.ssl.keystore.location",
            "listener.name.clients.max.connections",
            "listener.name.clients.scram-sha-256.sasl.jaas.config",
            "listener.name.clients.oauthbearer.sasl.oauthbearer.expected.issuer",
            "listener.name.clients.plain.connections.max.reauth.ms",
            "listener.name.clients.slow.ssl.client.auth",
            "num.partitions",
        )
        == []
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("others.ssl.client.auth", "no such listener (it has listener.name.clients., "),
        ("clients.num.partitions", "num.partitions cannot be set for one listener"),
        ("clients.sasl.mechanism.inter.broker.protocol", "cannot be set for one listener"),
        ("clients.sasl.jaas.config", "put the mechanism before it"),
        ("clients.plain.ssl.client.auth", "cannot be set for one mechanism"),
        ("clients.foo.sasl.jaas.config", "foo is no mechanism"),
    ],
)
def test_a_key_without_effect_is_warned_about(name: str, why: str) -> None:
    (line,) = warnings(f"listener.name.{name}")
    assert line.startswith(f"listener.name.{name} is ignored: ")
    assert why in line


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("clients.ssl.keystor.location", "listener.name.clients.ssl.keystore.location?"),
        ("clients.plain.sasl.jas.config", "listener.name.clients.plain.sasl.jaas.config?"),
        ("clients.nonsense", "unknown configuration key listener.name.clients.nonsense"),
        ("Clients.ssl.client.auth", "lower case, listener.name.clients.ssl.client.auth"),
        ("clients.PLAIN.sasl.jaas.config", "write the mechanism in lower case, plain"),
    ],
)
def test_a_wrong_key_is_refused_with_the_right_one(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        warnings(f"listener.name.{name}")
    assert refused.value.name == f"listener.name.{name}"
    assert hint in str(refused.value)


def test_an_unknown_key_is_ignored_with_a_warning_if_the_configuration_says_so() -> None:
    names = [f"listener.name.clients.nonsense{number}" for number in range(30)]
    texts = {"ottla.unknown.keys": "warn", **dict.fromkeys(names, "hush")}
    *first, last = check_listener_keys(texts, ["CLIENTS"])
    assert [line.partition(" ")[0] for line in first] == names[:NAMED_MAX]
    assert first[0] == f"{names[0]} is ignored: unknown configuration key {names[0]}"
    assert last == "10 more unknown configuration keys are ignored (ottla.unknown.keys=warn)"
    assert not any("hush" in line for line in (*first, last))
