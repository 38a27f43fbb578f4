"""The list of topics is one answer of the cluster; what takes longer comes apart from it."""

from __future__ import annotations

import pytest

from client.live.rates import Sample
from console.overview import sampler
from console.topics.endpoints import ENDPOINTS
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.list_groups import ListGroupsResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import OneCluster, answer_of, ask


def test_ten_thousand_topics_are_one_question() -> None:
    cluster = ScriptedCluster([topic_of(f"t{one:05}") for one in range(10_000)])
    found = answer_of(ENDPOINTS, "/api/topics")(OneCluster(cluster), ask())
    assert len(found["topics"]) == 10_000
    assert found["topics"][0] == ["t00000", 1, 2, False, 0, 0]
    assert len(cluster.asked) == 1


def test_sizes_and_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Sample(1.0, ends={("t", 0): 5, ("u", 0): 1}, sizes={("t", 0): 50})
    monkeypatch.setattr(sampler, "take_sample", lambda *_: sample)
    answers = {
        "ListGroupsRequest": ListGroupsResponse(),
        "DescribeClusterRequest": DescribeClusterResponse(),
    }
    cluster = ScriptedCluster([topic_of("t")], answers)
    console = OneCluster(cluster)
    live = answer_of(ENDPOINTS, "/api/live-topics")
    assert live(console, ask())["topics"] == {"t": [5, 50, None, None], "u": [1, None, None, None]}
    assert live(console, ask(topic="t"))["topics"] == {"t": [5, 50, None, None]}
