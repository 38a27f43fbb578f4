"""What is to be changed is checked before anybody is asked, and done as it was said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.console.endpoints import BadAsk
from broker.console.topics.changes import configure, grow, make, remove
from protocol.messages.create_partitions import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.unit.broker.command.client.scripted import ScriptedCluster, topic_of


@pytest.fixture
def cluster() -> ScriptedCluster:
    return ScriptedCluster(
        [topic_of("t")],
        {
            "CreateTopicsRequest": CreateTopicsResponse(
                topics=[CreatableTopicResult("n", num_partitions=3, replication_factor=1)]
            ),
            "DeleteTopicsRequest": DeleteTopicsResponse(responses=[DeletableTopicResult("t")]),
            "CreatePartitionsRequest": CreatePartitionsResponse(
                results=[CreatePartitionsTopicResult("t")]
            ),
            "IncrementalAlterConfigsRequest": IncrementalAlterConfigsResponse(
                responses=[AlterConfigsResourceResponse(0, None, 2, "t")]
            ),
        },
    )


def test_a_topic_is_made(cluster: ScriptedCluster) -> None:
    made = make(cluster, {"name": "n", "partitions": 3, "configs": {"retention.ms": "7"}})
    assert made == {"topic": "n", "partitions": 3, "replicas": 1}
    (asked,) = cluster.asked_for("CreateTopicsRequest")[0].topics
    assert (asked.name, asked.num_partitions, asked.replication_factor) == ("n", 3, -1)
    assert [(one.name, one.value) for one in asked.configs] == [("retention.ms", "7")]


def test_it_grows_changes_and_goes(cluster: ScriptedCluster) -> None:
    assert grow(cluster, "t", {"count": 4}) == {"topic": "t", "partitions": 4}
    assert cluster.asked_for("CreatePartitionsRequest")[0].topics[0].count == 4
    configure(cluster, "t", {"set": {"a": "1"}, "unset": ["b"]})
    (asked,) = cluster.asked_for("IncrementalAlterConfigsRequest")[0].resources
    assert [(one.name, one.value) for one in asked.configs] == [("a", "1"), ("b", None)]
    assert remove(cluster, "t") == {"topic": "t"}


def _grown(cluster: ScriptedCluster, body: Any) -> Any:
    return grow(cluster, "t", body)


def _configured(cluster: ScriptedCluster, body: Any) -> Any:
    return configure(cluster, "t", body)


@pytest.mark.parametrize(
    ("change", "body", "reason"),
    [
        (make, None, "said in an object"),
        (make, {}, "has no name"),
        (make, {"name": "a/b"}, "a topic cannot be called 'a/b'"),
        (make, {"name": "a", "partitions": 0}, "partitions is to be a whole number from 1"),
        (make, {"name": "a", "replicas": "2"}, "replicas is to be a whole number from 1"),
        (make, {"name": "a", "configs": {"x": 1}}, "keys with texts"),
        (_grown, {}, "count is missing"),
        (_grown, {"count": True}, "count is to be a whole number"),
        (_configured, {}, "nothing to change"),
        (_configured, {"unset": "a"}, "unset is to be a list"),
    ],
)
def test_what_is_wrong(
    change: Callable[[Any, Any], Any], body: Any, reason: str, cluster: ScriptedCluster
) -> None:
    with pytest.raises(BadAsk, match=reason):
        change(cluster, body)
    assert cluster.asked == []
