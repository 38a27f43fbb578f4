"""Which fetcher copies which partition: as many as `num.replica.fetchers` for each leader.

Owns the fetchers and their connections: it makes one when a leader gets its first partition, aims
it anew when that broker's address changes, and closes it after the last partition. Never decides
who leads what: `ReplicaManager` tells it, from the metadata.

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
"""Where a broker takes requests of other brokers; None where it has no such listener now."""

FetcherId = tuple[int, int]
"""The leader, and the number of the fetcher among those for that leader."""


class ReplicaFetcherManager:
    """All fetchers of one broker."""

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
        """Makes itself known to `replicas`, whose followed partitions come here from then on.

        `broker_epoch()` is the epoch of this broker's registration, which its fetches name;
        `refused_by(leader, request)` is told of leaders that do not let it fetch; `tracer` of
        each append.
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
            self._count,
            refused_by,
            replicas.log_manager.checkpoint_soon,
            tracer,
        )
        self._fetchers: dict[FetcherId, ReplicaFetcher] = {}
        self._endpoints: dict[FetcherId, tuple[str, int]] = {}
        self._assigned: dict[Partition, FetcherId] = {}
        # Their leader has no address here yet: they are taken up when it gets one.
        self._unreachable: dict[Partition, None] = {}
        self._bytes_in = 0
        self._stopped = False
        self._register_metrics(metrics)
        replicas.fetch_with(self)

    # ---- what the metadata says ------------------------------------------------------------------

    def follow(self, partition: Partition) -> None:
        """Copy `partition` from its leader; from nobody where it has none."""
        leader_id = partition.leader_id
        number = fetcher_number(partition.topic, partition.index, self._fetchers_a_leader)
        wanted = (leader_id, number)
        if self._stopped or leader_id < 0 or partition.log.offline:
            self.stop(partition)
            return
        if self._assigned.get(partition, wanted) != wanted:
            self.stop(partition)
        fetcher = self._fetchers.get(wanted) or self._make(wanted)
        if fetcher is None:
            self._unreachable[partition] = None
            return
        self._unreachable.pop(partition, None)
        self._assigned[partition] = wanted
        fetcher.add(partition)

    def resize(self, fetchers: int) -> None:
        """So many fetchers for each leader from now on; each partition goes to the one that is its
        own then, and on from where it is."""
        if fetchers == self._fetchers_a_leader:
            return
        self._fetchers_a_leader = fetchers
        for partition in list(self._assigned):
            self.follow(partition)
        self.close_idle()

    def stop(self, partition: Partition) -> None:
        """Copy `partition` no more."""
        self._unreachable.pop(partition, None)
        number = self._assigned.pop(partition, None)
        if number is not None:
            self._fetchers[number].remove(partition)

    def close_idle(self) -> None:
        """Close the fetchers that have nothing left: after all changes of one image."""
        for number, fetcher in list(self._fetchers.items()):
            if not len(fetcher):
                del self._fetchers[number], self._endpoints[number]
                fetcher.close()

    def brokers_changed(self) -> None:
        """Addresses of brokers may have changed."""
        for number, fetcher in self._fetchers.items():
            endpoint = self._endpoint_of(number[0])
            if endpoint is not None and endpoint != self._endpoints[number]:
                self._endpoints[number] = endpoint
                fetcher.move()
        for partition in list(self._unreachable):
            self.follow(partition)

    def log_start_moved(self, partition: Partition) -> None:
        """The next fetch tells the leader, for DeleteRecords waits for the log starts of all."""
        number = self._assigned.get(partition)
        if number is not None:
            self._fetchers[number].mark(partition)

    def shutdown(self) -> None:
        """Close all connections; nothing is copied any more."""
        self._stopped = True
        for fetcher in self._fetchers.values():
            fetcher.close()
        self._fetchers, self._endpoints, self._assigned = {}, {}, {}
        self._unreachable = {}

    def _make(self, number: FetcherId) -> ReplicaFetcher | None:
        endpoint = self._endpoint_of(number[0])
        if endpoint is None:
            return None
        self._endpoints[number] = endpoint
        name = f"broker-{self._node_id}-fetcher-{number[1]}"
        fetcher = self._fetchers[number] = ReplicaFetcher(
            name,
            number[0],
            lambda: self._network.channel(*self._endpoints[number], name),
            self._scheduler,
            self._settings,
        )
        return fetcher

    # ---- quota and metrics -----------------------------------------------------------------------

    def _is_throttled(self, partition: Partition) -> bool:
        quota = self._quota
        return quota.is_throttled(partition.topic, partition.index) and quota.is_exceeded()

    def _count(self, partition: Partition, size: int) -> None:
        self._bytes_in += size
        if self._quota.is_throttled(partition.topic, partition.index):
            self._quota.record(size)

    def max_lag(self) -> int:
        """The most records that a partition here misses of those below its leader's watermark."""
        return max(
            (max(one.lag, 0) for all_ in self._fetchers.values() for one in all_.partitions()),
            default=0,
        )

    def failed_partitions(self) -> int:
        """Partitions that are copied no more until the metadata says something new of them."""
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
        return (({}, float(self._bytes_in)),)


def fetcher_number(topic: str, index: int, fetchers: int) -> int:
    """Which of the fetchers of its leader copies a partition: partitions of a topic take turns."""
    return (31 * zlib.crc32(topic.encode()) + index) % fetchers
