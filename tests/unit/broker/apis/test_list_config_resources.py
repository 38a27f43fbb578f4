from __future__ import annotations

import pytest

from broker.apis.list_config_resources import ListConfigResourcesApi
from controller.metadata.image import ResourceType
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_cluster, rights_of


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.register(2, fenced=True)
    cluster.topic("t")
    cluster.set_topic_config("t", "retention.ms", "1")
    cluster.set_config(ResourceType.GROUP, "g", "consumer.session.timeout.ms", "46000")
    cluster.set_config(ResourceType.CLIENT_METRICS, "m", "interval.ms", "1000")
    return cluster


def list_resources(cluster: Cluster, types: list[int], version: int) -> ListConfigResourcesResponse:
    request = ListConfigResourcesRequest(types)
    response = ask(ListConfigResourcesApi(cluster, Turns().answers).handle, request, version)
    assert isinstance(response, ListConfigResourcesResponse)
    return response


def named(response: ListConfigResourcesResponse) -> list[tuple[int, str]]:
    return [(one.resource_type, one.resource_name) for one in response.config_resources]


def test_v0_lists_client_metrics(cluster: Cluster) -> None:
    response = list_resources(cluster, [], 0)
    assert [one.resource_name for one in response.config_resources] == ["m"]


def test_v1_lists_everything_that_can_have_configs(cluster: Cluster) -> None:
    assert named(list_resources(cluster, [], 1)) == [
        (ResourceType.GROUP, "g"),
        (ResourceType.CLIENT_METRICS, "m"),
        (ResourceType.BROKER_LOGGER, "1"),
        (ResourceType.BROKER_LOGGER, "2"),
        (ResourceType.BROKER, "1"),
        (ResourceType.BROKER, "2"),
        (ResourceType.TOPIC, "t"),
    ]


def test_v1_lists_the_types_asked_for(cluster: Cluster) -> None:
    types = [ResourceType.TOPIC, ResourceType.GROUP]
    assert named(list_resources(cluster, types, 1)) == [(32, "g"), (2, "t")]


@pytest.mark.parametrize("kind", [0, 1, 64])
def test_a_type_that_has_no_configs(cluster: Cluster, kind: int) -> None:
    response = list_resources(cluster, [ResourceType.TOPIC, kind], 1)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.config_resources == []


@pytest.mark.parametrize("version", [0, 1])
def test_who_may_not_describe_configs_gets_no_list(cluster: Cluster, version: int) -> None:
    handle = ListConfigResourcesApi(cluster, Turns().answers).handle
    others = rights_of(on_cluster(Operation.DESCRIBE))
    for types in ([], [99]):
        request = ListConfigResourcesRequest(types)
        answer = ask(handle, request, version, rights=others)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert answer.config_resources == []
    allowed = rights_of(on_cluster(Operation.DESCRIBE_CONFIGS))
    answer = ask(handle, ListConfigResourcesRequest([]), version, rights=allowed)
    assert answer.error_code == 0
    assert answer.config_resources
