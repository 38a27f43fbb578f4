"""A change of a topic is checked before the cluster is asked for it.

That it is made then, `tests/compat/console/test_changes.py` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.endpoints import BadAsk
from console.topics.changes import grow, make
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.one_console import plain


@pytest.fixture
def cluster() -> ScriptedCluster:
    altered = IncrementalAlterConfigsResponse(
        responses=[AlterConfigsResourceResponse(0, None, 2, "t")]
    )
    return ScriptedCluster([topic_of("t")], {"IncrementalAlterConfigsRequest": altered})


def _grown(cluster: ScriptedCluster, body: Any) -> Any:
    return plain(grow(cluster, "t", body))


@pytest.mark.parametrize(
    ("change", "body", "reason"),
    [
        (make, None, "a JSON object"),
        (make, {}, "name of the topic"),
        (make, {"name": "a/b"}, "a topic cannot be called 'a/b'"),
        (make, {"name": "a", "partitions": 0}, "partitions must be a whole number from 1"),
        (make, {"name": "a", "replicas": "2"}, "replicas must be a whole number from 1"),
        (make, {"name": "a", "configs": {"x": 1}}, "strings as values"),
        (_grown, {}, "count is missing"),
        (_grown, {"count": True}, "count must be a whole number"),
    ],
)
def test_what_is_wrong(
    change: Callable[[Any, Any], Any], body: Any, reason: str, cluster: ScriptedCluster
) -> None:
    with pytest.raises(BadAsk, match=reason):
        change(cluster, body)
    assert cluster.asked == []
