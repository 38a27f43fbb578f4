"""The questions put to a node, and what counts as degraded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.cluster_status import ClusterStatus, StatusRefused, fetch_status
from protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    ReplicaState,
)
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NOW_MS = 1_000_000


class Node:
    """Answers as a node of a healthy cluster of three would, until a test changes something."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.cluster = DescribeClusterResponse(
            cluster_id="id",
            brokers=[DescribeClusterBroker(one, "localhost", 9091 + one) for one in (2, 1, 3)],
        )
        self.partitions = [
            MetadataResponsePartition(0, 1, 2, 0, [2, 3, 1], [1, 2, 3]),
            MetadataResponsePartition(0, 0, 1, 0, [1, 2, 3], [1, 2, 3]),
        ]
        self.minimum = "2"
        self.voters = [ReplicaState(one, b"", 50, NOW_MS, NOW_MS) for one in (1, 2, 3)]
        self.quorum: DescribeQuorumResponse | None = DescribeQuorumResponse(
            topics=[
                DescribeQuorumResponseTopicData(
                    "__cluster_metadata",
                    [DescribeQuorumResponsePartitionData(0, 0, None, 3, 7, 50, self.voters, [])],
                )
            ]
        )

    def __call__(self, request: Any) -> Any:
        self.asked.append(request)
        name = type(request).__name__
        if name == "DescribeClusterRequest":
            return self.cluster
        if name == "MetadataRequest":
            topic = MetadataResponseTopic(0, "orders", partitions=self.partitions)
            return MetadataResponse(topics=[topic])
        if name == "DescribeQuorumRequest":
            return self.quorum
        (resource,) = request.resources
        value = DescribeConfigsResourceResult("min.insync.replicas", self.minimum)
        return DescribeConfigsResponse(
            results=[DescribeConfigsResult(0, None, 2, resource.resource_name, [value])]
        )

    def status(self) -> ClusterStatus:
        return fetch_status(self)


def test_a_quorum_that_is_lost_is_named_and_the_rest_is_told() -> None:
    """The node looks for a leader until the request's time is up, after the one of who asks."""
    node = Node()

    def call(request: Any) -> Any:
        if type(request).__name__ == "DescribeQuorumRequest":
            raise TimeoutError
        return node(request)

    status = fetch_status(call)
    assert status.quorum is None and not status.healthy
    assert (len(status.brokers), status.partitions) == (3, 2)


def test_a_port_of_a_controller_is_named() -> None:
    node = Node()
    node.cluster.error_code = 114  # MISMATCHED_ENDPOINT_TYPE
    with pytest.raises(StatusRefused, match="a controller's port: name a broker's"):
        node.status()


def test_a_healthy_cluster() -> None:
    node = Node()
    status = node.status()
    assert status.healthy
    assert [one.node_id for one in status.brokers] == [1, 2, 3]
    assert (status.topics, status.partitions) == (1, 2)
    assert status.quorum is not None
    assert (status.quorum.leader_id, status.quorum.epoch) == (3, 7)
    names = [type(one).__name__ for one in node.asked]
    assert "DescribeConfigsRequest" not in names, "asked for topics that lack nothing"
    metadata = node.asked[names.index("MetadataRequest")]
    assert metadata.topics is None and not metadata.allow_auto_topic_creation


def test_a_fenced_broker() -> None:
    node = Node()
    node.cluster.brokers[0].is_fenced = True
    status = node.status()
    assert status.fenced == [2] and not status.healthy


def test_a_partition_that_lacks_a_replica_and_one_under_min_isr() -> None:
    node = Node()
    node.partitions[0].isr_nodes = [1]
    node.partitions[1].isr_nodes = [3, 1]
    status = node.status()
    assert [(one.partition, list(one.isr)) for one in status.under_replicated] == [
        (0, [1, 3]),
        (1, [1]),
    ]
    assert [one.partition for one in status.under_min_isr] == [1]
    assert status.offline == [] and not status.healthy


def test_a_topic_with_fewer_replicas_than_the_minimum_needs_them_all() -> None:
    node = Node()
    node.minimum = "3"
    node.partitions = [
        MetadataResponsePartition(0, 0, 1, 0, [1, 2], [1]),
        MetadataResponsePartition(0, 1, 1, 0, [1], [1]),
    ]
    assert [one.partition for one in node.status().under_min_isr] == [0]


def test_a_partition_without_a_leader() -> None:
    node = Node()
    node.partitions[1].leader_id = -1
    status = node.status()
    assert [one.partition for one in status.offline] == [0] and not status.healthy


def test_times_of_voters_are_the_leaders() -> None:
    node = Node()
    node.voters[0].log_end_offset = 40
    node.voters[0].last_caught_up_timestamp = NOW_MS - 200
    status = node.status()
    assert status.quorum is not None and status.healthy
    assert (status.quorum.voters[0].lag, status.quorum.voters[0].behind_ms) == (10, 200)
    node.voters[0].last_caught_up_timestamp = NOW_MS - 60_000
    assert node.status().lagging_voters == [1] and not node.status().healthy


def test_a_voter_that_was_never_heard_of() -> None:
    node = Node()
    node.voters[1].log_end_offset = node.voters[1].last_caught_up_timestamp = -1
    status = node.status()
    assert status.quorum is not None
    assert (status.quorum.voters[1].lag, status.quorum.voters[1].behind_ms) == (-1, -1)
    assert status.lagging_voters == [2]


@pytest.mark.parametrize("quorum", [None, DescribeQuorumResponse(error_code=41)])
def test_without_a_controller_the_rest_is_still_told(quorum: DescribeQuorumResponse | None) -> None:
    node = Node()
    node.quorum = quorum
    status = node.status()
    assert status.quorum is None and not status.healthy and len(status.brokers) == 3


def test_a_refused_question_is_one_line() -> None:
    node = Node()
    node.cluster.error_code = 31
    with pytest.raises(StatusRefused, match="DescribeCluster .* CLUSTER_AUTHORIZATION_FAILED"):
        node.status()


def test_machines_get_everything() -> None:
    node = Node()
    node.partitions[0].isr_nodes = [1]
    told = json.loads(json.dumps(node.status().as_json()))
    assert told["healthy"] is False and told["cluster_id"] == "id"
    assert told["under_min_isr"] == [
        {"topic": "orders", "partition": 1, "leader": 2, "replicas": [1, 2, 3], "isr": [1]}
    ]
    assert told["quorum"]["voters"][0] == {"node_id": 1, "lag": 0, "behind_ms": 0}


def test_who_may_not_ask_is_told_which_right_is_missing() -> None:
    node = Node()
    node.quorum = DescribeQuorumResponse(error_code=31)
    with pytest.raises(StatusRefused, match="this takes Describe on the cluster"):
        fetch_status(node)
