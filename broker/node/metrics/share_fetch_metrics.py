"""Metrics of share groups at partition leaders: acknowledgements, locks, sessions, waits.

Follows Kafka's `ShareGroupMetrics`, `SharePartitionMetrics`, `ShareSessionCache` and
`DelayedShareFetchMetrics`. Before the first ShareFetch of this broker, all counts are zero. Kafka's
times and ratios of the fetch lock are missing, as there is no such lock here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from broker.metrics import Labels, Sample

if TYPE_CHECKING:
    from broker.metrics import Metrics
    from broker.node.share_fetching import NodeShareFetching
    from broker.replication.replica_manager import ReplicaManager
    from broker.share.delivery.share_partition import SharePartition
    from broker.share.share_partition_manager import SharePartitionManager
    from broker.share.state.share_log import SharePartitionKey

_GROUPS = "kafka_server_sharegroupmetrics"
_PARTITIONS = "kafka_server_sharepartitionmetrics"
_SESSIONS = "kafka_server_sharesessioncache"
_ACKNOWLEDGE_TYPES = ("ACCEPT", "RELEASE", "REJECT", "RENEW")


def register_share_fetch_metrics(
    metrics: Metrics, fetching: NodeShareFetching, replicas: ReplicaManager
) -> None:
    """Register metrics of the share groups at this broker's partition leaders."""

    def count(name: str, text: str, read: Callable[[SharePartitionManager], float]) -> None:
        """Register a counter that is zero before the first ShareFetch."""
        metrics.counter(name, text, lambda: _read(fetching, read))

    def gauge(name: str, text: str, read: Callable[[SharePartitionManager], float]) -> None:
        """Register a gauge that is zero before the first ShareFetch."""
        metrics.gauge(name, text, lambda: _read(fetching, read))

    metrics.counters(
        f"{_GROUPS}_recordacknowledgements",
        "Records that members acknowledged",
        lambda: _acknowledgements(fetching),
    )
    metrics.histogram(
        f"{_GROUPS}_partitionloadtimems",
        "Times of loads of share-partitions, in ms",
        lambda: _load_times(fetching),
    )
    metrics.histogram(
        f"{_GROUPS}_requesttopicpartitionsfetchratio",
        "Share of a ShareFetch's partitions that could be acquired from, per cent",
        lambda: _by_group(fetching, acquire_times=False),
    )
    metrics.histogram(
        f"{_GROUPS}_topicpartitionsacquiretimems",
        "Times of ShareFetches until they could acquire, in ms",
        lambda: _by_group(fetching, acquire_times=True),
    )
    gauge(f"{_SESSIONS}_sharesessionscount", "Share sessions", lambda m: len(m.sessions))
    gauge(
        f"{_SESSIONS}_sharepartitionscount",
        "Partitions in share sessions",
        lambda manager: manager.sessions.partition_count,
    )
    count(
        f"{_SESSIONS}_sharesessionevictions",
        "Share sessions that ended with their connection",
        lambda manager: manager.metrics.evicted_sessions,
    )
    count(
        "kafka_server_delayedsharefetchmetrics_expires",
        "ShareFetches whose wait ended without enough records",
        lambda manager: manager.metrics.expired_fetches,
    )
    _register_partitions(metrics, fetching, replicas)


def _register_partitions(
    metrics: Metrics, fetching: NodeShareFetching, replicas: ReplicaManager
) -> None:
    """Register the metrics of each share-partition."""

    def loaded() -> Iterator[tuple[Labels, SharePartitionKey, SharePartition]]:
        """Yield each loaded share-partition of a topic that is shown."""
        manager = fetching.begun_manager
        for key in () if manager is None else manager.partitions.keys():
            ready = None if manager is None else manager.partitions.ready(key)
            labels = _labels(key, replicas)
            if ready is not None and labels is not None and metrics.shows(labels["topic"]):
                yield labels, key, ready.partition

    def share_partitions() -> Iterator[tuple[Labels, SharePartition]]:
        """Yield each loaded share-partition with its labels."""
        return ((labels, partition) for labels, _, partition in loaded())

    def expired_locks() -> Iterator[Sample]:
        """Yield the number of records of each loaded share-partition whose lock expired."""
        manager = fetching.begun_manager
        expired = {} if manager is None else manager.metrics.expired_locks
        return ((labels, float(expired.get(key, 0))) for labels, key, _ in loaded())

    metrics.counters(
        f"{_PARTITIONS}_acquisitionlocktimeout",
        "Records of a share-partition whose lock expired",
        expired_locks,
    )
    metrics.many(
        [
            (
                f"{_PARTITIONS}_inflightmessagecount",
                "Offsets in flight of a share-partition",
                lambda partition: partition.in_flight,
            ),
            (
                f"{_PARTITIONS}_inflightbatchcount",
                "Batches in flight of a share-partition",
                lambda partition: partition.batch_count,
            ),
        ],
        share_partitions,
    )


def _labels(key: SharePartitionKey, replicas: ReplicaManager) -> Labels | None:
    """Return the labels of a share-partition; None if its topic is gone."""
    topic = replicas.image.topics.get_by_id(key.topic_id)
    if topic is None:
        return None
    return {"group": key.group_id, "topic": topic.name, "partition": str(key.partition)}


def _read(fetching: NodeShareFetching, read: Callable[[SharePartitionManager], float]) -> float:
    """Return a value of the manager; 0 before it is created."""
    manager = fetching.begun_manager
    return 0.0 if manager is None else float(read(manager))


def _acknowledgements(fetching: NodeShareFetching) -> Iterator[Sample]:
    """Yield the acknowledged records of each type; gaps do not count, as in Kafka."""
    manager = fetching.begun_manager
    counts = {} if manager is None else manager.metrics.acknowledged
    by_name = {kind.name: count for kind, count in counts.items()}
    for name in _ACKNOWLEDGE_TYPES:
        yield {"ackType": name.capitalize()}, float(by_name.get(name, 0))


def _load_times(fetching: NodeShareFetching) -> Iterator[Sample]:
    """Yield the times of loads."""
    manager = fetching.begun_manager
    return iter(()) if manager is None else manager.metrics.load_ms.samples({})


def _by_group(fetching: NodeShareFetching, *, acquire_times: bool) -> Iterator[Sample]:
    """Yield the ratios or the times of each group's fetches."""
    manager = fetching.begun_manager
    if manager is None:
        return
    counts = manager.metrics
    by_group = counts.acquire_ms if acquire_times else counts.fetched_percent
    for group_id, distribution in list(by_group.items()):
        yield from distribution.samples({"group": group_id})
