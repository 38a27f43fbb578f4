from __future__ import annotations

import logging

import pytest

from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.describe_configs import DescribeConfigsApi, refuse_describe_configs
from broker.config.parse import single_node_config
from controller.metadata.image import ResourceType
from ground.config_def import ConfigSource, ConfigType
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.unit.broker.apis.api_fixture import Cluster, ask, ask_later
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, on_topic, rights_of

VERSIONS = range(1, 5)
TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
METRICS, GROUP = ResourceType.CLIENT_METRICS, ResourceType.GROUP


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.topic("t")
    cluster.set_topic_config("t", "retention.ms", "5000")
    return cluster


def describe(
    cluster: Cluster,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> DescribeConfigsResult:
    config = single_node_config({"message.max.bytes": "2000000"})
    api = DescribeConfigsApi(
        cluster,
        config,
        BrokerLoggers(),
        Turns().answers,
        lambda kind, key: f"{kind} {key} in words",
    )
    resource = DescribeConfigsResource(kind, name, keys)
    request = DescribeConfigsRequest([resource], synonyms, documentation)
    (result,) = ask(api.handle, request, version).results
    assert isinstance(result, DescribeConfigsResult)
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topics_configs_in_every_version(cluster: Cluster, version: int) -> None:
    result = describe(cluster, TOPIC, "t", ["retention.ms", "no.such.key"], version)
    assert (result.error_code, result.error_message) == (0, "")
    (config,) = result.configs
    assert (config.name, config.value, config.read_only) == ("retention.ms", "5000", False)
    assert config.config_source == ConfigSource.TOPIC_CONFIG
    assert config.config_type == (ConfigType.LONG if version >= 3 else ConfigType.UNKNOWN)
    assert config.synonyms == []


@pytest.mark.parametrize("keys", [None, []])
def test_all_keys_are_null_or_an_empty_list(cluster: Cluster, keys: list[str] | None) -> None:
    names = [config.name for config in describe(cluster, TOPIC, "t", keys).configs]
    assert len(names) == 37  # as many as an Apache Kafka answers
    assert "retention.ms" in names


def test_synonyms_tell_of_every_place(cluster: Cluster) -> None:
    cluster.set_config(BROKER, "", "message.max.bytes", "3000000")
    cluster.set_config(BROKER, "1", "message.max.bytes", "4000000")
    cluster.set_topic_config("t", "max.message.bytes", "5000000")
    (config,) = describe(cluster, TOPIC, "t", ["max.message.bytes"], synonyms=True).configs
    assert [(one.name, one.value, one.source) for one in config.synonyms] == [
        ("max.message.bytes", "5000000", ConfigSource.TOPIC_CONFIG),
        ("message.max.bytes", "4000000", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("message.max.bytes", "3000000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("message.max.bytes", "2000000", ConfigSource.STATIC_BROKER_CONFIG),
        ("message.max.bytes", "1048588", ConfigSource.DEFAULT_CONFIG),
    ]


def test_documentation_when_asked_for(cluster: Cluster) -> None:
    keys = ["retention.ms"]
    (config,) = describe(cluster, TOPIC, "t", keys, documentation=True).configs
    assert config.documentation == "2 retention.ms in words"
    assert describe(cluster, TOPIC, "t", keys).configs[0].documentation is None


@pytest.mark.parametrize(
    ("kind", "name", "error", "words"),
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "bad name!", ErrorCode.INVALID_TOPIC_EXCEPTION, "'bad name!' contains"),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, "empty string"),
        (BROKER, "2", ErrorCode.INVALID_REQUEST, "expected 1 or empty string, but received 2"),
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST, "expected 1 but received 2"),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "subscription name must not be empty"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (0, "x", ErrorCode.INVALID_REQUEST, "resource type"),
        (77, "x", ErrorCode.INVALID_REQUEST, "resource type"),
    ],
)
def test_resources_that_have_no_configs(
    cluster: Cluster, kind: int, name: str, error: int, words: str
) -> None:
    result = describe(cluster, kind, name)
    assert result.error_code == error
    assert words in (result.error_message or "")
    assert result.configs == []


def test_this_broker(cluster: Cluster) -> None:
    configs = {config.name: config for config in describe(cluster, BROKER, "1").configs}
    assert configs["node.id"].read_only
    assert configs["message.max.bytes"].value == "2000000"
    assert not configs["message.max.bytes"].read_only
    password = configs["ssl.keystore.password"]
    assert (password.value, password.is_sensitive) == (None, True)


