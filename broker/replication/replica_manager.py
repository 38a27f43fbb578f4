"""All partitions that this broker hosts, and the two purgatories of requests that wait for them.

Owns which partitions exist here and who leads them, as the metadata image says: `apply` creates
logs for new ones, opens leaders, deletes what is gone. Appends and reads go through `Partition`.
Never decides leadership, never speaks to a client. Follows Kafka's `ReplicaManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from broker.config import BrokerConfig
from broker.dynamic_config import topic_defaults
from broker.metrics import Metrics
from broker.purgatory.purgatory import Purgatory
from broker.replication.fetch_session import FetchSession, FetchSessionCache
from broker.replication.followers import LeaderView
from broker.replication.partition import Partition
from broker.replication.replication_quota import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ReplicationQuota,
)
from controller.metadata_delta import MetadataDelta
from controller.metadata_image import MetadataImage, PartitionRegistration, ResourceType
from protocol.errors import ErrorCode
from storage.log_config import LogConfig
from storage.log_dir_failure import LogDirFailure
from storage.log_manager import LogManager
from storage.ports import Scheduler

_log = logging.getLogger("ottla.replicas")

TopicPartition = tuple[str, int]

# Not a config of Kafka's either: `ServerConfigs.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`.
SESSION_EVICTION_MS = 120_000


class ReplicaManager:
    """The replicas of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        log_manager: LogManager,
        scheduler: Scheduler,
        random_bytes: Callable[[int], bytes],
        metrics: Metrics,
    ) -> None:
        self.metrics = metrics
        self.node_id: int = config.node_id
        self.log_manager = log_manager
        self._config = config
        self.scheduler = scheduler
        self.produce_purgatory = Purgatory("Produce", scheduler)
        self.fetch_purgatory = Purgatory("Fetch", scheduler)
        self.sessions = FetchSessionCache(
            config.max_incremental_fetch_session_cache_slots,
            SESSION_EVICTION_MS,
            random_bytes,
            self._session_changed,
        )
        clock = scheduler.monotonic_ms
        self.leader_quota = ReplicationQuota(LEADER_RATE, LEADER_REPLICAS, config, clock)
        self.follower_quota = ReplicationQuota(FOLLOWER_RATE, FOLLOWER_REPLICAS, config, clock)
        self._partitions: dict[TopicPartition, Partition] = {}
        self._by_topic_id: dict[tuple[bytes, int], Partition] = {}
        # Ours, but their logs cannot be opened or made: a log directory is offline.
        self._offline: dict[TopicPartition, None] = {}
        self._image: MetadataImage | None = None
        self.leader_view = LeaderView(
            scheduler,
            config.replica_lag_time_max_ms,
            lambda: self._image.brokers if self._image else {},
        )
        # Told (partition, leads now) after each change of leadership: coordinators load and unload.
        self._leadership_listeners: list[Callable[[Partition, bool], None]] = []

    # --- what there is ---------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Partition | None:
        """The local replica of a partition, or None."""
        return self._partitions.get((topic, index))

    def partition_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        """The local replica of a partition named by topic id, or None."""
        return self._by_topic_id.get((topic_id, index))

    def why_absent(self, topic: str, index: int) -> ErrorCode:
        """Why `partition(topic, index)` is None: it does not exist, its log is in a directory that
        failed, or it lives on other brokers."""
        known = self._image.topics.get(topic) if self._image else None
        if known is None or index not in known.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if (topic, index) in self._offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def why_absent_by_id(self, topic_id: bytes, index: int) -> ErrorCode:
        """The same for a partition named by topic id."""
        known = self._image.topics.get_by_id(topic_id) if self._image else None
        if known is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return self.why_absent(known.name, index)

    def partitions(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def on_leadership(self, listener: Callable[[Partition, bool], None]) -> None:
        self._leadership_listeners.append(listener)

    # --- following the metadata ------------------------------------------------------------------

    def apply(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Bring the local replicas to what the image says, looking only at what changed."""
        at_start = self._image is None
        self._image = image
        changes = delta.topics.local_changes(self.node_id)
        for topic, _, index in changes.deletes:
            self._delete(topic, index)
        for (topic, topic_id, index), registration in changes.leaders.items():
            self._change(topic, topic_id, index, registration, at_start)
        for (topic, topic_id, index), registration in changes.followers.items():
            self._change(topic, topic_id, index, registration, at_start)
        for resource_type, name in delta.changed_configs:
            if resource_type == ResourceType.TOPIC:
                for quota in (self.leader_quota, self.follower_quota):
                    quota.configure_topic(name, image)
                if name in image.topics.by_name:
                    self.log_manager.update_config(name, self.topic_config(name))
        own = ((ResourceType.BROKER, ""), (ResourceType.BROKER, str(self.node_id)))
        if any(resource in delta.changed_configs for resource in own):
            self.leader_quota.configure(image)
            self.follower_quota.configure(image)
            for topic in dict.fromkeys(topic for topic, _ in self._partitions):
                self.log_manager.update_config(topic, self.topic_config(topic))

    def _change(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        registration: PartitionRegistration,
        at_start: bool,
    ) -> None:
        partition = self._partitions.get((topic, index))
        if partition is None:
            is_new = not at_start and (topic, index) not in self._offline
            try:
                partition = self._create(topic, topic_id, index, is_new)
            except LogDirFailure as failure:
                _log.error("%s-%d is offline: %s", topic, index, failure)
                self._offline[(topic, index)] = None
                return
        led, epoch = partition.is_leader, partition.leader_epoch
        partition.apply(registration)
        if partition.is_leader != led or partition.leader_epoch != epoch:
            self._tell_leadership(partition, partition.is_leader)

    def _create(self, topic: str, topic_id: bytes, index: int, is_new: bool) -> Partition:
        config = self.topic_config(topic)
        log = self.log_manager.get_or_create((topic, index), topic_id, config, is_new=is_new)
        counts = self.metrics.topic(topic)
        partition = Partition(
            topic,
            index,
            topic_id,
            log,
            self.node_id,
            counts,
            self.partition_changed,
            self.leader_view,
        )
        self._partitions[(topic, index)] = partition
        self._by_topic_id[(topic_id, index)] = partition
        return partition

    def _delete(self, topic: str, index: int) -> None:
        self._offline.pop((topic, index), None)
        partition = self._partitions.pop((topic, index), None)
        if partition is None:
            return
        del self._by_topic_id[(partition.topic_id, index)]
        led = partition.is_leader
        partition.mark_deleted()
        if led:
            self._tell_leadership(partition, False)
        with suppress(LogDirFailure):  # its folder is put aside when the directory is back
            self.log_manager.delete((topic, index))
        self.metrics.forget_topic(topic)

    def topic_config(self, topic: str) -> LogConfig:
        """What a topic sets, above this broker's defaults."""
        return self.topic_config_in(self._image or MetadataImage(), topic)

    def topic_config_in(self, image: MetadataImage, topic: str) -> LogConfig:
        """The same as `image` has it, which may be one that was not applied yet."""
        overrides = image.config(ResourceType.TOPIC, topic)
        return LogConfig.from_overrides(overrides, topic_defaults(self._config, image))

    def _tell_leadership(self, partition: Partition, leads: bool) -> None:
        for listener in self._leadership_listeners:
            listener(partition, leads)

    # --- waking --------------------------------------------------------------------------------

    def partition_changed(self, partition: Partition) -> None:
        """Complete what waits for `partition`."""
        if partition.listeners:
            for listener in list(partition.listeners):
                listener.partition_changed(partition)
        if self.fetch_purgatory:
            self.fetch_purgatory.check(partition)
        if self.produce_purgatory:
            self.produce_purgatory.check(partition)

    def _session_changed(self, session: FetchSession, _partition: Partition) -> None:
        self.fetch_purgatory.check(session)

    def complete_waiting(self) -> None:
        """Answer every parked request with what there is: the node stops."""
        self.fetch_purgatory.complete_everything()
        self.produce_purgatory.complete_everything()

    def wake(self, partitions: Iterable[Partition]) -> None:
        """Tell of appends whose answers are on their way."""
        for partition in partitions:
            self.partition_changed(partition)
