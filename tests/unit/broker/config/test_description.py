"""DescribeConfigs entries equal those of a real Kafka with the same settings.

The golden file has a line an entry (`tests.golden.describe_config_cases`). The cluster had a
dynamic default for `min.insync.replicas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from broker.config.description import (
    ConfigEntry,
    ConfigSynonym,
    ServerLevels,
    describe_all_servers,
    describe_group,
    describe_server,
    describe_topic,
    is_dynamic,
)
from broker.config.parse import parse_config
from ground.config_def import ConfigSource, ConfigType
from tests.golden.describe_config_cases import RECORDED, TOPIC_CONFIGS, source_name


def golden() -> list[str]:
    return RECORDED.read_text().splitlines()


@pytest.fixture
def server() -> ServerLevels:
    static = {}
    for line in golden():
        kind, name, key, value, source, *_ = line.split("|")
        if (kind, name, source) == ("BROKER", "1", "STATIC_BROKER_CONFIG") and key != "broker.id":
            static[key] = value
    return ServerLevels(parse_config(static), {}, {"min.insync.replicas": "1"})


def lines(kind: str, name: str, entries: Iterable[ConfigEntry]) -> Iterator[str]:
    for entry in entries:
        if entry.name.startswith("ottla."):
            continue
        synonyms = "".join(
            f"{one.name}={one.value}@{source_name(one.source)};" for one in entry.synonyms
        )
        fields = (
            *(kind, name, entry.name, "null" if entry.value is None else entry.value),
            *(
                source_name(entry.source),
                *map(str.lower, map(str, (entry.read_only, entry.sensitive))),
            ),
            *(entry.type.name, synonyms),
        )
        yield "|".join(fields)


def wanted(prefix: str) -> list[str]:
    return sorted(line for line in golden() if line.startswith(prefix))


def test_a_topic(server: ServerLevels) -> None:
    entries = describe_topic(TOPIC_CONFIGS, server)
    assert sorted(lines("TOPIC", "t", entries)) == wanted("TOPIC|t|")


def test_an_internal_config_is_told_where_it_is_set(server: ServerLevels) -> None:
    name = "internal.segment.bytes"
    told = {one.name: one for one in describe_topic({name: "2000000"}, server)}
    assert (told[name].value, told[name].source) == ("2000000", ConfigSource.TOPIC_CONFIG)
    assert name not in {one.name for one in describe_topic({}, server)}


def test_an_internal_config_of_a_server_or_a_group_is_told_where_it_is_set(
    server: ServerLevels,
) -> None:
    """The expected lines are those that Apache Kafka answered."""
    name = "consumer.assignor.offload.enable"
    of_server = f"group.{name}"
    default = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    levels = replace(server, dynamic_default={of_server: "false"})
    for entries in (describe_server(levels), describe_all_servers(levels.dynamic_default)):
        entry = next(one for one in entries if one.name == of_server)
        assert (entry.value, entry.source, entry.read_only) == ("false", default, False)
        assert entry.type is ConfigType.BOOLEAN
    (entry,) = (one for one in describe_group({name: "true"}, levels) if one.name == name)
    assert [(one.name, one.value, one.source) for one in entry.synonyms] == [
        (name, "true", ConfigSource.GROUP_CONFIG),
        (of_server, "false", default),
        (of_server, "true", ConfigSource.DEFAULT_CONFIG),
    ]
    assert name not in {one.name for one in describe_group({}, levels)}


def test_a_server(server: ServerLevels) -> None:
    assert sorted(lines("BROKER", "1", describe_server(server))) == wanted("BROKER|1|")


def test_all_servers(server: ServerLevels) -> None:
    entries = describe_all_servers(server.dynamic_default)
    assert sorted(lines("BROKER", "", entries)) == wanted("BROKER||")


def test_a_group(server: ServerLevels) -> None:
    assert sorted(lines("GROUP", "g", describe_group({}, server))) == wanted("GROUP|g|")
    overridden = describe_group({"consumer.session.timeout.ms": "50000"}, server)
    entry = next(one for one in overridden if one.name == "consumer.session.timeout.ms")
    assert (entry.value, entry.source) == ("50000", ConfigSource.GROUP_CONFIG)


def test_dynamic_values_win_and_secrets_stay_hidden(server: ServerLevels) -> None:
    levels = ServerLevels(
        server.config, {"log.retention.ms": "7"}, {"sasl.jaas.config": "a secret"}
    )
    topic = {entry.name: entry for entry in describe_topic({}, levels)}
    assert topic["retention.ms"].value == "7"
    assert topic["retention.ms"].source is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert topic["preallocate"].source is ConfigSource.DEFAULT_CONFIG
    for entry in (*describe_server(levels), *describe_all_servers(levels.dynamic_default)):
        assert "a secret" not in repr(entry)


def test_which_keys_change_while_a_server_runs() -> None:
    assert is_dynamic("ssl.keystore.location") and is_dynamic("log.retention.ms")
    assert not is_dynamic("ssl.principal.mapping.rules") and not is_dynamic("node.id")


def test_keys_of_listeners_and_unknown_ones_are_told_as_kafka_does() -> None:
    """Each row was asked of an Apache Kafka."""
    config = parse_config(
        {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": "1@localhost:9093",
            "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "advertised.listeners": "PLAINTEXT://localhost:9092",
            "max.connections": "500",
            "listener.name.plaintext.max.connections": "99",
            "listener.name.plaintext.ssl.key.password": "hush",
            "config.providers": "env",
            "config.providers.env.class": "hush",
        }
    )
    dynamic = {
        "max.connections": "700",
        "listener.name.plaintext.max.connections": "97",
        "of.some.plugin": "hush",
        "follower.replication.throttled.rate": "1000",
    }
    default = {"listener.name.plaintext.max.connections": "98", "max.connections": "600"}
    found = {one.name: one for one in describe_server(ServerLevels(config, dynamic, default))}
    limit = found["listener.name.plaintext.max.connections"]
    assert (limit.value, limit.source, limit.read_only, limit.sensitive, limit.type) == (
        "97",
        ConfigSource.DYNAMIC_BROKER_CONFIG,
        True,
        False,
        ConfigType.INT,
    )
    assert [(one.name.rpartition("plaintext.")[2], one.value) for one in limit.synonyms] == [
        ("max.connections", "97"),
        ("max.connections", "700"),
        ("max.connections", "98"),
        ("max.connections", "600"),
        ("max.connections", "99"),
        ("max.connections", "500"),
        ("max.connections", "2147483647"),
    ]
    password = found["listener.name.plaintext.ssl.key.password"]
    assert (password.value, password.sensitive, password.type) == (None, True, ConfigType.PASSWORD)
    assert [one.value for one in password.synonyms] == [None]
    for name in ("of.some.plugin", "config.providers.env.class"):
        unknown = found[name]
        assert (unknown.value, unknown.sensitive, unknown.read_only) == (None, True, True)
        assert unknown.type is ConfigType.UNKNOWN
    rate = found["follower.replication.throttled.rate"]
    assert (rate.value, rate.read_only, rate.type) == ("1000", False, ConfigType.LONG)
    for_all = {one.name: one for one in describe_all_servers({**default, "of.some.plugin": "hush"})}
    assert for_all["of.some.plugin"].value is None
    limit = for_all["listener.name.plaintext.max.connections"]
    assert [one.value for one in limit.synonyms] == ["98", "600"]


def test_a_key_of_the_authorizer_is_told_where_it_is_set(server: ServerLevels) -> None:
    """And without its value: Apache Kafka does not know it either, and hides it."""
    name = "super.users"
    assert name not in {one.name for one in describe_server(server)}
    config = parse_config({**server.config.originals, name: "User:admin"})
    told = {one.name: one for one in describe_server(replace(server, config=config))}
    static = ConfigSource.STATIC_BROKER_CONFIG
    synonyms = (ConfigSynonym(name, None, static),)
    assert told[name] == ConfigEntry(name, None, static, True, True, ConfigType.UNKNOWN, synonyms)
