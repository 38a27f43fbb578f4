"""The cores of one node, put together: what runs the same in a process and in the simulator.

Owns the order in which a node comes up and goes down. Up: the metadata log is opened and the quorum
elects; the broker registers; logs are opened with their topics' configs; replicas follow the
metadata; the controller unfences the broker; it serves. Down: nothing new is begun, coordinators
answer whoever waits, the logs are closed and left clean.

Everything outside comes in through `NodePorts`. Never touches a socket, a clock or a file itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from broker.apis.auto_topic_creation import OFFSETS_TOPIC
from broker.apis.context import RequestContext
from broker.config import BrokerConfig
from broker.config_keys import GROUP_CONFIG_DEF
from broker.endpoints import EndPoint
from broker.groups.coordinator_config import GroupCoordinatorConfig
from broker.groups.group_coordinator import GroupCoordinator
from broker.lifecycle import BrokerIdentity, BrokerLifecycle
from broker.metrics import Metrics
from broker.node_apis import node_apis
from broker.node_settings import controller_settings
from broker.replication.partition import Partition
from broker.replication.replica_coordinator_log import ReplicaCoordinatorLog
from broker.replication.replica_manager import ReplicaManager
from broker.request_handler import Connection, Reply, RequestHandler
from broker.start_error import StartError
from controller.controller_node import ControllerNode
from controller.metadata_delta import MetadataDelta
from controller.metadata_image import MetadataImage
from controller.settings import DEFAULT_FEATURES
from controller.storage_format import LogDirectories, read_bootstrap
from storage.filesystem import Filesystem
from storage.log_dir_failure import LogDirFailureChannel
from storage.log_manager import LogManager, LogManagerSettings
from storage.ports import Blocking, Scheduler
from storage.topic_partition import TopicPartition
from storage.unified_log import LogEnvironment

_log = logging.getLogger("ottla.node")

Started = Callable[[Exception | None], None]


@dataclass(frozen=True, slots=True)
class NodePorts:
    """What is outside a node."""

    filesystem: Filesystem
    scheduler: Scheduler
    io: Blocking
    """For requests: cold reads, loading of coordinators. Its jobs hold handler slots."""
    background: Blocking
    """For flushing, deleting, recovering."""
    random_bytes: Callable[[int], bytes]
    halt: Callable[[str], None]
    """End the process at once, for this reason; nothing after it runs."""


class Node:
    """A broker that is its own controller."""

    def __init__(self, config: BrokerConfig, ports: NodePorts, storage: LogDirectories) -> None:
        """Lock the folders and open the metadata log.

        Raises LogDirLocked where another process has them, StartError and OSError.
        """
        self.config = config
        self.ports = ports
        self.storage = storage
        self.metrics = Metrics()
        self.failures = LogDirFailureChannel()
        environment = LogEnvironment(
            ports.filesystem,
            ports.scheduler,
            ports.background,
            self.failures,
            config.producer_id_expiration_ms,
        )
        settings = controller_settings(config, storage)
        self.logs = LogManager(
            environment, _log_manager_settings(config), self._topic_config, ports.random_bytes
        )
        self.logs.lock()
        self._refuse_without_folders()
        self.failures.listen(self._log_dir_failed)
        self.controller = ControllerNode(
            settings,
            environment,
            ports.random_bytes,
            read_bootstrap(ports.filesystem, config.metadata_log_dir),
            lambda error: ports.halt(f"the metadata log failed: {error}"),
            group_config_def=GROUP_CONFIG_DEF,
        )
        self.replicas = ReplicaManager(
            config, self.logs, ports.scheduler, ports.random_bytes, self.metrics
        )
        offsets_log = ReplicaCoordinatorLog(
            OFFSETS_TOPIC,
            self.replicas,
            ports.io,
            config.offsets_load_buffer_size,
            config.offsets_topic_compression_codec,
        )
        self.groups = GroupCoordinator(
            GroupCoordinatorConfig.of(config),
            ports.scheduler,
            offsets_log,
            ports.random_bytes,
            self._offsets_partition_count,
        )
        self.replicas.on_leadership(self._leadership_changed)
        self.lifecycle: BrokerLifecycle | None = None
        self.requests = RequestHandler(node_apis(self))

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata (`ImageSource`)."""
        return self.controller.image

    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it."""
        return self.lifecycle.epoch if self.lifecycle is not None else -1

    def handle(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        """Answer one request of a client; see `RequestHandler.handle`."""
        self.requests.handle(connection, frame, reply)

    # --- up ------------------------------------------------------------------------------------

    def start(self, advertised: Sequence[EndPoint], done: Started) -> None:
        """Come up; `done(None)` when clients may be served, or with what forbids it."""
        self.controller.start()
        identity = BrokerIdentity(
            cluster_id=self.storage.cluster_id,
            incarnation_id=self.ports.random_bytes(16),
            endpoints=advertised,
            log_dir_ids=[self.storage.directory_ids[one] for one in self.config.log_dirs],
            features=DEFAULT_FEATURES,
            previous_broker_epoch=-1,
        )
        self.lifecycle = BrokerLifecycle(
            self.config,
            identity,
            self._to_controller,
            self.ports.scheduler,
            lambda: self.image.offset,
        )
        self.lifecycle.register(lambda error: self._registered(error, done))

    def _registered(self, error: Exception | None, done: Started) -> None:
        if error is not None:
            done(error)
            return
        assert self.lifecycle is not None
        try:
            # What was decided before this registration is in the image: a log that it does not
            # name is nobody's.
            assert self.image.offset >= self.lifecycle.epoch
            for line in self.logs.load(self._is_stray):
                _log.warning("%s", line)
            self.controller.add_listener(self._follow)
        except Exception as failure:  # noqa: BLE001  whoever starts the node decides on it
            done(failure)
            return
        self.logs.start()
        self.lifecycle.unfence(lambda: done(None))

    def _is_stray(self, partition: TopicPartition, topic_id: bytes | None) -> bool:
        topics, (name, index) = self.image.topics, partition
        topic = topics.get(name) if topic_id is None else topics.get_by_id(topic_id)
        if topic is None or topic.name != name:
            return True
        registration = topic.partitions.get(index)
        return registration is None or self.config.node_id not in registration.replicas

    def _follow(self, delta: MetadataDelta, image: MetadataImage) -> None:
        deleted = [topic.name for topic in delta.topics.deleted.values()]
        self.replicas.apply(delta, image)
        if deleted:
            self.groups.on_topics_deleted(deleted)

    def _to_controller(self, request: Any, respond: Callable[[Any], None]) -> None:
        """One node: the controller is in this process."""
        context = RequestContext(
            request.API_KEY, request.MAX_VERSION, 0, None, "", "", f"node-{self.config.node_id}"
        )
        self.controller.apis.handle(context, request, respond)

    # --- while up --------------------------------------------------------------------------------

    def _leadership_changed(self, partition: Partition, leads: bool) -> None:
        if partition.topic != OFFSETS_TOPIC:
            return
        if leads:
            self.groups.on_elected(partition.index, partition.leader_epoch)
        else:
            self.groups.on_resigned(partition.index)

    def _offsets_partition_count(self) -> int:
        topic = self.image.topics.get(OFFSETS_TOPIC)
        if topic is None:
            count: int = self.config.offsets_topic_num_partitions
            return count
        return len(topic.partitions)

    def _topic_config(self, topic: str) -> Any:
        return self.replicas.topic_config_in(self.image, topic)

    def _refuse_without_folders(self) -> None:
        """Nothing runs yet: a folder without which it cannot is the person's to mend."""
        for log_dir, reason in self.failures.offline_dirs().items():
            if log_dir == self.config.metadata_log_dir or not self.logs.online_dirs:
                raise StartError(f"{log_dir} cannot be used (log.dirs): {reason}")
            _log.error("log directory %s is offline: %s", log_dir, reason)

    def _log_dir_failed(self, log_dir: str, reason: str) -> None:
        _log.error("log directory %s is offline: %s", log_dir, reason)
        if log_dir == self.config.metadata_log_dir:
            self.ports.halt(f"the metadata log directory {log_dir} failed: {reason}")
        if not self.logs.online_dirs:
            self.ports.halt(f"the last log directory failed: {reason}")

    # --- down ----------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Begin nothing new; answer whoever waits."""
        if self.lifecycle is not None:
            self.lifecycle.stop()
        self.groups.shutdown()
        self.replicas.complete_waiting()

    def finish_stop(self) -> None:
        """Close the logs and leave them clean; no job is under way any more."""
        self.controller.close()
        self.logs.close(self.broker_epoch())


def _log_manager_settings(config: BrokerConfig) -> LogManagerSettings:
    return LogManagerSettings(
        config.log_dirs,
        config.log_flush_offset_checkpoint_interval_ms,
        config.log_flush_start_offset_checkpoint_interval_ms,
        config.replica_high_watermark_checkpoint_interval_ms,
        config.producer_id_expiration_check_interval_ms,
        config.log_flush_scheduler_interval_ms,
    )
