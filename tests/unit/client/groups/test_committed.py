"""Committed offsets, from outside of a group."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from client.groups.committed import (
    commit_offsets,
    committed_offsets,
    delete_committed,
    group_refusal_text,
)
from client.refusals import Refused
from protocol.errors import ErrorCode
from protocol.messages.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tests.unit.client.groups import answers
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode


def fetched(code: int = 0, offsets: Mapping[int, int] | None = None) -> ScriptedCluster:
    group = answers.committed_by("g", {"t": offsets or {}}, code)
    return ScriptedCluster(answers={"OffsetFetchRequest": answers.committed({}, g=group)})


def test_what_is_committed_is_asked_of_the_coordinator() -> None:
    cluster = fetched(0, {1: 7, 0: 5, 2: -1})
    assert committed_offsets(cluster, "g") == {("t", 0): 5, ("t", 1): 7}
    assert cluster.asked[-1][0] == 2
    assert cluster.asked_for("OffsetFetchRequest")[0].topics is None


def test_a_group_that_there_is_not_has_committed_nothing() -> None:
    assert committed_offsets(fetched(ErrorCode.GROUP_ID_NOT_FOUND), "g") == {}
    with pytest.raises(Refused, match="Describe on group g"):
        committed_offsets(fetched(ErrorCode.GROUP_AUTHORIZATION_FAILED), "g")


def committing(code: int) -> ScriptedCluster:
    return ScriptedCluster(answers={"OffsetCommitRequest": answers.taken(code)})


def test_a_group_is_moved() -> None:
    cluster = committing(0)
    commit_offsets(cluster, "g", {("t", 1): 4, ("t", 0): 3})
    (request,) = cluster.asked_for("OffsetCommitRequest")
    sent = [(one.partition_index, one.committed_offset) for one in request.topics[0].partitions]
    assert sent == [(0, 3), (1, 4)] and request.generation_id_or_member_epoch == -1
    commit_offsets(cluster, "g", {})
    assert len(cluster.asked_for("OffsetCommitRequest")) == 1


def test_a_group_with_members_stays() -> None:
    with pytest.raises(Refused, match="group g, t-0: it has members"):
        commit_offsets(committing(ErrorCode.UNKNOWN_MEMBER_ID), "g", {("t", 0): 1})
    assert "no such group" in group_refusal_text(ErrorCode.GROUP_ID_NOT_FOUND, "g")
    assert "Read on group g" in group_refusal_text(ErrorCode.GROUP_AUTHORIZATION_FAILED, "g")


def test_delete_asks_for_the_partitions_and_is_refused_while_a_member_reads() -> None:
    def cluster_of(code: int, partition_code: int) -> ScriptedCluster:
        partitions = [OffsetDeleteResponsePartition(0, partition_code)]
        topics = [OffsetDeleteResponseTopic("t", partitions)]
        answer = OffsetDeleteResponse(code, topics=topics)
        return ScriptedCluster([], {"OffsetDeleteRequest": answer}, {2: ScriptedNode()})

    cluster = cluster_of(0, 0)
    delete_committed(cluster, "g", [("t", 1), ("t", 0)])
    delete_committed(cluster, "g", [])
    (request,) = cluster.asked_for("OffsetDeleteRequest")
    assert [one.partition_index for one in request.topics[0].partitions] == [0, 1]
    for code, partition_code, place in (
        (ErrorCode.NON_EMPTY_GROUP, 0, "g"),
        (0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, "g, t-0"),
    ):
        with pytest.raises(Refused, match=f"group {place}: it has members that read now"):
            delete_committed(cluster_of(code, partition_code), "g", [("t", 0)])
