"""The endpoints about groups: the list, a group of each type, and changes."""

from __future__ import annotations

from typing import Any

import pytest

from client.refusals import Refused
from console.endpoints import BadAsk
from console.groups.lag_history import LagHistory
from console.groups.lag_sampler import LagSampler
from ottla.plugins.authorizer import Operation
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from protocol.messages.fetch import FetchResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.groups import answers as answers_of
from tests.unit.client.scripted import (
    ScriptedCluster,
    ScriptedNode,
    offsets_of,
    topic_of,
)
from tests.unit.console.groups.asking import called, moves
from tests.unit.console.one_console import OneCluster, ask

NAMES = ("a", "b/lag", "c")


class Looked:
    """A sampler with eight samples."""

    every_s = 10.0
    error = None

    def __init__(self) -> None:
        self.history = LagHistory()
        for number in range(8):
            self.history.add(number * 10_000, {"a": {("t", 0): 4}, "c": {}}, {("t", 0): 5 + number})

    def read(self, question: Any) -> Any:
        return question(self.history)

    def wait_for_first(self, timeout_s: float) -> None:
        pass

    def close(self) -> None:
        pass


def cluster_of(**answers: Any) -> ScriptedCluster:
    reader = DescribedGroupMember("m", None, "reader", "/10.0.0.1")
    groups = [ListedGroup(name, "consumer", "Stable", "Classic") for name in NAMES]
    groups += [ListedGroup(name, name, "Stable", name.title()) for name in ("share", "streams")]
    groups.append(ListedGroup("newer", "newer", "Stable", "Newer"))
    cluster = ScriptedCluster([topic_of("t", [1, 2])], nodes={1: ScriptedNode(), 2: ScriptedNode()})
    cluster.answers = {
        "ListGroupsRequest": lambda _: (
            ListGroupsResponse(groups=groups) if cluster.asked[-1][0] == 2 else ListGroupsResponse()
        ),
        "DescribeGroupsRequest": answers_of.described({"c": [reader]}),
        "OffsetFetchRequest": answers_of.committed({"t": {0: 4, 1: 11}}),
        "ListOffsetsRequest": offsets_of,
        "FetchRequest": FetchResponse(),
        "DescribeClusterRequest": DescribeClusterResponse(
            cluster_authorized_operations=1 << Operation.DESCRIBE
        ),
    } | answers
    return cluster


def console(cluster: ScriptedCluster | None = None) -> OneCluster:
    made = OneCluster(cluster or cluster_of())
    made.put(LagSampler, Looked())
    return made


def test_the_list_has_those_with_most_lag_first() -> None:
    found = called("/api/groups", console(), ask())
    assert [one["group"] for one in found["groups"]] == [
        "a",
        "b/lag",
        "c",
        "newer",
        "share",
        "streams",
    ]
    first, share = found["groups"][0], found["groups"][4]
    assert (first["type"], first["lag"], first["members"]) == ("classic", 8, 0)
    assert first["since"].startswith("behind since before {0}")
    assert (share["type"], share["lag"], share["members"]) == ("share", None, None)
    assert (found["of"], found["lagging"], found["hides_some"]) == (6, 1, False)


def test_a_page_of_those_that_were_searched_for() -> None:
    cluster = cluster_of()
    request = ask(q="A", sort="name", count="1", **{"from": "1"})
    found = called("/api/groups", console(cluster), request)
    assert [one["group"] for one in found["groups"]] == ["b/lag"]
    assert found["count"] == 4
    (asked,) = cluster.asked_for("DescribeGroupsRequest")
    assert asked.groups == ["b/lag"]


def test_one_group_has_its_partitions_and_who_reads_them() -> None:
    found = called("/api/group", console(), ask(group="a"))
    assert [(one["partition"], one["lag"], one["readers"]) for one in found["partitions"]] == [
        (0, 6, []),
        (1, 0, []),
    ]
    assert [one["late"] for one in found["partitions"]] == [True, False]
    assert found["since"].startswith("behind since before {0}")


def test_a_group_that_reads_and_has_committed_nothing_has_no_known_lag() -> None:
    given = answers_of.assignment(3, "t", [0, 1])
    reader = DescribedGroupMember("m", None, "reader", "/h", member_assignment=given)
    cluster = cluster_of(
        DescribeGroupsRequest=answers_of.described({"c": [reader]}),
        OffsetFetchRequest=answers_of.committed({"t": {0: 10}}, c=answers_of.committed_by("c")),
    )
    found = called("/api/group", console(cluster), ask(group="c"))
    assert (found["lag"], found["partitions_without_lag"]) == (None, 2)
    assert found["since"] == "has no committed offsets"
    rows = called("/api/groups", console(cluster), ask())["groups"]
    assert {one["group"]: one["lag"] for one in rows}["c"] is None
    cluster.answers["OffsetFetchRequest"] = answers_of.committed({"t": {0: 10}})
    found = called("/api/group", console(cluster), ask(group="c"))
    assert (found["lag"], found["partitions_without_lag"]) == (0, 1)
    assert found["since"] == "has read all records of the partitions that have a commit"


