"""Metrics of a broker's replicas: their number, in-sync replicas, waiting requests.

`partition_metrics` has those of each single partition. Follows the MBeans of Kafka's
`ReplicaManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from broker.node.metrics.partition_metrics import min_isr

if TYPE_CHECKING:
    from broker.node.broker_server import BrokerServer
    from broker.node.node import Node
    from broker.replication.partition import Partition
    from broker.replication.replica_manager import ReplicaManager

_SERVER = "kafka_server_replicamanager"

_PARTITION_COUNTS: tuple[tuple[str, str, Callable[[Partition], bool]], ...] = (
    ("partitioncount", "Partitions with a replica here", lambda _: True),
    ("leadercount", "Partitions that this broker leads", lambda partition: partition.is_leader),
    (
        "underreplicatedpartitions",
        "Partitions led here with replicas that are not in sync",
        lambda partition: partition.is_leader and len(partition.isr) < len(partition.replicas),
    ),
    (
        "underminisrpartitioncount",
        "Partitions led here with fewer replicas in sync than min.insync.replicas",
        lambda partition: partition.is_leader and len(partition.isr) < min_isr(partition),
    ),
    (
        "atminisrpartitioncount",
        "Partitions led here with just as many replicas in sync as min.insync.replicas",
        lambda partition: partition.is_leader and len(partition.isr) == min_isr(partition),
    ),
    (
        "reassigningpartitions",
        "Partitions led here whose replicas are being moved",
        lambda partition: (
            partition.is_leader and bool(partition.adding_replicas or partition.removing_replicas)
        ),
    ),
)


def register_replica_metrics(node: Node, broker: BrokerServer) -> None:
    """Register metrics of all replicas of a broker together."""
    metrics, replicas = node.metrics, broker.parts.replicas
    for word, help_text, counts in _PARTITION_COUNTS:
        metrics.gauge(f"{_SERVER}_{word}", help_text, partial(_count, replicas, counts))
    metrics.gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that failed since the start",
        lambda: len(node.failures.offline_dirs()),
    )
    view = replicas.leader_view
    metrics.counter(
        f"{_SERVER}_isrshrinks",
        "Replicas that this broker's leaders took out of sync",
        lambda: view.isr_shrinks,
    )
    metrics.counter(
        f"{_SERVER}_isrexpands",
        "Replicas that this broker's leaders took in sync",
        lambda: view.isr_expands,
    )
    metrics.counter(
        f"{_SERVER}_failedisrupdates",
        "Changes of who is in sync that the controller refused",
        lambda: view.failed_isr_updates,
    )
    metrics.gauge(
        f"{_SERVER}_offlinereplicacount",
        "Replicas in log directories that failed",
        lambda: replicas.offline_count,
    )
    metrics.gauges(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "Requests that wait",
        lambda: (
            ({"delayedOperation": purgatory.name}, float(len(purgatory)))
            for purgatory in (
                replicas.produce_purgatory,
                replicas.fetch_purgatory,
                replicas.share_fetch_purgatory,
                replicas.delete_records_purgatory,
            )
        ),
    )
    metrics.gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        "Decided transactions with partitions whose leader is not known",
        lambda: broker.parts.transactions.unknown_destination_count,
    )
    metrics.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions",
        lambda: len(replicas.sessions),
    )


def _count(replicas: ReplicaManager, counts: Callable[[Partition], bool]) -> int:
    """Return the number of hosted partitions for which `counts` is true."""
    return sum(counts(partition) for partition in replicas.partitions())
