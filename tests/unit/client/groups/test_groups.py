"""Groups: who is asked, states, members of both protocols, lag."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.groups import GroupDescription, MemberDescription
from client.groups.groups import GroupSummary, check_is_idle, delete, described, listed, standings
from client.refusals import Refused
from protocol.api_keys import ApiKey
from protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)
from protocol.messages.consumer_group_describe import DescribedGroup as NewGroup
from protocol.messages.consumer_group_describe import Member as NewMember
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.groups import answers as answers_of
from tests.unit.client.scripted import (
    ScriptedCluster,
    ScriptedNode,
    offsets_of,
    topic_of,
)

NOT_FOUND, DENIED, NON_EMPTY = 69, 30, 68


def cluster_of(new_protocol: bool = False, **answers: Any) -> ScriptedCluster:
    node = ScriptedNode()
    node.apis = (int(ApiKey.CONSUMER_GROUP_DESCRIBE),) if new_protocol else ()
    offsets = {"t": {0: 4, 1: 20}, "gone": {0: 1}}
    known = {"ListOffsetsRequest": offsets_of, "OffsetFetchRequest": answers_of.committed(offsets)}
    return ScriptedCluster([topic_of("t", [1, 2, 1])], known | answers, {2: node})


def classic(**fields: Any) -> DescribeGroupsResponse:
    group = {"group_id": "g", "group_state": "Stable", "protocol_type": "consumer"} | fields
    return DescribeGroupsResponse(groups=[DescribedGroup(**group)])


def test_each_broker_tells_of_its_own() -> None:
    own = {None: [], 1: ["b", "c"], 2: ["a"]}
    cluster = cluster_of(
        ListGroupsRequest=lambda _: ListGroupsResponse(
            groups=[
                ListedGroup(name, "consumer", "Empty", "classic")
                for name in own[cluster.asked[-1][0]]
            ]
        )
    )
    assert listed(cluster) == [GroupSummary(name, "Empty", "classic", "consumer") for name in "abc"]
    cluster.answers["ListGroupsRequest"] = ListGroupsResponse(error_code=31)
    with pytest.raises(Refused, match="Describe on the cluster"):
        listed(cluster)


@pytest.mark.parametrize("version", [0, 3, 9])
def test_members_of_a_classic_group(version: int) -> None:
    data = answers_of.assignment(version, "t", [1, 2])
    members = [
        DescribedGroupMember("2", None, "two", "/10.0.0.2"),
        DescribedGroupMember("1", None, "one", "/10.0.0.1", member_assignment=data),
        DescribedGroupMember("3", "static", "x", "/h", member_assignment=b"\0\1\0\0\0\x09"),
    ]
    found = described(
        cluster_of(DescribeGroupsRequest=classic(members=members, protocol_data="range")), "g"
    )
    assert found == GroupDescription(
        "g",
        "Stable",
        [
            MemberDescription("one", "/10.0.0.1", [("t", 1), ("t", 2)], "1"),
            MemberDescription("two", "/10.0.0.2", [], "2"),
            MemberDescription("x", "/h", [], "3", "static"),
        ],
        "classic",
        "range",
        2,
    )


def test_a_group_of_the_new_protocol() -> None:
    given = Assignment([TopicPartitions(bytes(16), "t", [0])])
    target = Assignment([TopicPartitions(bytes(16), "t", [0, 1])])
    member = NewMember("id", None, None, 3, "c", "/h", [], None, given, target, 1)
    group = NewGroup(0, None, "g", "Reconciling", 4, 5, "uniform", [member])
    answer = ConsumerGroupDescribeResponse(groups=[group])
    found = described(cluster_of(True, ConsumerGroupDescribeRequest=answer), "g")
    has, wants = [("t", 0)], [("t", 0), ("t", 1)]
    one = MemberDescription("c", "/h", has, "id", None, 3, wants, "consumer")
    assert one.host == "h"
    assert found == GroupDescription("g", "Reconciling", [one], "consumer", "uniform", 2, 4, 5)


def test_a_classic_group_of_a_broker_that_knows_both() -> None:
    answer = ConsumerGroupDescribeResponse(groups=[NewGroup(NOT_FOUND)])
    cluster = cluster_of(True, ConsumerGroupDescribeRequest=answer, DescribeGroupsRequest=classic())
    assert described(cluster, "g") == GroupDescription("g", "Stable", [], "classic", None, 2)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"error_code": NOT_FOUND}, "no group g"),
        ({"group_state": "Dead"}, "no group g"),
        ({"error_code": DENIED}, "Describe on group g"),
    ],
)
def test_groups_that_there_are_not(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        described(cluster_of(DescribeGroupsRequest=classic(**fields)), "g")


def test_where_a_group_stands() -> None:
    group = GroupDescription("g", "Stable", [MemberDescription("one", "h", [("t", 1), ("t", 2)])])
    assert [tuple(one) for one in standings(cluster_of(), group)] == [
        ("gone", 0, 1, None, None, None, None, 0),
        ("t", 0, 4, 10, 6, None, None, 0),
        ("t", 1, 20, 11, 0, "one", "h", 1),
        ("t", 2, None, 12, None, "one", "h", 1),
    ]


def test_only_idle_groups_are_changed() -> None:
    check_is_idle(GroupDescription("g", "Empty", []))
    with pytest.raises(Refused, match=r"stop them first \(one on h\)"):
        check_is_idle(
            GroupDescription(
                "g",
                "Stable",
                [MemberDescription("one", "h", []), MemberDescription("one", "h", [])],
            )
        )


@pytest.mark.parametrize(
    ("code", "said"),
    [(NON_EMPTY, "has members"), (NOT_FOUND, "no such group"), (DENIED, "Delete on group g")],
)
def test_a_group_that_stays(code: int, said: str) -> None:
    with pytest.raises(Refused, match=said):
        delete(cluster_of(DeleteGroupsRequest=answers_of.deleted("g", code)), "g")
