"""Many groups in few requests: offsets and members by coordinator."""

from __future__ import annotations

from typing import Any

from client.groups.groups import GroupSummary
from client.groups.many import GROUPS_A_REQUEST, committed_of_many, member_counts
from protocol.api_keys import ApiKey
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from protocol.messages.consumer_group_describe import DescribedGroup as NewGroup
from protocol.messages.consumer_group_describe import Member as NewMember
from protocol.messages.describe_groups import (
    DescribedGroupMember,
)
from tests.unit.client.groups import answers
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode

NOT_COORDINATOR = 16


OFFSETS = answers.committed(
    {"t": {0: 4, 1: -1}}, moved=answers.committed_by("moved", error_code=NOT_COORDINATOR)
)


def of(*names: str, kind: str = "classic", state: str = "Stable") -> list[GroupSummary]:
    return [GroupSummary(name, state, kind, "consumer") for name in names]


def test_each_coordinator_is_asked_for_all_of_its_own() -> None:
    cluster = ScriptedCluster(answers={"OffsetFetchRequest": OFFSETS})
    found = committed_of_many(
        cluster, {1: of("a", "moved"), 2: [*of("b"), *of("s", kind="Share")], 3: []}
    )
    assert found == {"a": {("t", 0): 4}, "b": {("t", 0): 4}}
    asked = [(node, [one.group_id for one in request.groups]) for node, request in cluster.asked]
    assert asked == [(1, ["a", "moved"]), (2, ["b"])]


def test_a_request_has_an_end() -> None:
    cluster = ScriptedCluster(answers={"OffsetFetchRequest": OFFSETS})
    names = [f"g{index:03}" for index in range(2 * GROUPS_A_REQUEST + 1)]
    assert list(committed_of_many(cluster, {1: of(*names)})) == names
    assert [len(request.groups) for _, request in cluster.asked] == [100, 100, 1]


def test_members_are_counted_by_the_protocol_of_their_group() -> None:
    member = DescribedGroupMember("1", None, "c", "/h")
    classic = answers.described({"old": [member], "older": [member]})

    def new(request: Any) -> ConsumerGroupDescribeResponse:
        members = [NewMember("1"), NewMember("2")]
        groups = [
            NewGroup(0, None, name, "Stable", 1, 1, "", members) for name in request.group_ids
        ]
        return ConsumerGroupDescribeResponse(groups=groups)

    node = ScriptedNode()
    node.apis = (int(ApiKey.CONSUMER_GROUP_DESCRIBE),)
    cluster = ScriptedCluster(
        answers={"DescribeGroupsRequest": classic, "ConsumerGroupDescribeRequest": new},
        nodes={1: node},
    )
    listed = [
        *of("old"),
        *of("older", kind=""),
        *of("new", kind="Consumer"),
        *of("idle", state="Empty"),
        *of("shared", kind="share"),
    ]
    assert member_counts(cluster, {1: listed}) == {"idle": 0, "new": 2, "old": 1, "older": 1}
