"""`ottla group` on a share group: start offsets, members, deliveries, changes."""

from __future__ import annotations

import json

import pytest

from command.groups import group_command
from protocol.api_keys import ApiKey
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.read_share_group_state import StateBatch
from tests.unit.client.groups import share_answers as share
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, offsets_of, topic_of
from tests.unit.command.run_ottla import Ottla, ottla_on


@pytest.fixture
def cluster() -> ScriptedCluster:
    nodes = {1: ScriptedNode(), 2: ScriptedNode()}
    nodes[2].apis = (int(ApiKey.SHARE_GROUP_DESCRIBE), int(ApiKey.READ_SHARE_GROUP_STATE))
    nodes[1].apis = nodes[2].apis
    answers = share.share_cluster((0, 4, 3), (1, -1, -1))
    answers |= {"ListOffsetsRequest": offsets_of, "FindCoordinatorRequest": share.coordinators()}
    answers["ReadShareGroupStateRequest"] = share.stored([StateBatch(5, 6, 0, 3)], start=4)
    return ScriptedCluster([topic_of("t", [1, 2])], answers, nodes)


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    return ottla_on(cluster, [group_command], monkeypatch, capfd)


def test_list_by_type(ottla: Ottla, cluster: ScriptedCluster) -> None:
    groups = [ListedGroup("g", "share", "Empty", "Share"), ListedGroup("c", "", "Empty", "Classic")]
    cluster.answers["ListGroupsRequest"] = ListGroupsResponse(groups=groups)
    assert ottla("group", "list", "-q", "--type", "share")[1] == "g\ng\n"  # one of each broker


def test_describe(ottla: Ottla, cluster: ScriptedCluster) -> None:
    members = [share.member("b", 0), share.member("a", 0)]
    cluster.answers["ShareGroupDescribeRequest"] = share.described("Stable", members)
    heading, *table = ottla("group", "describe", "g")[1].splitlines()
    assert heading == (
        "g  share, stable, epoch 4, assignor simple, coordinator 2, 2 members, "
        "lag at least 3 (not known of 1 partition)"
    )
    assert table == [
        "TOPIC  PARTITION  START  END  LAG  MEMBERS",
        "t      0          4      10   3    2",
        "t      1          -      11   -    0",
    ]
    assert "a       h     4      t:0" in ottla("group", "describe", "g", "-m")[1].splitlines()[2]
    found = json.loads(ottla("group", "describe", "g", "--json")[1])
    assert (found["type"], found["members"][0]["assignment"]) == ("share", {"t": [0]})
    assert found["partitions"][0]["start"] == 4 and "deliveries" not in found


def test_deliveries(ottla: Ottla, cluster: ScriptedCluster) -> None:
    _, out, note = ottla("group", "describe", "g", "--deliveries")
    assert out.splitlines()[1:] == [
        "TOPIC  PARTITION  FIRST  LAST  STATE      DELIVERIES",
        "t      0          4      4     available  -",
        "t      0          5      6     available  3",
        "t      0          7      9     available  -",
    ]
    assert "does not report which of the available records" in note
    found = json.loads(ottla("group", "describe", "g", "-d", "--json")[1])
    assert [one["deliveries"] for one in found["deliveries"]] == [None, 3, None]
    cluster.answers |= {"DescribeGroupsRequest": share.answers.described(state="Empty")}
    cluster.answers |= {"OffsetFetchRequest": share.answers.committed({})}
    code, _, error = ottla("group", "describe", "g", "--deliveries")
    assert code == 2 and "g is a classic group, and only a share group counts deliveries" in error


def test_reset(ottla: Ottla, cluster: ScriptedCluster) -> None:
    words = ("group", "reset", "g", "--all-topics", "--to", "start")
    assert ottla(*words)[1].splitlines() == [
        "TOPIC  PARTITION  START  NEW",
        "t      0          4      3",
        "t      1          -      4",
    ]
    assert not cluster.asked_for("AlterShareGroupOffsetsRequest")
    assert ottla(*words, "--execute")[0] == 0
    assert len(cluster.asked_for("AlterShareGroupOffsetsRequest")) == 1
    members = [share.member("a", 0)]
    cluster.answers["ShareGroupDescribeRequest"] = share.described("Stable", members)
    assert "stop them first (a on h)" in ottla(*words)[2]


def test_delete_the_offsets_of_a_topic_or_the_group(ottla: Ottla, cluster: ScriptedCluster) -> None:
    assert ottla("group", "delete", "g", "-t", "t")[1].splitlines() == [
        "GROUP  TOPIC  PARTITION  START",
        "g      t      0          4",
        "g      t      1          -",
    ]
    assert "no offsets in topic other" in ottla("group", "delete", "g", "-t", "other")[2]
    assert not cluster.asked_for("DeleteShareGroupOffsetsRequest")
    assert (
        "offsets of group g in t are deleted"
        in ottla("group", "delete", "g", "-t", "t", "--execute")[2]
    )
    assert not cluster.asked_for("DeleteGroupsRequest")
    assert "group g is deleted" in ottla("group", "delete", "g", "--execute")[2]


def test_a_group_that_is_no_share_group_either_does_not_exist(
    ottla: Ottla, cluster: ScriptedCluster
) -> None:
    for code in (share.NOT_FOUND, 35):
        cluster.answers["ShareGroupDescribeRequest"] = share.described(error_code=code)
        assert "no group g (ottla group list" in ottla("group", "describe", "g")[2]
    cluster.answers["ShareGroupDescribeRequest"] = share.described(error_code=30)
    assert "Describe on group g" in ottla("group", "describe", "g")[2]
