"""A snapshot for all tabs, and for each tab the changes that it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from console.replicas import replica_watch
from console.replicas.replica_watch import STEPS_MAX, ReplicaWatch
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import OneCluster

DENIED = 29


@pytest.fixture(autouse=True)
def each_time_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_watch, "EVERY_S", 0.0)


def minimum(request: Any, error_code: int = 0) -> DescribeConfigsResponse:
    two = DescribeConfigsResourceResult("min.insync.replicas", "2")
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(error_code, None, 2, one.resource_name, [two])
            for one in request.resources
        ]
    )


def watched(**answers: Any) -> tuple[ReplicaWatch, ScriptedCluster]:
    answers = {"DescribeConfigsRequest": minimum} | answers
    cluster = ScriptedCluster([topic_of("t", [1, 2])], answers)
    return ReplicaWatch(OneCluster(cluster)), cluster


def shrink(cluster: ScriptedCluster, index: int = 0) -> None:
    topic = topic_of("t", [1, 2])
    topic.partitions[index].isr_nodes = [1]
    cluster.known["t"] = topic


def test_a_new_tab_gets_everything_and_then_what_changed() -> None:
    watch, cluster = watched()
    first = watch.news(0, 0)
    assert first is not None
    assert (first.number, first.everything, len(first.partitions)) == (1, True, 2)
    assert watch.news(first.number, 0) is None
    shrink(cluster)
    second = watch.news(first.number, 0)
    assert second is not None
    assert (second.number, second.everything, list(second.partitions)) == (2, False, [("t", 0)])
    assert [one.text for one in second.events] == ["t-0 ISR shrank to 1"]
    assert (second.counts.under_replicated, second.counts.under_min_isr) == (1, 1)
    assert watch.news(2, second.events[-1].number) is None


def test_two_tabs_share_the_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_watch, "EVERY_S", 3600.0)
    watch, cluster = watched()
    assert watch.news(0, 0) is not None
    assert watch.news(0, 0) is not None
    assert len(cluster.asked_for("MetadataRequest")) == 1


def test_a_tab_that_missed_too_much_gets_everything_anew() -> None:
    watch, cluster = watched()
    assert watch.news(0, 0) is not None
    for turn in range(STEPS_MAX + 1):
        shrink(cluster, turn % 2)
        watch.news(1, 0)
    found = watch.news(1, 0)
    assert found is not None
    assert (found.number, found.everything) == (STEPS_MAX + 2, True)


def test_the_minimum_is_asked_only_of_what_lacks_and_kept_for_a_while() -> None:
    watch, cluster = watched()
    watch.news(0, 0)
    assert cluster.asked_for("DescribeConfigsRequest") == []
    shrink(cluster)
    watch.news(0, 0)
    watch.news(0, 0)
    assert len(cluster.asked_for("DescribeConfigsRequest")) == 1


def test_who_may_not_see_configs_is_told_so() -> None:
    watch, cluster = watched(DescribeConfigsRequest=lambda one: minimum(one, DENIED))
    shrink(cluster)
    found = watch.news(0, 0)
    assert found is not None
    assert found.counts.under_min_isr is None
    assert found.counts.under_replicated == 1
