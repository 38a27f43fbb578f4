"""Whose configs there are, and a change that is checked before it is made."""

from __future__ import annotations

from typing import Any

import pytest

from client.refusals import Refused
from console.configs.endpoints import ENDPOINTS
from console.endpoints import BadAsk
from protocol.api_keys import ApiKey
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsResponse,
)
from protocol.messages.list_config_resources import ConfigResource, ListConfigResourcesResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import OneCluster, answer_of, ask

PATH = "/api/configs"


class Serving(ScriptedCluster):
    """A cluster that names these APIs."""

    apis: tuple[int, ...] = (ApiKey.LIST_CONFIG_RESOURCES,)

    def serves(self, api_key: int) -> bool:
        return api_key in self.apis


def cluster_of(**answers: Any) -> Serving:
    config = DescribeConfigsResourceResult("retention.ms", "1", config_source=1)
    known = {
        "ListGroupsRequest": ListGroupsResponse(groups=[ListedGroup("g")]),
        "ListConfigResourcesRequest": ListConfigResourcesResponse(
            config_resources=[ConfigResource("m", 16), ConfigResource("t", 2)]
        ),
        "DescribeConfigsRequest": lambda request: DescribeConfigsResponse(
            results=[
                DescribeConfigsResult(0, None, one.resource_type, one.resource_name, [config])
                for one in request.resources
            ]
        ),
        "IncrementalAlterConfigsRequest": IncrementalAlterConfigsResponse(),
    }
    return Serving([topic_of("t")], known | answers)


def test_what_has_configs() -> None:
    found = answer_of(ENDPOINTS, "/api/configs/resources")(OneCluster(cluster_of()), ask())
    assert found == {
        "broker": ["all", "1", "2"],
        "topic": ["t"],
        "group": ["g", "g"],
        "client-metrics": ["m"],
        "absent": {},
    }


def test_what_a_cluster_lacks_or_hides_is_told_in_its_place() -> None:
    cluster = cluster_of(ListGroupsRequest=ListGroupsResponse(error_code=31))
    cluster.apis = ()
    found = answer_of(ENDPOINTS, "/api/configs/resources")(OneCluster(cluster), ask())
    assert "does not support" in found["absent"]["client-metrics"]
    assert "Describe on the cluster" in found["absent"]["group"]


@pytest.mark.parametrize(("name", "asked_at"), [("all", None), ("2", 2)])
def test_a_broker_is_asked_itself(name: str, asked_at: int | None) -> None:
    cluster = cluster_of()
    found = answer_of(ENDPOINTS, PATH)(OneCluster(cluster), ask(kind="broker", name=name))
    assert [one["key"] for one in found["rows"]] == ["retention.ms"]
    assert cluster.asked[-1][0] == asked_at
    assert cluster.asked[-1][1].include_documentation


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("logger", "1", "kind must be one of"),
        ("broker", "x", "a broker id"),
        ("group", "", "name"),
    ],
)
def test_what_has_no_configs(kind: str, name: str, said: str) -> None:
    with pytest.raises(BadAsk, match=said):
        answer_of(ENDPOINTS, PATH)(OneCluster(cluster_of()), ask(kind=kind, name=name))


def test_a_topic_that_there_is_not() -> None:
    with pytest.raises(Refused, match="no topic x"):
        answer_of(ENDPOINTS, PATH)(OneCluster(cluster_of()), ask(kind="topic", name="x"))


def test_a_change_is_checked_and_then_made() -> None:
    change = answer_of(ENDPOINTS, PATH, writes=True)
    body: dict[str, Any] = {"kind": "topic", "name": "t", "set": {"a": "1"}, "unset": ["b"]}
    cluster = cluster_of()
    assert not change(OneCluster(cluster), ask(body))["changed"]
    assert change(OneCluster(cluster), ask(body | {"execute": True}))["changed"]
    first, second = cluster.asked_for("IncrementalAlterConfigsRequest")
    assert (first.validate_only, second.validate_only) == (True, False)
    assert [one.name for one in second.resources[0].configs] == ["a", "b"]


@pytest.mark.parametrize("body", [None, {}, {"set": {}}, {"set": {"a": 1}}, {"unset": "a"}])
def test_a_change_of_nothing(body: Any) -> None:
    body = {"kind": "topic", "name": "t", **body} if body is not None else None
    with pytest.raises(BadAsk):
        answer_of(ENDPOINTS, PATH, writes=True)(OneCluster(cluster_of()), ask(body))
