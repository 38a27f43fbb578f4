"""`ottla group`: words, what is shown first and what is done."""

from __future__ import annotations

import json

import pytest

from command.groups import group_command
from protocol.api_keys import ApiKey
from protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    TopicPartitions,
)
from protocol.messages.consumer_group_describe import DescribedGroup as NewGroup
from protocol.messages.consumer_group_describe import Member as NewMember
from protocol.messages.describe_groups import DescribedGroupMember
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.groups import answers
from tests.unit.client.scripted import (
    ScriptedCluster,
    ScriptedNode,
    offsets_of,
    topic_of,
)
from tests.unit.command.run_ottla import Ottla, ottla_on


@pytest.fixture
def cluster() -> ScriptedCluster:
    return ScriptedCluster(
        [topic_of("t", [1, 2])],
        {
            "ListOffsetsRequest": offsets_of,
            "ListGroupsRequest": ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Empty")]),
            "DescribeGroupsRequest": answers.described(state="Empty"),
            "OffsetFetchRequest": answers.committed({"t": {0: 4}}),
            "OffsetCommitRequest": answers.taken(),
            "DeleteGroupsRequest": answers.deleted("g"),
        },
        {2: ScriptedNode()},
    )


@pytest.fixture
def ottla(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ottla:
    return ottla_on(cluster, [group_command], monkeypatch, capfd)


def test_list(ottla: Ottla, cluster: ScriptedCluster) -> None:
    assert ottla("group", "list", "-q")[1] == "g\ng\n"  # one of each broker
    assert json.loads(ottla("group", "list", "--json")[1].splitlines()[0])["state"] == "Empty"
    cluster.answers["ListGroupsRequest"] = ListGroupsResponse()
    assert "no groups that" in ottla("group", "list")[2]


def test_describe(ottla: Ottla) -> None:
    assert ottla("group", "describe", "g")[1].splitlines() == [
        "g  classic, empty, coordinator 2, 0 members, lag 6",
        "TOPIC  PARTITION  COMMITTED  END  LAG  MEMBER  HOST",
        "t      0          4          10   6    -       -",
    ]
    found = json.loads(ottla("group", "describe", "g", "--json")[1])
    assert (found["lag"], found["partitions"][0]["committed"]) == (6, 4)
    assert (found["type"], found["epoch"], found["members"]) == ("classic", None, [])


def test_a_lag_that_is_not_known_is_not_counted_as_none(
    ottla: Ottla, cluster: ScriptedCluster
) -> None:
    given = answers.assignment(3, "t", [0, 1])
    reader = DescribedGroupMember("m", None, "reader", "/h", member_assignment=given)
    cluster.answers["DescribeGroupsRequest"] = answers.described({"g": [reader]})
    heading = ottla("group", "describe", "g")[1].splitlines()[0]
    assert heading.endswith("1 member, lag at least 6 (not known of 1 partition)")
    found = json.loads(ottla("group", "describe", "g", "--json")[1])
    assert (found["lag"], found["partitions_without_lag"]) == (6, 1)
    cluster.answers["OffsetFetchRequest"] = answers.committed({})
    heading, _, *rows = ottla("group", "describe", "g")[1].splitlines()
    assert heading.endswith(", lag -") and len(rows) == 2
    assert json.loads(ottla("group", "describe", "g", "--json")[1])["lag"] is None


def test_what_a_client_named_steers_no_terminal(ottla: Ottla, cluster: ScriptedCluster) -> None:
    evil = "\x1b]0;owned\x07\x9b2J"
    cluster.answers["DescribeGroupsRequest"] = answers.described(state=f"Stable{evil}")
    shown = ottla("group", "describe", f"g{evil}")[1]
    assert "\\x1b]0;owned\\x07\\x9b2J" in shown
    as_json = ottla("group", "describe", f"g{evil}", "--json")[1]
    assert json.loads(as_json)["group"] == f"g{evil}"
    for text in (shown, as_json):
        assert all(line.isprintable() for line in text.splitlines())


def test_a_name_that_is_not_utf_8_is_one_line(ottla: Ottla, cluster: ScriptedCluster) -> None:
    cluster.answers["DescribeGroupsRequest"] = lambda request: request.groups[0].encode()
    code, out, error = ottla("group", "describe", "g\udcff")
    assert (code, out) == (2, "")
    assert error == "ottla: g\\udcff is not UTF-8, as all names of Kafka are\n"


def test_describe_members_of_a_consumer_group(ottla: Ottla, cluster: ScriptedCluster) -> None:
    given = Assignment([TopicPartitions(bytes(16), "t", [0])])
    target = Assignment(
        [TopicPartitions(bytes(16), "t", [1, 0]), TopicPartitions(bytes(16), "a", [2])]
    )
    members = [
        NewMember("id-1", None, None, 3, "one", "/h", [], None, given, target, 1),
        NewMember("id-2", "static", None, 4, "two", "/i", [], None, Assignment(), Assignment(), 0),
    ]
    group = NewGroup(0, None, "g", "Reconciling", 4, 4, "uniform", members)
    cluster.answers["ConsumerGroupDescribeRequest"] = ConsumerGroupDescribeResponse(groups=[group])
    cluster.node(2).apis = (int(ApiKey.CONSUMER_GROUP_DESCRIBE),)  # type: ignore[attr-defined]
    assert ottla("group", "describe", "g", "--members")[1].splitlines() == [
        "g  consumer, reconciling, epoch 4, assignor uniform, coordinator 2, 2 members, lag 6",
        "MEMBER  HOST  EPOCH  ASSIGNMENT  TARGET     INSTANCE  ID",
        "one     h     3      t:0         a:2 t:0,1  -         id-1",
        "two     i     4      -           -          static    id-2",
    ]
    found = json.loads(ottla("group", "describe", "g", "--json")[1])
    assert (found["epoch"], found["target_epoch"], found["assignor"]) == (4, 4, "uniform")
    assert found["members"][0] == {
        "member": "one",
        "id": "id-1",
        "instance": None,
        "host": "h",
        "protocol": "consumer",
        "epoch": 3,
        "assignment": {"t": [0]},
        "target": {"a": [2], "t": [0, 1]},
    }
    group.assignment_epoch = 3
    assert "epoch 4 (assigned: 3)," in ottla("group", "describe", "g")[1]


def test_reset_shows_and_does_it_if_told(ottla: Ottla, cluster: ScriptedCluster) -> None:
    words = ("group", "reset", "g", "--topic", "t", "--to", "-2")
    code, out, error = ottla(*words)
    assert (code, out.splitlines()[1:]) == (
        0,
        ["t      0          4          8", "t      1          -          9"],
    )
    assert "a dry run" in error and not cluster.asked_for("OffsetCommitRequest")
    code, out, error = ottla(*words, "--execute", "--json")
    assert (code, error) == (0, "") and json.loads(out.splitlines()[0])["new"] == 8
    (request,) = cluster.asked_for("OffsetCommitRequest")
    sent = [(one.partition_index, one.committed_offset) for one in request.topics[0].partitions]
    assert sent == [(0, 8), (1, 9)]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--to", "end"], 2, "name what to move"),
        (["--to", "end", "--all-topics", "--topic", "t"], 2, "name what to move"),
        (["--to", "x", "--topic", "t"], 2, "--to x: give start"),
        (["--to", "end", "--topic", "t:x"], 2, "write it as TOPIC"),
        (["--to", "end", "--topic", "t:"], 2, "write it as TOPIC"),
        (["--to", "end", "--topic", "t:5"], 2, "topic t has partitions 0 to 1, and no 5"),
        (["--to", "end", "--topic", "u"], 1, "no topic u"),
        (["--topic", "t"], 2, "Missing option '--to'"),
    ],
)
def test_a_wrong_reset_is_one_line(ottla: Ottla, words: list[str], code: int, said: str) -> None:
    done, out, error = ottla("group", "reset", "g", *words)
    assert (done, out, error.count("\n")) == (code, "", 1) and said in error


def test_delete_shows_and_does_it_if_told(ottla: Ottla, cluster: ScriptedCluster) -> None:
    code, out, error = ottla("group", "delete", "g")
    assert (code, out.splitlines()[1]) == (0, "g      t      0          4")
    assert "a dry run" in error and not cluster.asked_for("DeleteGroupsRequest")
    code, _, error = ottla("group", "delete", "g", "--execute")
    assert (code, error) == (0, "ottla: group g is deleted\n")
    assert len(cluster.asked_for("DeleteGroupsRequest")) == 1
