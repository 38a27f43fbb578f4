"""What the page is told of groups, and what it may change."""

from __future__ import annotations

from typing import Any

import pytest

from client.refusals import Refused
from console.endpoints import Ask, BadAsk, Console
from console.groups.endpoints import ENDPOINTS
from console.groups.lag_history import LagHistory
from console.groups.lag_sampler import LagSampler
from protocol.messages.describe_groups import (
    DescribedGroupMember,
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
from tests.unit.console.one_console import OneCluster, ask, plain

NAMES = ("a", "b/lag", "c")


class Looked:
    """A sampler that has looked."""

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
    groups.append(ListedGroup("shared", "share", "Stable", "Share"))
    cluster = ScriptedCluster([topic_of("t", [1, 2])], nodes={1: ScriptedNode(), 2: ScriptedNode()})
    cluster.answers = {
        "ListGroupsRequest": lambda _: (
            ListGroupsResponse(groups=groups) if cluster.asked[-1][0] == 2 else ListGroupsResponse()
        ),
        "DescribeGroupsRequest": answers_of.described({"c": [reader]}),
        "OffsetFetchRequest": answers_of.committed({"t": {0: 4, 1: 11}}),
        "ListOffsetsRequest": offsets_of,
        "FetchRequest": FetchResponse(),
    } | answers
    return cluster


def console(cluster: ScriptedCluster | None = None) -> OneCluster:
    made = OneCluster(cluster or cluster_of())
    made.put(LagSampler, Looked())
    return made


def called(path: str, of: Console, request: Ask) -> Any:
    (endpoint,) = [one for one in ENDPOINTS if one.path == path]
    assert endpoint.answer is not None
    return plain(endpoint.answer(of, request))


def test_the_list_has_those_with_most_lag_first() -> None:
    found = called("/api/groups", console(), ask())
    assert [one["group"] for one in found["groups"]] == ["a", "b/lag", "c", "shared"]
    first, last = found["groups"][0], found["groups"][-1]
    assert (first["type"], first["lag"], first["members"]) == ("classic", 8, 0)
    assert first["since"].startswith("behind since before {0}")
    assert (last["type"], last["lag"], last["members"]) == ("share", None, None)
    assert (found["of"], found["lagging"]) == (4, 1)


def test_a_page_of_those_that_were_searched_for() -> None:
    cluster = cluster_of()
    request = ask(q="A", sort="name", count="1", **{"from": "1"})
    found = called("/api/groups", console(cluster), request)
    assert [one["group"] for one in found["groups"]] == ["b/lag"]
    assert found["count"] == 3
    (asked,) = cluster.asked_for("DescribeGroupsRequest")
    assert asked.groups == ["b/lag"]


def test_one_group_has_its_partitions_and_who_reads_them() -> None:
    found = called("/api/group", console(), ask(group="a"))
    assert [(one["partition"], one["lag"], one["reader"]) for one in found["partitions"]] == [
        (0, 6, None),
        (1, 0, None),
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
    assert found["since"] == "has read all records of the partitions whose lag is known"


def test_a_share_group_is_told_to_have_no_lag() -> None:
    assert "cannot show a lag" in called("/api/group", console(), ask(group="shared"))["unserved"]


def test_the_last_hour() -> None:
    found = called("/api/group/lag", console(), ask(group="a"))
    assert found["total"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found["partitions"] == [{"topic": "t", "partition": 0, "lag": found["total"]}]
    assert called("/api/group/lag", console(), ask(group="unknown"))["total"] == []


def moves(*places: tuple[int, str], execute: bool = False) -> dict[str, object]:
    wanted = [{"topic": "t", "partition": index, "to": to} for index, to in places]
    return {"moves": wanted, "execute": execute}


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
