"""The page gets the operations of the console's login, by which it disables buttons."""

from __future__ import annotations

from typing import Any

import pytest

from console.access.rights_endpoint import ENDPOINTS
from console.endpoints import BadAsk
from ottla.plugins.authorizer import Operation
from protocol.messages.describe_cluster import DescribeClusterResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import OneCluster, answer_of, ask


def operations(**values: str) -> Any:
    may = DescribeClusterResponse(cluster_authorized_operations=1 << Operation.ALTER_CONFIGS)
    topic = topic_of("t", topic_authorized_operations=1 << Operation.WRITE | 1 << Operation.READ)
    cluster = ScriptedCluster([topic], {"DescribeClusterRequest": may})
    return answer_of(ENDPOINTS, "/api/operations")(OneCluster(cluster), ask(**values))


def test_operations_on_the_cluster_and_on_a_topic() -> None:
    assert operations(kind="cluster") == {"operations": ["ALTER_CONFIGS"]}
    assert operations(kind="topic", name="t") == {"operations": ["READ", "WRITE"]}
    assert operations(kind="topic", name="unknown") == {"operations": None}
    for values in ({}, {"kind": "broker"}, {"kind": "topic"}):
        with pytest.raises(BadAsk):
            operations(**values)
