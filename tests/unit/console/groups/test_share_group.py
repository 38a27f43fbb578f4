"""A share group in the console: its page, its row, its samples, and its changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from client.refusals import Refused
from console.groups import group_page
from console.groups.lag_history import LagHistory
from console.groups.lag_sampler import LagSampler, look_at_groups
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.fetch import FetchResponse
from protocol.messages.list_groups import ListGroupsResponse
from protocol.messages.read_share_group_state import StateBatch
from tests.unit.client.groups import share_answers as share
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, offsets_of, topic_of
from tests.unit.console.groups.asking import called, moves
from tests.unit.console.one_console import OneCluster, ask

APIS = (
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.READ_SHARE_GROUP_STATE,
)
AT = ("t", 0)


def configs(**values: str) -> Callable[[Any], DescribeConfigsResponse]:
    """Answer DescribeConfigs: each resource has these values."""

    def answer(request: Any) -> DescribeConfigsResponse:
        found = [DescribeConfigsResourceResult(name, value) for name, value in values.items()]
        return DescribeConfigsResponse(
            results=[
                DescribeConfigsResult(0, None, one.resource_type, one.resource_name, found)
                for one in request.resources
            ]
        )

    return answer


def cluster_of(**answers: Any) -> ScriptedCluster:
    nodes = {1: ScriptedNode(), 2: ScriptedNode()}
    for node in nodes.values():
        node.apis = tuple(map(int, APIS))
    members = [share.member("a", 0), share.member("b", 0)]
    known = share.share_cluster((0, 4, 3), (1, -1, -1), state="Stable", members=members)
    listed = known["ListGroupsRequest"]
    cluster = ScriptedCluster([topic_of("t", [1, 2]), topic_of("dlq.g")], {}, nodes)
    cluster.answers = {
        **known,
        "ListGroupsRequest": lambda _: (
            listed if cluster.asked[-1][0] == 2 else ListGroupsResponse()
        ),
        "ListOffsetsRequest": offsets_of,
        "FetchRequest": FetchResponse(),
        "FindCoordinatorRequest": share.coordinators(),
        "ReadShareGroupStateRequest": share.stored(
            [StateBatch(4, 4, 2, 1), StateBatch(5, 5, 0, 4)], start=4
        ),
        "DescribeConfigsRequest": configs(
            **{
                "share.delivery.count.limit": "5",
                "share.partition.max.record.locks": "2000",
                "share.record.lock.duration.ms": "30000",
                "errors.deadletterqueue.topic.name": "dlq.g",
            }
        ),
        "DescribeClusterRequest": DescribeClusterResponse(),
        **answers,
    }
    return cluster


class Sampled:
    """A sampler with the history that it is given."""

    every_s = 10.0
    error = None

    def __init__(self, history: LagHistory) -> None:
        self.history = history

    def read(self, question: Any) -> Any:
        return question(self.history)

    def wait_for_first(self, timeout_s: float) -> None:
        pass

    def close(self) -> None:
        pass


def console(cluster: ScriptedCluster, history: LagHistory | None = None) -> OneCluster:
    made = OneCluster(cluster, allow_writes=True)
    made.put(LagSampler, Sampled(history or LagHistory()))
    return made


def test_the_page_has_start_offsets_members_and_deliveries() -> None:
    page = called("/api/group", console(cluster_of()), ask(group="g"))
    assert (page["type"], page["lag"], page["partitions_without_lag"]) == ("share", 3, 0)
    assert page["operations"] == ["DESCRIBE", "READ"] and page["unserved"] is None
    first, second = page["partitions"]
    assert (first["committed"], first["lag"], first["unread_at"]) == (4, 3, 5)
    assert first["readers"] == [0, 1] and second["readers"] == []
    details = page["share"]
    assert [(one["first"], one["state"], one["deliveries"]) for one in details["ranges"]] == [
        (4, "acknowledged", 1),
        (5, "available", 4),
        (6, "available", None),
    ]
    assert details["troubles"] == ["t-0: offset 5 had 4 of 5 deliveries: the next one is the last"]
    assert (details["dead_letter_topic"], details["delivery_limit"]) == ("dlq.g", 5)


def test_the_page_says_what_the_login_may_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    results = [DescribeConfigsResult(ErrorCode.GROUP_AUTHORIZATION_FAILED, None, 32, "g")]
    cluster = cluster_of(
        FindCoordinatorRequest=share.coordinators(denied),
        DescribeConfigsRequest=DescribeConfigsResponse(results=results),
    )
    page = called("/api/group", console(cluster), ask(group="g"))
    details = page["share"]
    assert "ClusterAction on the cluster" in details["without_ranges"]
    assert (details["ranges"], details["delivery_limit"]) == ([], None)
    assert page["partitions"][0]["unread_at"] == 4
    monkeypatch.setattr(group_page, "RANGES_MAX", 2)
    details = called("/api/group", console(cluster_of()), ask(group="g"))["share"]
    assert (len(details["ranges"]), details["more_ranges"]) == (2, 1)


def test_samples_and_the_list_have_the_lag_that_the_coordinator_reports() -> None:
    cluster = cluster_of()
    look = look_at_groups(cluster)
    assert (look.committed, look.reported) == ({"g": {AT: 4}}, {"g": {AT: 3}})
    assert look.uncommitted == {}
    history = LagHistory()
    history.add(0, *look)
    (row,) = called("/api/groups", console(cluster, history), ask())["groups"]
    assert (row["type"], row["lag"], row["members"]) == ("share", 3, 2)


def test_a_share_group_is_behind_while_its_start_offset_stays() -> None:
    history = LagHistory()
    for number in range(12):
        end, lag = 10 + number, 6 if number < 4 else 5 + number
        history.add(number * 10_000, {"g": {AT: 4}}, {AT: end}, None, {"g": {AT: lag}})
    cluster = cluster_of()
    since = called("/api/group", console(cluster, history), ask(group="g"))["since"]
    assert since.startswith("behind since before {0}, the console's first sample; ")
    assert "no record finished for" in since
    assert history.history("g").partitions[AT][:5] == [6, 6, 6, 6, 9]
    history.add(120_000, {"g": {AT: 4}}, {AT: 30}, None, {"g": {AT: 0}})
    assert history.behind("g")[AT].since_ms is None and history.lag("g").records == 0


def test_reset_and_delete() -> None:
    idle = share.described("Empty")
    cluster = cluster_of(ShareGroupDescribeRequest=idle)
    page = console(cluster)
    found = called("/api/group/reset", page, ask(moves((0, "start"), execute=True), group="g"))
    assert found["rows"] == [{"topic": "t", "partition": 0, "committed": 4, "new": 3}]
    assert len(cluster.asked_for("AlterShareGroupOffsetsRequest")) == 1
    rows = called("/api/group/delete", page, ask({"execute": True}, group="g"))["rows"]
    assert rows == [{"topic": "t", "partition": 0, "committed": 4}]
    assert len(cluster.asked_for("DeleteGroupsRequest")) == 1
    with pytest.raises(Refused, match="stop them first"):
        called("/api/group/reset", console(cluster_of()), ask(moves((0, "end")), group="g"))
