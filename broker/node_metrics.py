"""Which values of a node are shown, under the names of Kafka's MBeans. They are read when asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.metrics import Labels, Sample
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.network.socket_server import SocketServer
    from broker.node import Node

_SERVER = "kafka_server_replicamanager"


def register_node_metrics(node: Node, sockets: SocketServer) -> None:
    """Give `node.metrics` everything that is read from its owners."""
    _replicas(node)
    _requests(node)
    _network(node, sockets)


def _replicas(node: Node) -> None:
    metrics, replicas = node.metrics, node.replicas
    metrics.gauge(
        f"{_SERVER}_partitioncount",
        "Partitions with a replica here",
        lambda: sum(1 for _ in replicas.partitions()),
    )
    metrics.gauge(
        f"{_SERVER}_leadercount",
        "Partitions that this broker leads",
        lambda: sum(partition.is_leader for partition in replicas.partitions()),
    )
    metrics.gauge(
        f"{_SERVER}_underreplicatedpartitions",
        "Partitions led here with replicas that are not in sync",
        lambda: sum(
            partition.is_leader and len(partition.isr) < len(partition.replicas)
            for partition in replicas.partitions()
        ),
    )
    metrics.gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that failed since the start",
        lambda: len(node.failures.offline_dirs()),
    )
    for purgatory in (replicas.produce_purgatory, replicas.fetch_purgatory):
        metrics.gauge(
            f"kafka_server_delayedoperationpurgatory_{purgatory.name.lower()}_size",
            f"{purgatory.name} requests that wait",
            lambda p=purgatory: len(p),  # type: ignore[misc]
        )
    metrics.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions",
        lambda: len(replicas.sessions),
    )
    metrics.gauges("kafka_log_log_size", "Bytes of a partition's log", lambda: _log_sizes(node))


def _log_sizes(node: Node) -> Iterator[Sample]:
    for partition in node.replicas.partitions():
        labels: Labels = {"topic": partition.topic, "partition": str(partition.index)}
        yield labels, float(partition.log.size_bytes)


def _requests(node: Node) -> None:
    requests = node.requests

    def named(attribute: str) -> Iterator[Sample]:
        for key, counted in requests.metrics.items():
            yield {"request": ApiKey(key).name}, float(getattr(counted, attribute))

    name = "kafka_network_requestmetrics"
    node.metrics.counters(f"{name}_requests", "Requests by API", lambda: named("requests"))
    node.metrics.counters(
        f"{name}_errors", "Requests that failed by a fault of ours", lambda: named("errors")
    )


def _network(node: Node, sockets: SocketServer) -> None:
    metrics, channel = node.metrics, sockets.channel
    metrics.gauge(
        "kafka_network_requestchannel_requestqueuesize",
        "Requests that wait for a handler",
        lambda: channel.queue_size,
    )
    metrics.gauge(
        "kafka_network_requestchannel_busyhandlers",
        "Handlers that serve a request (of num.io.threads)",
        lambda: channel.busy_slots,
    )
    metrics.gauges(
        "kafka_network_processor_connections",
        "Open connections of a network processor (of num.network.threads a listener)",
        lambda: (
            ({"networkProcessor": str(number)}, float(processor.connection_count))
            for number, processor in enumerate(sockets.processors)
        ),
    )