def test_the_default_of_all_brokers_is_what_was_set_for_it(cluster: Cluster) -> None:
    assert describe(cluster, BROKER, "").configs == []
    cluster.set_config(BROKER, "", "log.retention.ms", "7")
    (config,) = describe(cluster, BROKER, "").configs
    assert (config.name, config.value) == ("log.retention.ms", "7")
    assert config.config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG


def test_loggers(cluster: Cluster) -> None:
    logging.getLogger("ottla.test").setLevel(logging.ERROR)
    configs = {config.name: config for config in describe(cluster, LOGGER, "1").configs}
    assert configs["ottla.test"].value == "ERROR"
    assert configs["ottla.test"].config_source == ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    assert "root" in configs


def test_a_group_gets_its_defaults_from_the_broker(cluster: Cluster) -> None:
    cluster.set_config(GROUP, "g", "consumer.session.timeout.ms", "46000")
    configs = {config.name: config for config in describe(cluster, GROUP, "g").configs}
    assert configs["consumer.session.timeout.ms"].value == "46000"
    assert configs["consumer.session.timeout.ms"].config_source == ConfigSource.GROUP_CONFIG
    assert configs["consumer.heartbeat.interval.ms"].value == "5000"


def test_client_metrics(cluster: Cluster) -> None:
    cluster.set_config(METRICS, "m", "interval.ms", "1000")
    configs = describe(cluster, METRICS, "m").configs
    assert [(c.name, c.value, c.config_source, c.config_type) for c in configs] == [
        ("interval.ms", "1000", ConfigSource.CLIENT_METRICS_CONFIG, ConfigType.INT),
        ("match", "", ConfigSource.DEFAULT_CONFIG, ConfigType.LIST),
        ("metrics", "", ConfigSource.DEFAULT_CONFIG, ConfigType.LIST),
    ]


def test_refusal_names_every_resource() -> None:
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "t", None)])
    (result,) = refuse_describe_configs(request, ErrorCode.UNKNOWN_SERVER_ERROR).results
    assert (result.error_code, result.resource_name) == (-1, "t")


def test_each_resource_needs_the_right_of_its_kind(cluster: Cluster) -> None:
    """What is denied comes last, whether it is there or not; as Apache Kafka."""
    resources = [(TOPIC, "t"), (TOPIC, "not"), (BROKER, "1"), (LOGGER, "1"), (METRICS, "m"),
                 (GROUP, "g"), (TOPIC, "other")]  # fmt: skip
    request = DescribeConfigsRequest([DescribeConfigsResource(*one) for one in resources])
    turns = Turns()
    api = DescribeConfigsApi(cluster, single_node_config(), BrokerLoggers(), turns.answers)

    def told(*may: tuple[Operation, Resource, str]) -> list[tuple[int, str, int]]:
        answers: list[DescribeConfigsResponse] = []
        ask_later(api.handle, request, 4, answers, rights=rights_of(may))
        turns.run()
        (answer,) = answers
        denied = [one for one in answer.results if one.error_code in (29, 30, 31)]
        assert not any(one.configs for one in denied)
        assert answer.results[len(answer.results) - len(denied) :] == denied
        return [(one.resource_type, one.resource_name, one.error_code) for one in answer.results]

    denied = {TOPIC: 29, GROUP: 30, BROKER: 31, LOGGER: 31, METRICS: 31}
    assert told() == [(*one, denied[one[0]]) for one in resources]
    on_cluster_only = told(*on_cluster(Operation.DESCRIBE_CONFIGS))
    assert [row[2] for row in on_cluster_only] == [0, 0, 0, 29, 29, 30, 29]
    group = (Operation.DESCRIBE_CONFIGS, Resource.GROUP, "g")
    mine = told(*on_topic(Operation.DESCRIBE_CONFIGS, "t", "not"), group)
    assert [row[2] for row in mine] == [0, 3, 0, 31, 31, 31, 29]
    answer = ask(api.handle, request, 4, rights=rights_of(()))
    assert [one.error_message for one in answer.results[1:3]] == [
        "Topic authorization failed.",
        "Cluster authorization failed.",
    ]
    assert answer.results[5].error_message == "Group authorization failed."
