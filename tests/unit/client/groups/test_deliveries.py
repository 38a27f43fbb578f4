"""Deliveries of a share group's records: ranges, the coordinators that are asked, errors."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.deliveries import Delivered, ranges_in
from client.groups.deliveries import delivered_ranges
from client.refusals import Refused
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.read_share_group_state import StateBatch
from tests.unit.client.groups import share_answers as share
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode

ENDS = {("t", 0): 12, ("t", 1): 2, ("t", 2): 5}
BATCHES = [
    StateBatch(8, 9, 3, 5),
    StateBatch(0, 3, 2, 1),  # it begins below the start offset
    StateBatch(5, 6, 0, 3),
    StateBatch(7, 7, 0, 3),
    StateBatch(1, 2, 4, 2),  # it was below other batches already
]


def cluster_of(**answers: Any) -> ScriptedCluster:
    known = share.share_cluster((0, 2, 9), (1, 2, 0), (2, -1, -1))
    known |= {
        "FindCoordinatorRequest": share.coordinators(),
        "ReadShareGroupStateRequest": share.stored(BATCHES),
    }
    nodes = {1: ScriptedNode(), 2: ScriptedNode()}
    for node in nodes.values():
        node.apis = (int(ApiKey.READ_SHARE_GROUP_STATE),)
    return ScriptedCluster([], known | answers, nodes)


def test_ranges_from_the_start_offset_to_the_end() -> None:
    assert [tuple(one[2:]) for one in ranges_in(("t", 0), 2, 12, BATCHES)] == [
        (2, 3, "acknowledged", 1),
        (4, 4, "available", None),
        (5, 7, "available", 3),
        (8, 9, "archiving", 5),
        (10, 11, "available", None),
    ]
    assert ranges_in(("t", 0), 4, 4, BATCHES[1:2]) == []


def test_each_coordinator_is_asked_with_the_leader_epoch_that_it_knows() -> None:
    cluster = cluster_of()
    found = delivered_ranges(cluster, "g", ENDS)
    assert found[0] == Delivered("t", 0, 2, 3, "acknowledged", 1)
    assert {one.partition for one in found} == {0, 1}
    asked = [
        (node, [(one.partition, one.leader_epoch) for one in request.topics[0].partitions])
        for node, request in cluster.asked
        if type(request).__name__ == "ReadShareGroupStateRequest"
    ]
    assert asked == [(1, [(0, 7)]), (2, [(1, 7)])]
    key = cluster.asked_for("FindCoordinatorRequest")[-1].coordinator_keys[0]
    assert key == "g:AAECAwQFBgcICQoLDA0ODw:0"


def test_a_partition_that_is_not_initialized_is_left_out_and_a_denial_is_refused() -> None:
    hidden = cluster_of()
    hidden.scripted[2].apis = ()
    with pytest.raises(Refused, match="broker 2 does not report them"):
        delivered_ranges(hidden, "g", ENDS)
    answer = share.stored([], error_code=ErrorCode.INVALID_REQUEST)
    assert delivered_ranges(cluster_of(ReadShareGroupStateRequest=answer), "g", ENDS) == []
    denied = share.stored([], error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    for name, response in (
        ("ReadShareGroupStateRequest", denied),
        ("FindCoordinatorRequest", share.coordinators(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)),
    ):
        with pytest.raises(Refused, match="this takes ClusterAction on the cluster"):
            delivered_ranges(cluster_of(**{name: response}), "g", ENDS)
