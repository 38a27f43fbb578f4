"""The partitions that this broker hosts, and the purgatories of requests that wait for them.

Owns which partitions exist here and which of them lead, as the metadata image says. `follow`
creates logs of new replicas, starts leaders, lets fetchers copy the followers, and deletes the logs
of removed replicas. It works partition by partition, in slices. A client that requests a partition
before its turn receives NOT_LEADER_OR_FOLLOWER and retries, as in Kafka between its metadata cache
and its ReplicaManager. A timer here makes leaders look for followers that fell behind. Appends and
reads go through `Partition`. Never decides leadership, never speaks to a client. Follows Kafka's
`ReplicaManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from broker.config.in_force import topic_defaults
from broker.config.keys import FOLLOWER_RATE, LEADER_RATE, MOVE_RATE
from broker.config.values import BrokerConfig
from broker.metrics import Metrics
from broker.purgatory.delayed_operations import DelayedProduce
from broker.purgatory.purgatory import Purgatory
from broker.replication.assignments_manager import AssignmentsManager
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.replication.fetchers import Fetchers
from broker.replication.followers import LeaderView
from broker.replication.held_back_replicas import HeldBackReplicas
from broker.replication.partition import Partition
from broker.replication.replica_homes import ReplicaHomes
from broker.replication.replica_mover import ReplicaMover
from broker.replication.replication_quota import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    ReplicationQuota,
    configured_rate,
)
from broker.replication.session_waking import SessionWaking
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, PartitionRegistration, ResourceType
from controller.metadata.topics_delta import LocalReplicaChanges
from ground.ordered_work import OrderedWork
from ground.ports import Scheduler
from ground.sliced_work import Steps, each, in_one_go
from ground.topic_partition import TopicPartition as TopicPartitionName
from protocol.errors import ErrorCode
from storage.directories.log_manager import LogManager
from storage.log.log_dir_failure import (
    DescriptorsLack,
    LogDirFailure,
    LogPlaceTaken,
    LogUnusable,
)
from storage.log.retention import Breaches
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig

_log = logging.getLogger(f"ottla.{__name__}")

TopicPartition = tuple[str, int]

NO_METADATA = MetadataImage()

# Not a config in Kafka either: `ServerConfigs.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`.
SESSION_EVICTION_MS = 120_000

CHANGES_A_SLICE = 20
"""The number of partitions, or of logs, whose leadership or configs a slice changes."""
CHANGES_A_NEW_LOG = 20
"""The number of such changes that take as long as the creation of one log."""
DELETES_A_SLICE = 10
ISRS_A_SLICE = 200


class ReplicaManager:
    """The replicas of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        log_manager: LogManager,
        scheduler: Scheduler,
        random_bytes: Callable[[int], bytes],
        metrics: Metrics,
        between_nodes: Scheduler | None = None,
    ) -> None:
        """Create a manager without partitions.

        `between_nodes` is the clock for followers' lags; None: that of `scheduler`.
        """
        self.metrics = metrics
        self._between_nodes = between_nodes or scheduler
        self.node_id: int = config.node_id
        self.log_manager = log_manager
        self._config = config
        self.scheduler = scheduler
        self.produce_purgatory = Purgatory("Produce", scheduler)
        self.fetch_purgatory = Purgatory("Fetch", scheduler)
        self.share_fetch_purgatory = Purgatory("ShareFetch", scheduler)
        self.delete_records_purgatory = Purgatory("DeleteRecords", scheduler)
        self.sessions = FetchSessionCache(
            config.max_incremental_fetch_session_cache_slots,
            SESSION_EVICTION_MS,
            random_bytes,
            SessionWaking(self.fetch_purgatory, scheduler).session_changed,
            bool(config.replica_selector_class),
        )
        clock = scheduler.monotonic_ms
        self.leader_quota = ReplicationQuota(LEADER_RATE, LEADER_REPLICAS, config, clock)
        self.follower_quota = ReplicationQuota(FOLLOWER_RATE, FOLLOWER_REPLICAS, config, clock)
        self._partitions: dict[TopicPartition, Partition] = {}
        self._by_topic_id: dict[tuple[bytes, int], Partition] = {}
        # Replicas of this broker whose logs cannot be opened or created: their directory is
        # offline.
        self._offline: dict[TopicPartition, None] = {}
        self._held_back = HeldBackReplicas(log_manager.descriptors, scheduler, self._host_held_back)
        self._image: MetadataImage | None = None
        self._fetchers: Fetchers | None = None
        self._assignments: AssignmentsManager | None = None
        self._homes: ReplicaHomes | None = None
        self.mover = ReplicaMover(log_manager, scheduler, log_manager.blocking, self._moved)
        self._stopped = False
        self.leader_view = LeaderView(self._between_nodes, config.replica_lag_time_max_ms)
        self._leadership_listeners: list[Callable[[Partition, bool], None]] = []
        log_manager.on_dir_failure(self._log_dir_failed)
        log_manager.upkeep.on_retained(self._retained)

    @property
    def image(self) -> MetadataImage:
        """The metadata image that the replicas follow."""
        return self._image or NO_METADATA

    # --- lookups ---------------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return the local replica of a partition, or None."""
        return self._partitions.get((topic, index))

    def partition_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        """Return the local replica of a partition by its topic id, or None."""
        return self._by_topic_id.get((topic_id, index))

    def finder(self, topic: str | bytes, index: int) -> Callable[[], Partition | None]:
        """Return a function that looks up the local replica of a partition at each call.

        `topic` is a name or a topic id. The function returns None if there is no replica then.
        """
        if isinstance(topic, str):
            return partial(self._partitions.get, (topic, index))
        return partial(self._by_topic_id.get, (topic, index))

    def why_absent(self, topic: str, index: int) -> ErrorCode:
        """Return the error that says why `partition(topic, index)` is None.

        UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist. KAFKA_STORAGE_ERROR: its local log
        is offline. NOT_LEADER_OR_FOLLOWER: the local replica does not exist (yet).
        """
        topic_image = self._image.topics.get(topic) if self._image else None
        if topic_image is None or index not in topic_image.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if (topic, index) in self._offline or (topic, index) in self._held_back:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def why_absent_by_id(self, topic_id: bytes, index: int) -> ErrorCode:
        """Return the error that says why `partition_by_id(topic_id, index)` is None:
        UNKNOWN_TOPIC_ID, or the error of `why_absent`."""
        topic_image = self._image.topics.get_by_id(topic_id) if self._image else None
        if topic_image is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return self.why_absent(topic_image.name, index)

    def partitions(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    @property
    def offline_count(self) -> int:
        """The number of local replicas that are offline (Kafka's OfflineReplicaCount).

        It includes the replicas that wait for file descriptors.
        """
        missing = len(self._offline) + len(self._held_back)
        return missing + sum(partition.log.offline for partition in self._partitions.values())

    def on_leadership(self, listener: Callable[[Partition, bool], None]) -> None:
        """Call `listener(partition, leads now)` from now on after each new leader epoch of a local
        replica, and when this broker begins or ceases to lead."""
        self._leadership_listeners.append(listener)

    # --- metadata --------------------------------------------------------------------------------

    def follow(self, delta: MetadataDelta, image: MetadataImage) -> Steps[None]:
        """Set `image`, and return the steps that bring the local replicas to its state.

        They look only at the changes in `delta`. They must end before the steps for the next change
        begin. Answers about partitions that are not hosted here use the new image at once. The
        first call also starts the regular checks of ISRs.
        """
        at_start = self._image is None
        self._image = image
        self.leader_view.set_brokers(image.brokers)
        if at_start:
            self._check_isrs_later()
        return self._apply_delta(delta, image, at_start)

    def apply(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Bring the local replicas to the state of `image`, without slices."""
        in_one_go(self.follow(delta, image))

    def _apply_delta(
        self, delta: MetadataDelta, image: MetadataImage, at_start: bool
    ) -> Steps[None]:
        """Bring the hosted partitions in line with a metadata delta, in slices.

        Deletes, creates and changes replicas, then applies changed configs and quotas.
        """
        changes = delta.topics.local_changes(self.node_id)
        homes = self._homes if at_start else None
        if homes is not None:
            homes.find_missing_directories((*changes.leaders.values(), *changes.followers.values()))
        with self.log_manager.upkeep.deletions():
            yield from each(
                lambda deleted: self._delete(*deleted), changes.deletes, DELETES_A_SLICE
            )
        yield from self._host_all(changes, at_start)
        if homes is not None:
            homes.log_warnings()
        self._held_back.host_waiting()
        yield from self._report_broker_changes(delta)
        yield from self._apply_configs(delta, image)

    def _host_all(self, changes: LocalReplicaChanges, at_start: bool) -> Steps[None]:
        """Create or change the local replicas, leaders first.

        A topic that the metadata no longer has is skipped: the delta that deletes it follows.
        """
        configs: dict[str, LogConfig] = {}
        slice_ = 0
        for kind in (changes.leaders, changes.followers):
            for (topic, topic_id, index), registration in kind.items():
                if slice_ >= CHANGES_A_SLICE:
                    yield None
                    slice_ = 0
                if self.image.topics.get_by_id(topic_id) is None:
                    continue
                slice_ += 1 if (topic, index) in self._partitions else CHANGES_A_NEW_LOG
                if topic not in configs:
                    configs[topic] = self.topic_config(topic)
                self._host(topic, topic_id, index, registration, configs[topic], at_start)

    def _apply_configs(self, delta: MetadataDelta, image: MetadataImage) -> Steps[None]:
        """Apply changed configs of topics to their logs and throttles.

        A change of this broker's configs sets the rates of replication and of moves, and renews the
        configs of all local logs.
        """
        topics = [name for kind, name in delta.changed_configs if kind == ResourceType.TOPIC]
        yield from each(partial(self._configure_throttles, image), topics, CHANGES_A_SLICE)
        own = ((ResourceType.BROKER, ""), (ResourceType.BROKER, str(self.node_id)))
        if any(resource in delta.changed_configs for resource in own):
            self.leader_quota.configure(image)
            self.follower_quota.configure(image)
            self.mover.limit(max(1, configured_rate(image, self._config.node_id, MOVE_RATE)))
            topics = list(dict.fromkeys(topic for topic, _ in self._partitions))
        if topics:
            logs = self.log_manager.logs_of(set(topics))
            configs: dict[str, LogConfig] = {}
            yield from each(partial(self._configure, configs), logs, CHANGES_A_SLICE)

    def _configure_throttles(self, image: MetadataImage, name: str) -> None:
        """Set which partitions of a topic are throttled, as leaders and as followers."""
        for quota in (self.leader_quota, self.follower_quota):
            quota.configure_topic(name, image)

    def _configure(self, configs: dict[str, LogConfig], log: UnifiedLog) -> None:
        """Update a log to its topic's current configs; `configs` caches those of earlier logs."""
        topic = log.partition.topic
        if topic not in self.image.topics.by_name:
            return  # the delta that deletes it follows
        if topic not in configs:
            configs[topic] = self.topic_config(topic)
        log.update_config(configs[topic])

    def _host(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        registration: PartitionRegistration,
        config: LogConfig,
        at_start: bool = False,
    ) -> None:
        """Bring the local replica to its registration, and create the log of a new replica.

        No log is created if its directory is offline or gone, if something else occupies its
        folder, or if file descriptors are short. The replica then counts as offline or held back,
        which is logged or reported to the controller.
        """
        partition = self._partitions.get(key := TopicPartitionName(topic, index))
        if partition is None or partition.topic_id != topic_id:
            is_new = not at_start and key not in self._offline
            homes, log_dir = self._homes, None
            try:
                if homes is not None:
                    log_dir = homes.named_dir(registration)
                    if not is_new:
                        homes.check(key, registration)
                partition = self._create(topic, topic_id, index, config, is_new, log_dir)
            except DescriptorsLack as lack:
                self._held_back.hold(topic, index, lack)
                if homes is not None:
                    homes.report_held_back(topic_id, index, registration)
                return
            except LogPlaceTaken as conflict:
                self._offline[key] = None
                _log.error("%s is offline: %s", key, conflict.why)
                if homes is not None:
                    homes.report_held_back(topic_id, index, registration)
                return
            except LogDirFailure as failure:
                self._offline[key] = None
                if homes is not None and isinstance(failure, LogUnusable):
                    homes.record_offline(key, topic_id, registration, failure.why)
                else:
                    _log.error("%s is offline: %s", key, failure)
                return
            self._offline.pop(key, None)
            self._held_back.forget(topic, index)
        self._apply_registration(partition, registration)

    def _host_held_back(self, topic: str, index: int) -> None:
        """Host a replica that was held back, or forget it if it was removed meanwhile."""
        topic_image = self.image.topics.get(topic)
        registration = None if topic_image is None else topic_image.partitions.get(index)
        if topic_image is None or registration is None or self.node_id not in registration.replicas:
            self._held_back.forget(topic, index)
            return
        config = self.topic_config(topic)
        self._host(topic, topic_image.id, index, registration, config)

    def _apply_registration(
        self, partition: Partition, registration: PartitionRegistration
    ) -> None:
        """Apply a registration to a hosted partition.

        Starts or stops its fetcher, reports its log directory to the controller, and calls the
        leadership listeners if the leadership has changed.
        """
        led, epoch = partition.is_leader, partition.leader_epoch
        fetchers = self._fetchers
        if fetchers is not None and registration.leader == self.node_id:
            fetchers.stop(partition)  # before the epoch begins at the log's end
        partition.apply(registration)
        if self._assignments is not None:
            self._assignments.placed(partition, registration)
        if fetchers is not None and not partition.is_leader:
            fetchers.follow(partition)
        if partition.is_leader != led or partition.leader_epoch != epoch:
            self._report_leadership(partition, partition.is_leader)

    def _report_broker_changes(self, delta: MetadataDelta) -> Steps[None]:
        """Apply changed brokers: led partitions propose replicas that may join the ISR, and
        fetchers reconnect. Close idle fetchers in any case."""
        if delta.changed_brokers:
            led_partitions = [
                partition
                for partition in self._partitions.values()
                if partition.followers is not None
            ]
            yield from each(_brokers_changed, led_partitions, CHANGES_A_SLICE)
            if self._fetchers is not None:
                self._fetchers.brokers_changed()
        if self._fetchers is not None:
            self._fetchers.close_idle()

    def _create(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        config: LogConfig,
        is_new: bool,
        log_dir: str | None,
    ) -> Partition:
        """Create a partition with its log, register it, and resume its move to another folder.
        Raises LogDirFailure, DescriptorsLack or LogPlaceTaken if there can be no log."""
        log = self.log_manager.get_or_create(
            (topic, index), topic_id, config, log_dir=log_dir, is_new=is_new
        )
        counts, view = self.metrics.topic(topic), self.leader_view
        partition = Partition(
            topic, index, topic_id, log, self.node_id, counts, self.partition_changed, view
        )
        self._partitions[(topic, index)] = partition
        self._by_topic_id[(topic_id, index)] = partition
        self.mover.resume(partition)
        return partition

    def _delete(self, topic: str, topic_id: bytes, index: int) -> None:
        """Remove a replica and delete its log, because its topic was deleted or it moved to another
        broker. Stops its fetcher and its move, and wakes its waiting requests."""
        self._held_back.forget(topic, index)
        if self._assignments is not None:
            self._assignments.forget(topic_id, index)
        partition = self._by_topic_id.get((topic_id, index))
        if partition is None:
            if (topic, index) in self._offline:
                del self._offline[(topic, index)]
                self.log_manager.delete((topic, index))
            return
        if self._fetchers is not None:
            self._fetchers.stop(partition)
        del self._partitions[(topic, index)]
        del self._by_topic_id[(partition.topic_id, index)]
        self.mover.cancel(partition)
        led = partition.is_leader
        partition.mark_deleted()
        if led:
            self._report_leadership(partition, False)
        with suppress(LogDirFailure):  # the folder is deleted when the directory is back
            self.log_manager.delete((topic, index))
        if self._image is None or self._image.topics.get_by_id(topic_id) is None:
            self.metrics.forget_topic(topic)

    def topic_config(self, topic: str) -> LogConfig:
        """Return the configs of a topic, with this broker's defaults."""
        return self.topic_config_in(self._image or MetadataImage(), topic)

    def topic_config_in(self, image: MetadataImage, topic: str) -> LogConfig:
        """Return the configs of a topic in `image`, which may be newer than the applied one."""
        overrides = image.config(ResourceType.TOPIC, topic)
        return LogConfig.from_overrides(overrides, topic_defaults(self._config, image))

    def _report_leadership(self, partition: Partition, leads: bool) -> None:
        """Call each leadership listener with the partition and whether this broker leads it."""
        for listener in self._leadership_listeners:
            listener(partition, leads)

    # --- waiting requests ----------------------------------------------------------------------

    def partition_changed(self, partition: Partition) -> None:
        """Wake the sessions and the requests that wait for `partition`."""
        if partition.listeners:
            for listener in list(partition.listeners):
                listener.partition_changed(partition)
        # Usually nothing waits, and the calls are saved.
        if self.fetch_purgatory.waiting:
            self.fetch_purgatory.check(partition)
        if self.produce_purgatory.waiting:
            self.produce_purgatory.check(partition)

    # --- followers -----------------------------------------------------------------------------

    def fetch_with(self, fetchers: Fetchers) -> None:
        """Let `fetchers` copy the partitions that other brokers lead, from now on."""
        self._fetchers = fetchers
        for partition in self._partitions.values():
            if not partition.is_leader:
                fetchers.follow(partition)

    def assign_with(self, assignments: AssignmentsManager, homes: ReplicaHomes) -> None:
        """Report the log directories of replicas through `assignments` from now on, and check by
        `homes` whether a missing log may be created."""
        self._assignments, self._homes = assignments, homes

    def _check_isrs_later(self) -> None:
        """Schedule the next check of the ISRs after half of `replica.lag.time.max.ms`."""
        half_ms = self._config.replica_lag_time_max_ms / 2
        self._between_nodes.call_later(half_ms, self._check_isrs)

    def _check_isrs(self) -> None:
        """Let each leader propose an ISR without lagging replicas, in slices, and schedule the next
        check (Kafka's `isr-expiration`)."""
        if self._stopped:
            return
        led_partitions = [
            partition for partition in self._partitions.values() if partition.followers is not None
        ]
        work = OrderedWork(self.log_manager.sliced)
        work.take(each(self._check_isr, led_partitions, ISRS_A_SLICE), self._isrs_checked)

    def _check_isr(self, partition: Partition) -> None:
        """Let a leader propose an ISR without lagging replicas, unless it was deleted or the node
        stops."""
        if not self._stopped and not partition.deleted:
            partition.shrink_isr()

    def _isrs_checked(self, _: object, error: Exception | None) -> None:
        """Schedule the next check of the ISRs; then raise the error of this check, if any."""
        self._check_isrs_later()
        if error is not None:
            raise error

    def _retained(self, log: UnifiedLog, removed: Breaches) -> None:
        """Log the new log start after retention has removed segments. Wake the requests that wait
        for the partition, and report the start to its leader in the next fetch."""
        _log.info(
            "%s: removed %d segment(s): %d before the log start, %d over retention.bytes, %d past "
            "retention.ms; the log starts at %d",
            log.partition,
            removed.total,
            removed.log_start,
            removed.size,
            removed.time,
            log.log_start_offset,
        )
        partition = self._partitions.get(log.partition)
        if partition is not None and partition.log is log:
            partition.changed()
            if self._fetchers is not None:
                self._fetchers.log_start_moved(partition)

    def _moved(self, partition: Partition) -> None:
        """Report the new log directory of a partition to the controller after a move, and host
        replicas that waited for file descriptors."""
        topic = self.image.topics.get_by_id(partition.topic_id)
        registration = topic.partitions.get(partition.index) if topic is not None else None
        if self._assignments is not None and registration is not None:
            self._assignments.placed(partition, registration)
        self._held_back.host_waiting()

    def _log_dir_failed(self, log_dir: str) -> None:
        """Stop the fetches into a failed log directory, and wake the requests that wait for it.

        Its logs already reject every use. The controller elects other leaders.
        """
        lost = [
            partition for partition in self._partitions.values() if partition.log.log_dir == log_dir
        ]
        for partition in lost:
            if self._fetchers is not None:
                self._fetchers.stop(partition)
        # Wake the waiting requests after the work in which the disk failed.
        self.scheduler.call_soon(lambda: self.wake(lost))

    def complete_waiting(self) -> None:
        """Complete all parked requests with the data that is available; park none from now on. Stop
        the moves and the checks of ISRs.

        The node is stopping.
        """
        self._stopped = True
        self.mover.stop()
        self.fetch_purgatory.close()
        self.share_fetch_purgatory.close()
        self.produce_purgatory.close()
        self.delete_records_purgatory.close()

    def wait_for_replicas(
        self, waiting: DelayedProduce, appended: Iterable[Partition], timeout_ms: int
    ) -> bool:
        """Return whether `waiting`, a request with acks=all, must wait for replicas. If so, it is
        parked, at most for `timeout_ms`, and sends its answer itself. Otherwise the caller answers.

        The `appended` partitions wake their followers unless every append is already settled.
        """
        if waiting.settle_all():
            return False
        self.wake(appended)
        if waiting.settle_all():
            return False
        self.produce_purgatory.watch(waiting, waiting.pending, max(timeout_ms, 0))
        return True

    def wake(self, partitions: Iterable[Partition]) -> None:
        """Wake the sessions and the requests that wait for these partitions, after the answers to
        appends are on their way."""
        for partition in partitions:
            self.partition_changed(partition)


def _brokers_changed(partition: Partition) -> None:
    """Let a leader with followers propose replicas that may join its ISR."""
    if partition.followers is not None:
        partition.brokers_changed()
