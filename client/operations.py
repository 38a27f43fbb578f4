"""The operations that this login may do on the cluster, a topic or a group.

Owns no connection. Follows KIP-430 (authorized operations in responses).
"""

from __future__ import annotations

from client.cluster import ClusterClient
from client.core.groups import CONSUMER, SHARE
from ottla.plugins.authorizer import Operation
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

Operations = frozenset[Operation]


def operations_in(bits: int) -> Operations | None:
    """Return the operations of a response's bit field; None if the broker did not fill it."""
    if bits < 0:
        return None
    return frozenset(operation for operation in Operation if bits >> operation & 1)


def operations_on_cluster(cluster: ClusterClient) -> Operations | None:
    """Ask for this login's operations on the cluster; None if the broker does not report them.
    Raises StartError."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    response = cluster.call(request, DescribeClusterResponse)
    return None if response.error_code else operations_in(response.cluster_authorized_operations)


def operations_on_topic(cluster: ClusterClient, name: str) -> Operations | None:
    """Ask for this login's operations on a topic; None if the broker does not report them. Raises
    StartError."""
    request = MetadataRequest(
        [MetadataRequestTopic(name=name)],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    (topic,) = cluster.call(request, MetadataResponse).topics
    return None if topic.error_code else operations_in(topic.topic_authorized_operations)


def operations_on_group(
    cluster: ClusterClient, name: str, group_type: str, coordinator: int
) -> Operations | None:
    """Ask the coordinator for this login's operations on a group; None if it does not report them.
    Raises StartError."""
    if group_type == CONSUMER:
        describe = ConsumerGroupDescribeRequest([name], include_authorized_operations=True)
        answer = cluster.call_at(coordinator, describe, ConsumerGroupDescribeResponse)
        bits = answer.groups[0].authorized_operations
    elif group_type == SHARE:
        share_request = ShareGroupDescribeRequest([name], include_authorized_operations=True)
        share = cluster.call_at(coordinator, share_request, ShareGroupDescribeResponse)
        bits = share.groups[0].authorized_operations
    else:
        request = DescribeGroupsRequest([name], include_authorized_operations=True)
        classic = cluster.call_at(coordinator, request, DescribeGroupsResponse)
        bits = classic.groups[0].authorized_operations
    return operations_in(bits)
