"""The fetchers of a broker, up to `num.replica.fetchers` for each leader, and their partitions.

Owns the fetchers and their connections. It creates a fetcher for a leader's first partition,
reconnects it when the leader's address changes, and closes it after the last partition. Never
decides leadership: `ReplicaManager` reports it from the metadata.

Follows Kafka's `ReplicaFetcherManager` and `AbstractFetcherManager`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from broker.config.values import BrokerConfig
from broker.metrics import Metrics, Sample
from broker.replication.fetcher_settings import FetcherSettings
from broker.replication.partition import Partition
from broker.replication.replica_fetcher import ReplicaFetcher
from broker.replication.replica_manager import ReplicaManager
from broker.requests.tracer import Tracer
from ground.ports import Network, Scheduler

_METRICS = "kafka_server_replicafetchermanager"

EndpointOf = Callable[[int], tuple[str, int] | None]
"""A lookup of the address where a broker accepts requests of other brokers; None if it has none."""

FetcherId = tuple[int, int]
"""The leader's id, and the number of the fetcher among the fetchers for that leader."""


class ReplicaFetcherManager:
    """All fetchers of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        network: Network,
        scheduler: Scheduler,
        replicas: ReplicaManager,
        endpoint_of: EndpointOf,
        metrics: Metrics,
        broker_epoch: Callable[[], int],
        refused_by: Callable[[int, str], None] = lambda _leader_id, _request: None,
        tracer: Tracer | None = None,
    ) -> None:
        """Register with `replicas`, which passes its followed partitions here from then on.

        `broker_epoch()` returns the epoch of this broker's registration, which fetches carry.
        `refused_by(leader, request)` runs when a leader denies this broker its fetches. `tracer`
        records each append.
        """
        self._network = network
        self._scheduler = scheduler
        self._quota = replicas.follower_quota
        self._endpoint_of = endpoint_of
        self._fetchers_a_leader: int = config.num_replica_fetchers
        self._node_id: int = config.node_id
        self._settings = FetcherSettings(
            config.node_id,
            config.replica_fetch_max_bytes,
            config.replica_fetch_min_bytes,
            config.replica_fetch_response_max_bytes,
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_backoff_ms,
            config.replica_socket_timeout_ms,
            broker_epoch,
            self._is_throttled,
            self._count_copied,
            refused_by,
            replicas.log_manager.checkpoint_soon,
            tracer,
        )
        self._fetchers: dict[FetcherId, ReplicaFetcher] = {}
        self._endpoints: dict[FetcherId, tuple[str, int]] = {}
        self._assigned: dict[Partition, FetcherId] = {}
        # Partitions whose leader's address is unknown; they are fetched after it becomes known.
        self._unreachable: dict[Partition, None] = {}
        self._bytes_in = 0
        self._stopped = False
        self._register_metrics(metrics)
        replicas.fetch_with(self)

    # ---- metadata --------------------------------------------------------------------------------

    def follow(self, partition: Partition) -> None:
        """Copy `partition` from its leader, under its current leader epoch. Stop copying it if it
        has no leader or its log is offline.

        If the leader's address is unknown, copying begins when `brokers_changed` finds it.
        """
        leader_id = partition.leader_id
        number = fetcher_number(partition.topic, partition.index, self._fetchers_a_leader)
        fetcher_id = (leader_id, number)
        if self._stopped or leader_id < 0 or partition.log.offline:
            self.stop(partition)
            return
        if self._assigned.get(partition, fetcher_id) != fetcher_id:
            self.stop(partition)
        fetcher = self._fetchers.get(fetcher_id) or self._create_fetcher(fetcher_id)
        if fetcher is None:
            self._unreachable[partition] = None
            return
        self._unreachable.pop(partition, None)
        self._assigned[partition] = fetcher_id
        fetcher.add(partition)

    def resize(self, fetchers: int) -> None:
        """Use `fetchers` fetchers for each leader.

        Partitions whose fetcher number changes move to that fetcher and continue at their offsets.
        """
        if fetchers == self._fetchers_a_leader:
            return
        self._fetchers_a_leader = fetchers
        for partition in list(self._assigned):
            self.follow(partition)
        self.close_idle()

    def stop(self, partition: Partition) -> None:
        """Stop copying `partition`."""
        self._unreachable.pop(partition, None)
        fetcher_id = self._assigned.pop(partition, None)
        if fetcher_id is not None:
            self._fetchers[fetcher_id].remove(partition)

    def close_idle(self) -> None:
        """Close the fetchers without partitions; runs after all changes of an image are applied."""
        for fetcher_id, fetcher in list(self._fetchers.items()):
            if not len(fetcher):
                del self._fetchers[fetcher_id], self._endpoints[fetcher_id]
                fetcher.close()

    def brokers_changed(self) -> None:
        """Reconnect the fetchers whose leader has a new address, and copy the partitions whose
        leader had no address before."""
        for fetcher_id, fetcher in self._fetchers.items():
            endpoint = self._endpoint_of(fetcher_id[0])
            if endpoint is not None and endpoint != self._endpoints[fetcher_id]:
                self._endpoints[fetcher_id] = endpoint
                fetcher.reconnect()
        for partition in list(self._unreachable):
            self.follow(partition)

    def log_start_moved(self, partition: Partition) -> None:
        """Have the next fetch name the partition, so that the leader learns its new log start.

        A DeleteRecords request waits for the log starts of all replicas.
        """
        fetcher_id = self._assigned.get(partition)
        if fetcher_id is not None:
            self._fetchers[fetcher_id].mark(partition)

    def shutdown(self) -> None:
        """Close all connections and stop copying for good."""
        self._stopped = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers, self._endpoints, self._assigned = {}, {}, {}
        self._unreachable = {}

    def _create_fetcher(self, pair: FetcherId) -> ReplicaFetcher | None:
        """Create the fetcher of a leader and keep it. None: the leader has no known address."""
        endpoint = self._endpoint_of(pair[0])
        if endpoint is None:
            return None
        self._endpoints[pair] = endpoint
        name = f"broker-{self._node_id}-fetcher-{pair[1]}"
        fetcher = self._fetchers[pair] = ReplicaFetcher(
            name,
            pair[0],
            lambda: self._network.channel(*self._endpoints[pair], name),
            self._scheduler,
            self._settings,
        )
        return fetcher

    # ---- quota and metrics -----------------------------------------------------------------------

    def _is_throttled(self, partition: Partition) -> bool:
        """Return True if the partition must wait because the followers' quota is used up."""
        quota = self._quota
        return quota.is_throttled(partition.topic, partition.index) and quota.is_exceeded()

    def _count_copied(self, partition: Partition, size: int) -> None:
        """Count copied bytes for the metrics and, if the partition is throttled, for the quota."""
        self._bytes_in += size
        if self._quota.is_throttled(partition.topic, partition.index):
            self._quota.record(size)

    def max_lag(self) -> int:
        """Return the number of records that the slowest followed partition lacks below its leader's
        high watermark; 0 without partitions."""
        return max(
            (
                max(followed.lag, 0)
                for fetcher in self._fetchers.values()
                for followed in fetcher.partitions()
            ),
            default=0,
        )

    def failed_partitions(self) -> int:
        """Return the number of partitions that are not copied until the metadata changes them,
        after an error."""
        return sum(len(fetcher.failed) for fetcher in self._fetchers.values())

    def _register_metrics(self, metrics: Metrics) -> None:
        metrics.gauge(
            f"{_METRICS}_maxlag", "Records that the slowest follower here misses", self.max_lag
        )
        metrics.gauge(
            f"{_METRICS}_failedpartitionscount",
            "Partitions that are not copied after an error",
            self.failed_partitions,
        )
        metrics.counters(
            "kafka_server_brokertopicmetrics_replicationbytesin",
            "Bytes of record batches copied from leaders",
            self._bytes_sample,
        )

    def _bytes_sample(self) -> tuple[Sample, ...]:
        """Return the number of copied bytes as a single sample without labels."""
        return (({}, float(self._bytes_in)),)


def fetcher_number(topic: str, index: int, fetchers: int) -> int:
    """Return the number of the leader's fetcher that copies a partition.

    The partitions of a topic are spread over the fetchers in turn.
    """
    return (31 * zlib.crc32(topic.encode()) + index) % fetchers
