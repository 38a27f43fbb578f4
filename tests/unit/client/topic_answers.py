"""What a cluster answers about topics, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.unit.client.scripted import ScriptedCluster, offsets_of


def sizes(request: Any) -> DescribeLogDirsResponse:
    """100 bytes a partition, and a copy that moves to another folder."""
    topics = [
        DescribeLogDirsTopic(
            one.topic,
            [
                DescribeLogDirsPartition(index, 100 + 900 * moving, 0, moving)
                for index in one.partitions
                for moving in (False, True)
            ],
        )
        for one in request.topics
    ]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(0, "/d", topics)])


def policies(request: Any, code: int = 0) -> DescribeConfigsResponse:
    config = DescribeConfigsResourceResult("cleanup.policy", "compact")
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(code, None, 2, one.resource_name, [config])
            for one in request.resources
        ]
    )


def cluster_of(*topics: Any, **answers: Any) -> ScriptedCluster:
    known = {
        "ListOffsetsRequest": offsets_of,
        "DescribeLogDirsRequest": sizes,
        "DescribeConfigsRequest": policies,
    }
    return ScriptedCluster(topics, known | answers)
