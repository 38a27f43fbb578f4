"""Rows of topics, the page of one and its readers say what the cluster says."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from client.refusals import Refused
from console.topics.described import configs, described, readers, row
from protocol.errors import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.client.groups import answers
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of
from tests.unit.client.topic_answers import sizes
from tests.unit.console.one_console import plain


def test_a_row() -> None:
    topic = topic_of("t", [1, -1])
    topic.partitions[1].isr_nodes = [2]
    assert row(topic) == ("t", 2, 2, False, 1, 1)
    assert row(topic_of("__x", [], is_internal=True)) == ("__x", 0, 0, True, 0, 0)


def test_one_topic() -> None:
    topic = topic_of("t", topic_id=b"\x01" * 16)
    cluster = ScriptedCluster(
        [topic], {"ListOffsetsRequest": offsets_of, "DescribeLogDirsRequest": sizes}
    )
    found = plain(described(cluster, "t"))
    assert found["id"] == "AQEBAQEBAQEBAQEBAQEBAQ"
    (partition,) = found["partitions"]
    assert (partition["leader"], partition["replicas"], partition["isr"]) == (1, [1, 2], [1, 2])
    assert (partition["first"], partition["end"], partition["bytes"]) == (3, 10, 100)


def test_a_partition_that_its_leader_does_not_know_yet_has_no_offsets() -> None:
    def offsets(request: Any) -> Any:
        answer = offsets_of(request)
        for one in answer.topics[0].partitions:
            if one.partition_index == 1:
                one.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return answer

    cluster = ScriptedCluster(
        [topic_of("t", [1, 1])], {"ListOffsetsRequest": offsets, "DescribeLogDirsRequest": sizes}
    )
    first, new = plain(described(cluster, "t"))["partitions"]
    assert (first["first"], first["end"]) == (3, 10)
    assert (new["partition"], new["first"], new["end"]) == (1, None, None)

    refused = {"ListOffsetsRequest": partial(offsets_of, error_code=29)}
    with pytest.raises(Refused, match="Describe on topic t"):
        described(ScriptedCluster([topic_of("t")], refused), "t")


def test_configs_and_which_are_the_topic_s_own() -> None:
    answered = [
        DescribeConfigsResourceResult(
            "retention.ms", "7", config_source=1, documentation="how long"
        ),
        DescribeConfigsResourceResult("cleanup.policy", "delete", config_source=5),
    ]
    cluster = ScriptedCluster(
        [topic_of("t")],
        {
            "DescribeConfigsRequest": DescribeConfigsResponse(
                results=[DescribeConfigsResult(0, None, 2, "t", answered)]
            )
        },
    )
    found = plain(configs(cluster, "t"))
    assert [(one["name"], one["value"], one["source"], one["own"]) for one in found] == [
        ("cleanup.policy", "delete", "default", False),
        ("retention.ms", "7", "topic", True),
    ]
    assert found[1]["documentation"] == "how long"


def test_its_readers_those_furthest_behind_first() -> None:
    stands = {
        "slow": answers.committed_by("slow", {"t": {0: 4}}),
        "quick": answers.committed_by("quick", {"t": {0: 10}}),
        "other": answers.committed_by("other", {"u": {0: 1}}),
    }

    def listed(_: Any) -> ListGroupsResponse:
        found, names[:] = names[:], []
        return ListGroupsResponse(groups=[ListedGroup(one, group_state="Empty") for one in found])

    names = list(stands)
    cluster = ScriptedCluster(
        [topic_of("t")],
        {
            "ListOffsetsRequest": offsets_of,
            "ListGroupsRequest": listed,
            "OffsetFetchRequest": answers.committed({}, **stands),
        },
    )
    found = plain(readers(cluster, "t"))
    assert found["left_out"] == 0
    assert [(one["group"], one["lag"], one["state"]) for one in found["groups"]] == [
        ("slow", 6, "Empty"),
        ("quick", 0, "Empty"),
    ]
