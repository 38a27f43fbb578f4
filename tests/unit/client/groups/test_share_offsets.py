"""Start offsets of share groups: read, set and deleted, and the errors of each."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.share_offsets import ShareOffset
from client.groups.positions import Position, delete_offsets, offsets_of, positions, set_offsets
from client.groups.share_offsets import share_offsets
from client.refusals import Refused
from protocol.errors import ErrorCode
from tests.unit.client.groups import share_answers as share
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode


def cluster_of(**answers: Any) -> ScriptedCluster:
    known = share.share_cluster((1, -1, -1), (0, 4, 3))
    return ScriptedCluster([], known | answers, {2: ScriptedNode()})


def test_offsets_and_lags() -> None:
    cluster = cluster_of()
    assert share_offsets(cluster, "g") == {
        ("t", 0): ShareOffset(4, 3, share.TOPIC_ID, 7),
        ("t", 1): ShareOffset(None, None, share.TOPIC_ID, 7),
    }
    known = positions(cluster, "g", "Share")
    assert known == {("t", 0): Position(4, 3), ("t", 1): Position(None)}
    assert offsets_of(known) == {("t", 0): 4}


def test_a_reported_lag_counts_more_than_the_distance_to_the_end() -> None:
    assert Position(4, 3).lag(10) == 3
    assert Position(4).lag(10) == 6 and Position(14).lag(10) == 0
    assert Position(4).lag(None) is None and Position(None).lag(10) is None


def test_a_group_that_is_gone_has_no_offsets_and_a_denied_one_is_refused() -> None:
    def answering(code: ErrorCode) -> ScriptedCluster:
        return cluster_of(DescribeShareGroupOffsetsRequest=share.offsets(error_code=code))

    assert positions(answering(ErrorCode.GROUP_ID_NOT_FOUND), "g", "share") == {}
    with pytest.raises(Refused, match="Describe on group g"):
        positions(answering(ErrorCode.GROUP_AUTHORIZATION_FAILED), "g", "share")


def test_set_and_delete() -> None:
    cluster = cluster_of()
    set_offsets(cluster, "g", "share", {("t", 1): 5, ("t", 0): 4})
    set_offsets(cluster, "g", "share", {})
    delete_offsets(cluster, "g", "share", [("t", 0), ("t", 1)])
    (request,) = cluster.asked_for("AlterShareGroupOffsetsRequest")
    asked = [(one.partition_index, one.start_offset) for one in request.topics[0].partitions]
    assert (request.group_id, request.topics[0].topic_name, asked) == ("g", "t", [(0, 4), (1, 5)])
    (deletion,) = cluster.asked_for("DeleteShareGroupOffsetsRequest")
    assert [topic.topic_name for topic in deletion.topics] == ["t"]


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ((ErrorCode.NON_EMPTY_GROUP, 0), "group g: it has members that read now"),
        ((ErrorCode.GROUP_ID_NOT_FOUND, 0), "group g: there is no such group"),
        ((0, ErrorCode.TOPIC_AUTHORIZATION_FAILED), "group g, (topic t|t-0): this takes Read on"),
    ],
)
def test_a_change_that_is_refused(codes: tuple[int, int], reason: str) -> None:
    cluster = cluster_of(
        AlterShareGroupOffsetsRequest=share.altered(*codes),
        DeleteShareGroupOffsetsRequest=share.removed(*codes),
    )
    with pytest.raises(Refused, match=reason):
        set_offsets(cluster, "g", "share", {("t", 0): 4})
    with pytest.raises(Refused, match=reason):
        delete_offsets(cluster, "g", "share", [("t", 0)])
