"""The metrics of a node, under the names of Kafka's MBeans; values are read at each scrape.

The other modules of this package have a subject each. They follow the MBeans of Kafka: type,
then name, then tags as labels. A metric that Kafka does not have is named after its subject.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker.node.metrics.controller_metrics import register_controller_metrics
from broker.node.metrics.group_metrics import register_group_metrics
from broker.node.metrics.partition_metrics import (
    register_lag_metrics,
    register_partition_metrics,
)
from broker.node.metrics.quorum_metrics import register_quorum_metrics
from broker.node.metrics.quota_metrics import register_quota_metrics
from broker.node.metrics.replica_metrics import register_replica_metrics
from broker.node.metrics.request_metrics import register_request_metrics
from broker.node.metrics.share_fetch_metrics import register_share_fetch_metrics
from broker.node.metrics.share_metrics import register_share_metrics
from broker.node.metrics.socket_metrics import register_socket_metrics

if TYPE_CHECKING:
    from broker.network.server.socket_server import SocketServer
    from broker.node.node import Node


def register_node_metrics(
    node: Node, sockets: SocketServer | None, controllers: SocketServer | None = None
) -> None:
    """Register all metrics of a node in `node.metrics`.

    `sockets` serve the broker's listeners, `controllers` those of the controller.
    """
    metrics, now_s = node.metrics, partial(_now_s, node)
    register_controller_metrics(node)
    register_quorum_metrics(node)
    register_quota_metrics(node)
    servers = [server for server in (sockets, controllers) if server is not None]
    if servers:
        register_socket_metrics(metrics, servers, now_s)
    if node.broker is not None:
        parts = node.broker.parts
        register_replica_metrics(node, node.broker)
        register_partition_metrics(metrics, parts.replicas)
        register_group_metrics(metrics, parts.groups)
        register_share_metrics(metrics, parts.shares, node.ports.scheduler.monotonic_ms)
        register_share_fetch_metrics(metrics, parts.share_fetching, parts.replicas)
        register_lag_metrics(metrics, parts.groups, parts.replicas)
        register_request_metrics(metrics, node.broker.requests, now_s)
    elif node.controller_server is not None:
        register_request_metrics(metrics, node.controller_server.requests, now_s)


def _now_s(node: Node) -> float:
    """Return the seconds of the node's monotonic clock."""
    return node.ports.scheduler.monotonic_ms() / 1000
