"""Share groups that are held up: the requests, the troubles with dead letters, the lines."""

from __future__ import annotations

from typing import Any

import pytest

from client.groups import held_up, held_up_report
from client.groups.held_up import share_groups
from client.groups.held_up_report import HeldUp, ShareGroups, group_lines, groups_as_object
from protocol.api_keys import ApiKey
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.groups import share_answers as share
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, offsets_of, topic_of

APIS = (int(ApiKey.SHARE_GROUP_DESCRIBE), int(ApiKey.READ_SHARE_GROUP_STATE))


def configs(request: Any) -> DescribeConfigsResponse:
    """The group's dead letter topic is `t`, which allows none."""
    values = {
        "errors.deadletterqueue.topic.name": "t",
        "errors.deadletterqueue.group.enable": "false",
    }
    (asked,) = request.resources
    own = [
        DescribeConfigsResourceResult(key, values[key])
        for key in asked.configuration_keys
        if key in values
    ]
    result = DescribeConfigsResult(0, None, asked.resource_type, asked.resource_name, own)
    return DescribeConfigsResponse(results=[result])


def cluster_of(*topics: str) -> ScriptedCluster:
    nodes = {1: ScriptedNode(), 2: ScriptedNode()}
    for node in nodes.values():
        node.apis = APIS
    answers = share.share_cluster((0, 4, 3)) | {
        "ListOffsetsRequest": offsets_of,
        "FindCoordinatorRequest": share.coordinators(),
        "ReadShareGroupStateRequest": share.stored([]),
        "DescribeConfigsRequest": configs,
    }
    listed = [ListedGroup("g", "share", "Empty", "Share"), ListedGroup("old", "", "", "Classic")]
    cluster = ScriptedCluster([topic_of(name) for name in topics], answers, nodes)
    cluster.answers["ListGroupsRequest"] = lambda _: ListGroupsResponse(
        groups=listed if cluster.asked[-1][0] == 2 else []
    )
    return cluster


def test_troubles_of_each_share_group() -> None:
    cluster = cluster_of("t")
    status = share_groups(cluster)
    assert (status.total, status.asked) == (1, 1)
    assert [trouble for _, trouble in status.held_up] == [
        "3 records wait, and the group has no members",
        "topic t allows no dead letters: set errors.deadletterqueue.group.enable=true",
    ]
    assert cluster.asked_for("ListGroupsRequest")[0].types_filter == ["share"]
    (_, missing) = share_groups(cluster_of()).held_up
    assert missing.trouble.startswith("the dead letter topic t does not exist: create it with")


def test_a_group_that_is_gone_and_those_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_of("t")
    cluster.answers["ShareGroupDescribeRequest"] = share.described(error_code=share.NOT_FOUND)
    assert share_groups(cluster) == ShareGroups(1, 1, [])
    monkeypatch.setattr(held_up, "GROUPS_MAX", 0)
    assert share_groups(cluster_of("t")) == ShareGroups(1, 0, [])


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    status = ShareGroups(3, 2, [HeldUp("a", "one"), HeldUp("a", "two"), HeldUp("b", "three")])
    monkeypatch.setattr(held_up_report, "LINES_MAX", 2)
    assert group_lines(status) == [
        "3 share groups, 2 of them looked at, 2 held up",
        "  a: one",
        "  a: two",
        "  … and 1 more (--json has all)",
    ]
    assert group_lines(ShareGroups(1, 1, [])) == ["1 share group, 0 held up"]
    assert group_lines("denied") == ["share groups: not known (denied)"]
    assert groups_as_object("denied") == {"error": "denied"}
    assert groups_as_object(status)["held_up"][0] == {"group": "a", "trouble": "one"}  # type: ignore[index]
