"""The operations that a broker reports for this login (KIP-430)."""

from __future__ import annotations

from client.operations import (
    operations_in,
    operations_on_cluster,
    operations_on_group,
    operations_on_topic,
)
from ottla.plugins.authorizer import Operation
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from protocol.messages.describe_cluster import DescribeClusterResponse
from tests.unit.client.scripted import ScriptedCluster, topic_of

READ_AND_DESCRIBE = 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_bits_are_operations() -> None:
    assert operations_in(READ_AND_DESCRIBE) == {Operation.READ, Operation.DESCRIBE}
    assert operations_in(0) == frozenset()
    assert operations_in(-(1 << 31)) is None


def test_each_resource_is_asked_for_its_own() -> None:
    group = DescribedGroup(group_id="g", authorized_operations=READ_AND_DESCRIBE)
    cluster = ScriptedCluster(
        [topic_of("t", topic_authorized_operations=1 << Operation.ALTER)],
        {
            "DescribeClusterRequest": DescribeClusterResponse(cluster_authorized_operations=0),
            "ConsumerGroupDescribeRequest": ConsumerGroupDescribeResponse(groups=[group]),
        },
    )
    assert operations_on_cluster(cluster) == frozenset()
    assert operations_on_topic(cluster, "t") == {Operation.ALTER}
    assert operations_on_topic(cluster, "unknown") is None
    expected = {Operation.READ, Operation.DESCRIBE}
    assert operations_on_group(cluster, "g", "consumer", 2) == expected


def test_a_cluster_that_rejects_the_request_reports_nothing() -> None:
    answers = {"DescribeClusterRequest": DescribeClusterResponse(error_code=31)}
    assert operations_on_cluster(ScriptedCluster([], answers)) is None
