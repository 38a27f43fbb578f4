from __future__ import annotations

import pytest

from broker.apis.describe_cluster import DescribeClusterApi
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from tests.unit.broker.apis.api_fixture import CLUSTER_ID, NODE_ID, Cluster, ask
from tests.unit.controller.rights_fixture import on_cluster, rights_of


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.register(2, fenced=True, rack="r")
    return cluster


def describe(
    cluster: Cluster, request: DescribeClusterRequest, version: int, listener: str = "PLAINTEXT"
) -> DescribeClusterResponse:
    api = DescribeClusterApi(cluster, CLUSTER_ID, NODE_ID)
    response = ask(api.handle, request, version, listener)
    assert isinstance(response, DescribeClusterResponse)
    return response


@pytest.mark.parametrize("version", range(3))
def test_live_brokers_of_the_listener(cluster: Cluster, version: int) -> None:
    response = describe(cluster, DescribeClusterRequest(), version, "OUTSIDE")
    assert [(b.broker_id, b.host, b.port) for b in response.brokers] == [(1, "outside-1", 19092)]
    assert (response.cluster_id, response.controller_id) == (CLUSTER_ID, 1)
    assert (response.error_code, response.error_message) == (0, None)
    assert response.cluster_authorized_operations == -(2**31)


@pytest.mark.parametrize("version", range(3))
def test_operations_when_asked_for(cluster: Cluster, version: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert describe(cluster, request, version).cluster_authorized_operations == 8096


def test_fenced_brokers_when_asked_for(cluster: Cluster) -> None:
    request = DescribeClusterRequest(include_fenced_brokers=True)
    brokers = describe(cluster, request, 2).brokers
    assert [(b.broker_id, b.rack, b.is_fenced) for b in brokers] == [
        (1, None, False),
        (2, "r", True),
    ]


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_a_broker_is_no_controller(cluster: Cluster, endpoint_type: int, error: int) -> None:
    response = describe(cluster, DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert response.error_code == error
    assert response.error_message
    assert response.brokers == []


@pytest.mark.parametrize(
    ("operations", "bits"),
    [((), 0), ((Operation.ALTER,), 0), ((Operation.ALTER, Operation.DESCRIBE), 1 << 7 | 1 << 8)],
)
def test_operations_are_told_to_who_may_describe_the_cluster(
    cluster: Cluster, operations: tuple[Operation, ...], bits: int
) -> None:
    rights = rights_of({one for operation in operations for one in on_cluster(operation)})
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    api = DescribeClusterApi(cluster, CLUSTER_ID, NODE_ID)
    response = ask(api.handle, request, 2, rights=rights)
    assert response.cluster_authorized_operations == bits
    assert [broker.broker_id for broker in response.brokers] == [1]
