"""The share-group parts of a broker, which are created when they are first needed.

Many brokers never see a share group, so the start loads none of these modules. The share
coordinator is created with the first partition of `__share_group_state` that this broker leads, or
with the first request for it. The persister is created by its first caller.

Owns the connections between these parts and the rest of the node. Never decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from broker.apis.auto_topic_creation import SHARE_TOPIC
from broker.apis.cluster_view import ImageSource
from broker.config.own_principal import own_principal
from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.node.leader_address import leader_address
from broker.node.node_ports import NodePorts
from broker.replication.replica_fetcher_manager import EndpointOf
from broker.replication.replica_manager import ReplicaManager
from controller.node_refusals import NodeRefusals
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.apis.find_coordinator import CreateTopic
    from broker.groups.share.leader_offsets import Leader, LeaderOffsets, LocalOffsets
    from broker.groups.share.ports import SharePorts
    from broker.share.persister import Persister
    from broker.share.state.share_coordinator import ShareCoordinator, ShareCoordinatorSettings
    from broker.share.state.share_log import SharePartitionKey
    from broker.share.state_calls import Coordinator

_SHARE_VERSION = "share.version"
_log = logging.getLogger(f"ottla.{__name__}")


class NodeShares:
    """The share-group parts of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        ports: NodePorts,
        metadata: ImageSource,
        replicas: ReplicaManager,
        partition_count: Callable[[], int],
        endpoint_of: EndpointOf,
        create_topic: CreateTopic,
        list_offsets: LocalOffsets,
    ) -> None:
        """Create nothing yet.

        `partition_count()` returns the number of partitions of `__share_group_state`.
        `create_topic` asks the controller for an internal topic. `list_offsets` sends ListOffsets
        to this broker itself, as the network does to others.
        """
        self._config = config
        self._ports = ports
        self._metadata = metadata
        self._replicas = replicas
        self._partition_count = partition_count
        self._endpoint_of = endpoint_of
        self._create_topic = create_topic
        self._list_offsets = list_offsets
        self._coordinates = False
        self._persists = False
        self._end_offsets: LeaderOffsets | None = None

    # -- the coordinator -------------------------------------------------------------------------

    @cached_property
    def coordinator(self) -> ShareCoordinator:
        """The share coordinator of this broker, created at the first use."""
        # Brokers without share groups do not load this module.
        from broker.share.state.share_coordinator import ShareCoordinator, ShareTopic

        self._coordinates = True
        config, ports = self._config, self._ports
        return ShareCoordinator(
            self._settings(),
            ports.scheduler,
            ReplicaCoordinatorLog(
                SHARE_TOPIC,
                self._replicas,
                ports.io,
                config.share_coordinator_load_buffer_size,
                config.share_coordinator_state_topic_compression_codec,
            ),
            ShareTopic(
                self._partition_count,
                self._has_partition,
                self._delete_before,
                self._has_share_groups,
            ),
            self._replicas.log_manager.sliced,
        )

    @property
    def begun_coordinator(self) -> ShareCoordinator | None:
        """The share coordinator if it was created already, else None."""
        return self.coordinator if self._coordinates else None

    def _settings(self) -> ShareCoordinatorSettings:
        """Return the configs of the share coordinator."""
        from broker.share.state.share_coordinator import ShareCoordinatorSettings

        config = self._config
        return ShareCoordinatorSettings(
            config.share_coordinator_snapshot_update_records_per_snapshot,
            config.share_coordinator_cold_partition_snapshot_interval_ms,
            config.share_coordinator_state_topic_prune_interval_ms,
            config.share_coordinator_write_timeout_ms,
        )

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """Load `partition` of `__share_group_state`, which this broker leads now."""
        self.coordinator.on_elected(partition, leader_epoch)

    def on_resigned(self, partition: int) -> None:
        """Unload `partition`, which this broker does not lead any more."""
        if self._coordinates:
            self.coordinator.on_resigned(partition)

    def topics_deleted(self, topic_ids: frozenset[bytes]) -> None:
        """Delete the states of deleted topics."""
        if self._coordinates:
            self.coordinator.topics_deleted(topic_ids)

    def metadata_changed(self) -> None:
        """Repeat the calls of the persister whose coordinator is another broker now."""
        if self._persists:
            self.persister.metadata_changed()

    def shutdown(self) -> None:
        """Answer all waiting requests and calls, and send nothing more."""
        if self._persists:
            self.persister.shutdown()
        if self._end_offsets is not None:
            self._end_offsets.shutdown()
        if self._coordinates:
            self.coordinator.shutdown()

    def _has_partition(self, topic_id: bytes, partition: int) -> bool:
        """Return whether the cluster has a partition of a topic id."""
        topic = self._metadata.image.topics.get_by_id(topic_id)
        return topic is not None and partition in topic.partitions

    def _has_share_groups(self) -> bool:
        """Return whether the finalized level of `share.version` allows share groups."""
        return self._metadata.image.features.get(_SHARE_VERSION, 0) > 0

    def _delete_before(self, partition: int, offset: int) -> bool:
        """Delete the records of a partition of `__share_group_state` before `offset`. Return
        whether they are deleted."""
        replica = self._replicas.partition(SHARE_TOPIC, partition)
        if replica is None:
            return False
        error, _ = replica.delete_records(offset)
        if error is not ErrorCode.NONE:
            _log.warning("%s-%d: records are not deleted: %s", SHARE_TOPIC, partition, error.name)
        return error is ErrorCode.NONE

    # -- keys --------------------------------------------------------------------------------------

    def partition_for(self, key: str) -> int | None:
        """Return the partition of `__share_group_state` for a key of FindCoordinator; None if the
        key is no share-partition."""
        from broker.share.state.share_log import key_of

        share_partition = key_of(key)
        return None if share_partition is None else self._partition_for(share_partition)

    def serves(self, key: str) -> bool:
        """Return whether this broker's coordinator serves a key of FindCoordinator."""
        partition = self.partition_for(key)
        return self._coordinates and partition is not None and self.coordinator.serves(partition)

    def _partition_for(self, key: SharePartitionKey) -> int:
        return partition_for(key.text, self._partition_count())

    # -- the persister -----------------------------------------------------------------------------

    @cached_property
    def persister(self) -> Persister:
        """The calls of this broker to share coordinators, created at the first use."""
        from broker.share.persister import Persister, ShareCoordinators

        self._persists = True
        ports = self._ports
        own = own_principal(self._config.inter_broker_security)
        coordinators = ShareCoordinators(
            lambda: self.coordinator,
            self._coordinator_of,
            self._create_missing_topic,
            NodeRefusals(own, ports.between_nodes.monotonic_ms).refused,
        )
        return Persister(
            self._config.node_id,
            ports.between_nodes,
            ports.network,
            self._replicas.log_manager.sliced,
            self._config.request_timeout_ms,
            coordinators,
        )

    def _coordinator_of(self, key: SharePartitionKey) -> Coordinator | None:
        """Return the leader that coordinates this key, or None if it is not known or reachable."""
        return self._address_of(SHARE_TOPIC, self._partition_for(key))

    def _create_missing_topic(self) -> None:
        """Ask the controller for `__share_group_state`, unless it exists."""
        if SHARE_TOPIC not in self._metadata.image.topics.by_name:
            self._create_topic(SHARE_TOPIC, lambda: None)

    # -- the ports of share groups -----------------------------------------------------------------

    @cached_property
    def group_ports(self) -> SharePorts:
        """The ports of the group coordinator's share groups, created at the first use."""
        from broker.groups.share.leader_offsets import LeaderOffsets
        from broker.groups.share.ports import SharePorts

        self._end_offsets = LeaderOffsets(
            self._ports.between_nodes,
            self._ports.network,
            self._config.node_id,
            self._leader_of,
            self._list_offsets,
            self._config.request_timeout_ms,
        )
        return SharePorts(self.persister, self._end_offsets)

    def _leader_of(self, partition: TopicPartition) -> Leader | None:
        """Return a partition's leader, or None if it is not known or reachable."""
        return self._address_of(partition.topic, partition.partition)

    def _address_of(self, topic: str, partition: int) -> Leader | None:
        return leader_address(self._metadata.image, self._endpoint_of, topic, partition)