def test_groups_that_the_login_may_not_describe_are_mentioned() -> None:
    cluster = cluster_of(
        DescribeClusterRequest=DescribeClusterResponse(cluster_authorized_operations=0)
    )
    assert called("/api/groups", console(cluster), ask())["hides_some"]
    older = cluster_of(DescribeClusterRequest=DescribeClusterResponse())
    assert not called("/api/groups", console(older), ask())["hides_some"]


def test_partitions_without_a_commit_are_no_part_of_the_lag() -> None:
    cluster = cluster_of(OffsetFetchRequest=answers_of.committed({"t": {0: 4}}))
    found = called("/api/group", console(cluster), ask(group="a"))
    assert (found["lag"], found["partitions_without_lag"]) == (6, 0)
    assert found["uncommitted"] == {"partitions": 1, "records": 7}
    other = found["partitions"][1]
    assert (other["committed"], other["lag"], other["held"], other["end"]) == (None, None, 7, 11)


def test_a_group_keeps_up_only_if_samples_show_it() -> None:
    """The samples show that partition 0 of group a is behind; of group b/lag there are none."""
    cluster = cluster_of(OffsetFetchRequest=answers_of.committed({"t": {0: 4, 1: 11}}))
    for name in ("a", "b/lag"):
        assert not called("/api/group", console(cluster), ask(group=name))["keeps_up"]
    cluster = cluster_of(OffsetFetchRequest=answers_of.committed({"t": {0: 10, 1: 11}}))
    assert called("/api/group", console(cluster), ask(group="b/lag"))["keeps_up"]


@pytest.mark.parametrize(
    ("group", "said", "lag"),
    [
        ("streams", "the console does not show the members of a streams group", 6),
        ("newer", "the console does not show the members of a newer group", 6),
    ],
)
def test_a_group_of_another_type_is_shown_as_the_list_has_it(
    group: str, said: str, lag: int | None
) -> None:
    found = called("/api/group", console(), ask(group=group))
    assert (found["type"], found["state"], found["unserved"]) == (group, "Stable", said)
    assert (found["lag"], found["since"], found["members"]) == (lag, said, [])
    assert all(name in found for name in ("watched", "epoch", "assignor", "operations"))


def test_the_offsets_of_a_newer_type_may_be_rejected() -> None:
    rejected = answers_of.committed({}, newer=answers_of.committed_by("newer", error_code=42))
    found = called(
        "/api/group", console(cluster_of(OffsetFetchRequest=rejected)), ask(group="newer")
    )
    assert (found["lag"], found["partitions"]) == (None, [])


def test_a_group_tells_the_operations_that_the_login_may_do() -> None:
    cluster = cluster_of(
        DescribeGroupsRequest=DescribeGroupsResponse(
            groups=[DescribedGroup(group_id="a", authorized_operations=1 << Operation.READ)]
        )
    )
    writing = OneCluster(cluster, allow_writes=True)
    writing.put(LagSampler, Looked())
    assert called("/api/group", writing, ask(group="a"))["operations"] == ["READ"]
    assert called("/api/group", console(cluster), ask(group="a"))["operations"] is None


def test_the_last_hour() -> None:
    found = called("/api/group/lag", console(), ask(group="a"))
    assert found["total"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found["partitions"] == [{"topic": "t", "partition": 0, "lag": found["total"]}]
    assert called("/api/group/lag", console(), ask(group="unknown"))["total"] == []


def test_a_move_is_planned_and_changes_nothing() -> None:
    cluster = cluster_of()
    found = called(
        "/api/group/reset", console(cluster), ask(moves((0, "start"), (1, "-2")), group="a")
    )
    assert found == {
        "moved": False,
        "rows": [
            {"topic": "t", "partition": 0, "committed": 4, "new": 3},
            {"topic": "t", "partition": 1, "committed": 11, "new": 9},
        ],
    }
    assert cluster.asked_for("OffsetCommitRequest") == []


def test_a_group_with_members_is_not_moved_nor_deleted() -> None:
    for path, body in (("reset", moves((0, "end"), execute=True)), ("delete", {"execute": True})):
        cluster = cluster_of()
        with pytest.raises(Refused, match="stop them first"):
            called(f"/api/group/{path}", console(cluster), ask(body, group="c"))
        assert cluster.asked_for("OffsetCommitRequest") == []
        assert cluster.asked_for("DeleteGroupsRequest") == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "at least one"),
        ([], "at least one"),
        ({"moves": [{"topic": "t"}]}, "a new position"),
        ({"moves": [{"topic": "t", "partition": 0, "to": "middle"}]}, "start, end, an offset"),
        ({"moves": [{}] * 10_001}, "at most"),
    ],
)
def test_a_move_that_makes_no_sense(body: Any, said: str) -> None:
    with pytest.raises(BadAsk, match=said):
        called("/api/group/reset", console(), ask(body, group="a"))


def test_a_group_is_deleted_when_that_is_asked() -> None:
    cluster = cluster_of(DeleteGroupsRequest=answers_of.deleted("a"))
    shown = called("/api/group/delete", console(cluster), ask({}, group="a"))
    assert (shown["deleted"], len(shown["rows"])) == (False, 2)
    assert cluster.asked_for("DeleteGroupsRequest") == []
    assert called("/api/group/delete", console(cluster), ask({"execute": True}, group="a"))[
        "deleted"
    ]
    assert len(cluster.asked_for("DeleteGroupsRequest")) == 1
