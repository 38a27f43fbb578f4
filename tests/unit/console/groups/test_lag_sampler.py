"""One look at all groups, and how often."""

from __future__ import annotations

from threading import Event
from typing import Any

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from console.groups.lag_sampler import EVERY_S, LagSampler, look_at_groups
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.tools.waiting import LIMIT_S
from tests.unit.client.groups import answers as answers_of
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of
from tests.unit.console.one_console import OneCluster


def cluster_of(**answers: Any) -> ScriptedCluster:
    group = ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Empty", "classic")])
    cluster = ScriptedCluster([topic_of("t", [1, 2])])
    cluster.answers = {
        "ListGroupsRequest": lambda _: group if cluster.asked[-1][0] == 1 else ListGroupsResponse(),
        "OffsetFetchRequest": answers_of.committed({"t": {0: 4, 1: 11}, "gone": {0: 1}}),
        "ListOffsetsRequest": offsets_of,
    } | answers
    return cluster


def test_one_look_asks_each_broker_once() -> None:
    cluster = cluster_of()
    committed, ends, uncommitted, reported = look_at_groups(cluster)
    assert uncommitted == {} and reported == {}
    assert committed == {"g": {("t", 0): 4, ("t", 1): 11, ("gone", 0): 1}}
    assert ends == {("t", 0): 10, ("t", 1): 11}
    kinds = [type(one).__name__ for _, one in cluster.asked]
    assert kinds.count("OffsetFetchRequest") == 1
    assert kinds.count("ListOffsetsRequest") == 2


def test_records_of_partitions_without_a_commit_count_apart() -> None:
    cluster = cluster_of(OffsetFetchRequest=answers_of.committed({"t": {0: 4}}))
    _, ends, uncommitted, _ = look_at_groups(cluster)
    assert ends == {("t", 0): 10, ("t", 1): 11}
    assert uncommitted == {"g": (1, 7)}


def test_a_partition_whose_leader_refuses_has_no_end() -> None:
    cluster = cluster_of(ListOffsetsRequest=lambda request: offsets_of(request, error_code=6))
    assert look_at_groups(cluster).ends == {}


def test_no_groups_ask_for_no_offsets() -> None:
    cluster = cluster_of(ListGroupsRequest=ListGroupsResponse())
    assert look_at_groups(cluster) == ({}, {}, {}, {})
    assert cluster.asked_for("ListOffsetsRequest") == []


def test_the_sampler_looks_at_once_and_then_rests() -> None:
    sampler = LagSampler(OneCluster(cluster_of()))
    try:
        sampler.wait_for_first(LIMIT_S)
        assert sampler.read(lambda history: history.lag("g")) == (6, 1)
        assert sampler.error is None
        assert sampler.every_s >= EVERY_S
    finally:
        sampler.close()


def test_a_look_that_fails_is_told_and_leaves_what_was_seen() -> None:
    failed = Event()

    class Console:
        def cluster(self) -> ClusterClient:
            failed.set()
            raise StartError("no broker answers")

    sampler = LagSampler(Console())  # type: ignore[arg-type]
    try:
        sampler.wait_for_first(LIMIT_S)
        assert failed.is_set()
        assert sampler.error == "no broker answers"
        assert sampler.read(lambda history: history.groups) == []
    finally:
        sampler.close()
