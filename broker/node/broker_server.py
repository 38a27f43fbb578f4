"""The broker's part of a node: replicas, groups, registration, and the APIs that clients ask.

Owns the order in which a broker comes up and goes down. Up: it registers, wherever the controller
is; once it has read the metadata up to its registration, logs are opened with their topics'
configs and replicas follow the metadata; the controller unfences it; it serves. Down: leaders move
away (a controlled shutdown), nothing new is begun, coordinators answer whoever waits.

Never touches a socket, a clock or a file itself. Follows Kafka's `BrokerServer`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from broker.apis.auto_topic_creation import OFFSETS_TOPIC, TRANSACTION_TOPIC
from broker.apis.producer_id_manager import ProducerIdManager
from broker.config.dynamic import cleaner_config
from broker.config.endpoints import EndPoint
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.groups.coordinator_config import GroupCoordinatorConfig
from broker.groups.group_coordinator import GroupCoordinator
from broker.node.apis import node_apis
from broker.node.lifecycle import BrokerIdentity, BrokerLifecycle
from broker.node.settings import cleaner_settings
from broker.node.shared_server import SharedServer
from broker.node.transactions import NodeTransactions
from broker.replication.alter_partition_manager import AlterPartitionManager
from broker.replication.assignments_manager import AssignmentsManager
from broker.replication.partition import Partition
from broker.replication.replica_fetcher_manager import ReplicaFetcherManager
from broker.replication.replica_homes import ReplicaHomes
from broker.replication.replica_manager import ReplicaManager
from broker.requests.request_handler import RequestHandler
from broker.verification.append_verification import AppendVerification
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from controller.settings import DEFAULT_FEATURES
from protocol.errors import ErrorCode
from storage.cleaning.log_cleaner import LogCleaner
from storage.topic_partition import TopicPartition

_log = logging.getLogger(f"ottla.{__name__}")

Started = Callable[[Exception | None], None]

# For a registration or heartbeat, a controller that does not answer for longer is another one soon.
_LIFECYCLE_TIMEOUT_MS = 4_500


class BrokerServer:
    """See the module."""

    def __init__(self, shared: SharedServer) -> None:
        config, ports = shared.config, shared.ports
        self.shared = shared
        self.config = config
        self.ports = ports
        self.storage = shared.storage
        self.logs = shared.logs
        self.replicas = ReplicaManager(
            config, shared.logs, ports.scheduler, ports.random_bytes, shared.metrics
        )
        self._fetchers: ReplicaFetcherManager | None = None
        self._replicate(shared)
        self.transactions = NodeTransactions(self)
        self.verification = AppendVerification(
            self.transactions, config.transaction_partition_verification_enable
        )
        offsets_log = ReplicaCoordinatorLog(
            OFFSETS_TOPIC,
            self.replicas,
            ports.io,
            config.offsets_load_buffer_size,
            config.offsets_topic_compression_codec,
            self.verification,
        )
        self.cleaner = _cleaner(shared)
        self.groups = GroupCoordinator(
            GroupCoordinatorConfig.of(config),
            ports.scheduler,
            offsets_log,
            ports.random_bytes,
            self._offsets_partition_count,
        )
        self.producer_ids = ProducerIdManager(
            ports.scheduler,
            config.node_id,
            self.broker_epoch,
            shared.to_controller(self.refuse).send,
            config.queued_max_requests,
        )
        self.replicas.on_leadership(self._leadership_changed)
        self.lifecycle: BrokerLifecycle | None = None
        self.forwarding = shared.to_controller(self.refuse)
        self.requests = RequestHandler(node_apis(self))
        # What to do when the metadata has our registration.
        self._when_registered: Callable[[], None] | None = None

    def _replicate(self, shared: SharedServer) -> None:
        """What replication needs of other nodes."""
        config, ports = self.config, self.ports
        self.replicas.leader_view.alter_partitions = AlterPartitionManager(
            ports.scheduler,
            shared.to_controller(self.refuse).send,
            config.node_id,
            self.broker_epoch,
        )
        directory_ids = {path: self.storage.directory_ids[path] for path in config.log_dirs}
        assignments = AssignmentsManager(
            ports.scheduler,
            shared.to_controller(self.refuse).send,
            config.node_id,
            self.broker_epoch,
            directory_ids,
        )
        homes = ReplicaHomes(config.node_id, shared.logs, directory_ids, assignments)
        self.replicas.assign_with(assignments, homes)
        if ports.network is not None:
            self._fetchers = ReplicaFetcherManager(
                config,
                ports.network,
                ports.scheduler,
                self.replicas,
                self.endpoint_of,
                shared.metrics,
                self.broker_epoch,
            )

    def endpoint_of(self, broker_id: int) -> tuple[str, int] | None:
        """Where a broker takes other brokers' requests."""
        broker = self.image.brokers.get(broker_id)
        name = self.config.inter_broker_listener_name
        endpoint = broker.endpoints.get(name) if broker is not None else None
        return None if endpoint is None else (endpoint.host, endpoint.port)

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata (`ImageSource`)."""
        return self.shared.image

    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it."""
        return self.lifecycle.epoch if self.lifecycle is not None else -1

    def refuse(self, api_key: int, request: Any, error: ErrorCode) -> Any:
        """The response of an API that says `error`."""
        return self.requests.refusal(api_key, request, error)

    # --- up ------------------------------------------------------------------------------------

    def start(self, advertised: Sequence[EndPoint], done: Started) -> None:
        """Come up; `done(None)` when clients may be served, or with what forbids it."""
        config, storage = self.config, self.storage
        identity = BrokerIdentity(
            cluster_id=storage.cluster_id,
            incarnation_id=self.ports.random_bytes(16),
            endpoints=advertised,
            log_dir_ids=[storage.directory_ids[one] for one in self.logs.online_dirs],
            features=DEFAULT_FEATURES,
            previous_broker_epoch=self.logs.read_previous_broker_epoch(),
        )
        to_controller = self.shared.to_controller(self.refuse, _LIFECYCLE_TIMEOUT_MS)
        self.lifecycle = BrokerLifecycle(
            config,
            identity,
            to_controller.send,
            self.ports.scheduler,
            lambda: self.image.offset,
            self._offline_log_dirs,
            self.ports.halt,
        )
        self.shared.failures.listen(self._log_dir_failed)
        self.lifecycle.register(lambda error: self._registered(error, done))

    def _registered(self, error: Exception | None, done: Started) -> None:
        if error is not None:
            done(error)
            return
        self._when_registered = lambda: self._load(done)
        self.shared.controller.add_listener(self._metadata_changed)

    def _metadata_changed(self, _delta: MetadataDelta, image: MetadataImage) -> None:
        if self._when_registered is not None and image.offset >= self.broker_epoch():
            # Not from here, where others are still to hear of this change.
            self.ports.scheduler.call_soon(self._when_registered)
            self._when_registered = None

    def _load(self, done: Started) -> None:
        """What was decided before the registration is in the image: a log that it does not name is
        nobody's."""
        self.logs.load(
            self._is_stray,
            lambda error: self._loaded(error, done),
            lambda line: _log.warning("%s", line),
            self._home_of,
        )

    def _loaded(self, error: Exception | None, done: Started) -> None:
        if error is not None:
            done(error)
            return
        assert self.lifecycle is not None
        for line in self.logs.report:
            _log.warning("%s", line)
        try:
            # One that fails later keeps none of the others from following.
            self.shared.controller.add_listener(
                self.replicas.apply,
                self._configs_changed,
                self._topics_changed,
                lambda _delta, _image: self.transactions.metadata_changed(),
            )
        except Exception as failure:  # noqa: BLE001  whoever starts the node decides on it
            done(failure)
            return
        self.logs.start()
        self.cleaner.start()
        self.lifecycle.unfence(lambda: done(None))

    def _is_stray(self, partition: TopicPartition, topic_id: bytes | None) -> bool:
        topics, (name, index) = self.image.topics, partition
        topic = topics.get(name) if topic_id is None else topics.get_by_id(topic_id)
        if topic is None or topic.name != name:
            return True
        registration = topic.partitions.get(index)
        return registration is None or self.config.node_id not in registration.replicas

    def _home_of(self, partition: TopicPartition) -> str | None:
        """The directory that has the replica by the metadata. Of an only replica nobody can say
        that the other copy is the old one: there it decides nothing."""
        known = self.image.topics.partition(*partition)
        if known is None or len(known.replicas) == 1:
            return None
        named = known.directory_of(self.config.node_id)
        ids = self.storage.directory_ids
        return next((path for path in self.config.log_dirs if ids[path] == named), None)

    def _configs_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if any(kind == ResourceType.BROKER for kind, _ in delta.changed_configs):
            self.cleaner.update_settings(cleaner_settings(cleaner_config(self.config, image)))

    def _topics_changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        deleted = [topic.name for topic in delta.topics.deleted.values()]
        if deleted:
            self.groups.on_topics_deleted(deleted)

    # --- while up --------------------------------------------------------------------------------

    def _log_dir_failed(self, _log_dir: str, _reason: str) -> None:
        assert self.lifecycle is not None
        self.ports.scheduler.call_soon(self.lifecycle.log_dir_failed)

    def _offline_log_dirs(self) -> list[bytes]:
        ids = self.storage.directory_ids
        return [ids[path] for path in self.shared.failures.offline_dirs() if path in ids]

    def _leadership_changed(self, partition: Partition, leads: bool) -> None:
        coordinator: GroupCoordinator | NodeTransactions
        if partition.topic == OFFSETS_TOPIC:
            coordinator = self.groups
        elif partition.topic == TRANSACTION_TOPIC:
            coordinator = self.transactions
        else:
            return
        if leads:
            coordinator.on_elected(partition.index, partition.leader_epoch)
        else:
            coordinator.on_resigned(partition.index)

    def _offsets_partition_count(self) -> int:
        topic = self.image.topics.get(OFFSETS_TOPIC)
        if topic is None:
            count: int = self.config.offsets_topic_num_partitions
            return count
        return len(topic.partitions)

    # --- down ----------------------------------------------------------------------------------

    def hand_over(self, done: Callable[[], None]) -> None:
        """Let the controller move leaders away while this broker still serves; `done` when it leads
        nothing, or the time for that is up."""
        if self.lifecycle is None or not self.others_may_lead():
            done()
        else:
            self.lifecycle.shut_down(done)

    def others_may_lead(self) -> bool:
        """Whether another broker serves."""
        mine = self.config.node_id
        return any(one.active and one.id != mine for one in self.image.brokers.values())

    def begin_stop(self) -> None:
        """Begin nothing new; answer whoever waits."""
        self.cleaner.stop()
        if self.lifecycle is not None:
            self.lifecycle.stop()
        if self._fetchers is not None:
            self._fetchers.shutdown()
        self.groups.shutdown()
        self.transactions.shutdown()
        self.replicas.complete_waiting()


def _cleaner(shared: SharedServer) -> LogCleaner:
    """What compacts the logs: where there is no process for it, in the background's threads."""
    runner = shared.ports.cleaner
    if runner is None:
        from storage.cleaning.inline_cleaner import (
            InlineRunner,  # not loaded where a process does it
        )

        runner = InlineRunner(shared.environment)
    return LogCleaner(
        shared.environment,
        shared.logs,
        cleaner_settings(shared.config),
        runner,
        shared.logs.upkeep.checkpoint_recovery_points,
    )
