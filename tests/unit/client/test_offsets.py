"""Offsets are asked of each partition's leader."""

from __future__ import annotations

import pytest

from client.core.offsets import READ_COMMITTED
from client.offsets import ends, list_offsets
from client.refusals import Refused
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of

TOPICS = {"t": topic_of("t", [1, 2, 1])}
EVERY = [("t", 0), ("t", 1), ("t", 2)]


def test_each_leader_is_asked_for_its_own() -> None:
    cluster = ScriptedCluster(answers={"ListOffsetsRequest": offsets_of})
    first, last = ends(cluster, TOPICS, EVERY, READ_COMMITTED)
    assert first == {("t", 0): 3, ("t", 1): 4, ("t", 2): 5}
    assert last == {("t", 0): 10, ("t", 1): 11, ("t", 2): 12}
    asked = [
        (
            node,
            request.isolation_level,
            [one.partition_index for one in request.topics[0].partitions],
        )
        for node, request in cluster.asked
    ]
    assert asked == [(1, 0, [0, 2]), (2, 0, [1]), (1, 1, [0, 2]), (2, 1, [1])]


def test_a_partition_that_may_not_be_asked() -> None:
    cluster = ScriptedCluster(answers={"ListOffsetsRequest": lambda one: offsets_of(one, 29)})
    with pytest.raises(Refused, match="t-0: this takes Describe on topic t"):
        list_offsets(cluster, TOPICS, {("t", 0): 5})
