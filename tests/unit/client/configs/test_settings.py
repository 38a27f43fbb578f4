"""Configs: who is asked, what is sent, what a refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.start_error import StartError
from client.configs.settings import (
    BROKER,
    GROUP,
    TOPIC,
    ConfigResource,
    alter_configs,
    configs_by_name,
    configs_of,
    parse_pairs,
)
from client.refusals import Refused
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.unit.client.scripted import ScriptedCluster


def described(request: Any) -> DescribeConfigsResponse:
    configs = [DescribeConfigsResourceResult("b", "2"), DescribeConfigsResourceResult("a", "1")]
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(0, None, one.resource_type, one.resource_name, configs)
            for one in request.resources
        ]
    )


def test_a_broker_is_asked_itself() -> None:
    cluster = ScriptedCluster(answers={"DescribeConfigsRequest": described})
    found = configs_of(cluster, ConfigResource(BROKER, "2"), with_documentation=True)
    assert [one.name for one in found] == ["a", "b"]
    configs_of(cluster, ConfigResource(BROKER, ""))
    assert sorted(configs_by_name(cluster, TOPIC, ["t", "u"], ["a"])) == ["t", "u"]
    assert [node for node, _ in cluster.asked] == [2, None, None]
    first, _, last = cluster.asked_for("DescribeConfigsRequest")
    assert first.include_documentation and first.resources[0].configuration_keys is None
    assert [one.configuration_keys for one in last.resources] == [["a"], ["a"]]


def test_configs_that_may_not_be_seen() -> None:
    refused = DescribeConfigsResponse(results=[DescribeConfigsResult(29, None, TOPIC, "t", [])])
    cluster = ScriptedCluster(answers={"DescribeConfigsRequest": refused})
    with pytest.raises(Refused, match="topic t: this takes DescribeConfigs on topic t"):
        configs_of(cluster, ConfigResource(TOPIC, "t"))


def test_a_cluster_that_is_too_old_for_configs_of_groups() -> None:
    refused = DescribeConfigsResponse(results=[DescribeConfigsResult(42, None, GROUP, "g", [])])
    cluster = ScriptedCluster(answers={"DescribeConfigsRequest": refused})
    with pytest.raises(Refused, match="group g: the cluster is too old"):
        configs_of(cluster, ConfigResource(GROUP, "g"))


def test_what_is_set_and_what_is_removed() -> None:
    done = IncrementalAlterConfigsResponse(
        responses=[AlterConfigsResourceResponse(0, None, 2, "t")]
    )
    cluster = ScriptedCluster(answers={"IncrementalAlterConfigsRequest": done})
    alter_configs(cluster, ConfigResource(TOPIC, "t"), {"a": "1"}, ["b"], dry_run=True)
    for broker in ("", "2"):
        alter_configs(cluster, ConfigResource(BROKER, broker), {"a": "1"})
    assert [node for node, _ in cluster.asked] == [None, None, 2]
    (request, *_) = cluster.asked_for("IncrementalAlterConfigsRequest")
    assert request.validate_only
    (resource,) = request.resources
    sent = [(one.name, one.config_operation, one.value) for one in resource.configs]
    assert sent == [("a", 0, "1"), ("b", 1, None)]


NO_NUMBER = "Invalid value 7d for configuration retention.ms: Not a number of type LONG"


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (40, "Invalid value x", "topic t: Invalid value x$"),
        (40, NO_NUMBER, rf"topic t: {NO_NUMBER} \(it is in milliseconds: write 604800000\)$"),
        (29, None, "AlterConfigs on topic t"),
        (44, "no", "POLICY_VIOLATION: no"),
    ],
)
def test_a_change_that_is_refused(code: int, message: str | None, said: str) -> None:
    answer = AlterConfigsResourceResponse(code, message, 2, "t")
    done = IncrementalAlterConfigsResponse(responses=[answer])
    cluster = ScriptedCluster(answers={"IncrementalAlterConfigsRequest": done})
    with pytest.raises(Refused, match=said):
        alter_configs(cluster, ConfigResource(TOPIC, "t"), {"a": "1"})


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b = x=y "]) == {"a": "1", "b": "x=y"}
    for wrong in ("a", "=1"):
        with pytest.raises(StartError, match="KEY=VALUE"):
            parse_pairs([wrong])


def test_how_resources_are_called() -> None:
    assert [str(ConfigResource(BROKER, "")), str(ConfigResource(BROKER, "1"))] == [
        "all brokers",
        "broker 1",
    ]
