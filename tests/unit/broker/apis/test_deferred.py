from __future__ import annotations

from typing import Any

from broker.apis.deferred import DeferredApis
from broker.requests.context import Api
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.list_groups import ListGroupsRequest
from tests.unit.broker.apis.api_fixture import context

KEYS = (ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_CLUSTER)


class World:
    def __init__(self) -> None:
        self.loads = 0
        self.seen: list[Any] = []
        self.apis = {api.key: api for api in DeferredApis(KEYS, self._load).apis()}

    def _load(self) -> list[Api]:
        self.loads += 1
        return [
            Api(ApiKey.LIST_GROUPS, 0, 5, self._handle, lambda request, code: ("refused", code)),
            Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, self._handle),
        ]

    def _handle(self, *arguments: Any) -> None:
        self.seen.append(arguments)


def test_names_its_apis_without_loading_them() -> None:
    world = World()
    for key in KEYS:
        assert (world.apis[key].oldest, world.apis[key].latest) == STABLE_VERSIONS[key]
    assert world.loads == 0


def test_the_first_request_loads_and_all_are_passed_on() -> None:
    world = World()
    for key, request in ((KEYS[0], ListGroupsRequest()), (KEYS[1], DescribeClusterRequest())):
        asked = context(key, 0)
        world.apis[key].handle(asked, request, print)
        assert world.seen.pop() == (asked, request, print)
    assert world.loads == 1


def test_refusals() -> None:
    world, failed = World(), ErrorCode.UNKNOWN_SERVER_ERROR
    refuse = world.apis[ApiKey.LIST_GROUPS].refuse
    assert refuse is not None
    assert refuse(ListGroupsRequest(), failed) == ("refused", failed)
    refuse = world.apis[ApiKey.DESCRIBE_CLUSTER].refuse
    assert refuse is not None
    assert refuse(DescribeClusterRequest(), failed) == DescribeClusterResponse(error_code=-1)
