"""The transaction parts of a broker, which are created when they are first needed.

Many brokers never see a transaction, so the start loads none of these modules. The coordinator is
created with the first partition of `__transaction_state` that this broker leads, or with the first
request for the coordinator. The verification for partition leaders is created with the first
transactional batch.

Owns the connections between these parts and the rest of the node. Never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from broker.apis.auto_topic_creation import TRANSACTION_TOPIC
from broker.apis.cluster_view import ImageSource
from broker.config.own_principal import own_principal
from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.node.leader_address import leader_address
from broker.node.node_ports import NodePorts
from broker.replication.replica_fetcher_manager import EndpointOf
from broker.replication.replica_manager import ReplicaManager
from broker.requests.sliced_answers import SlicedAnswers
from controller.metadata.version import TRANSACTION_VERSION
from controller.node_refusals import NodeRefusals
from ground.topic_partition import TopicPartition

if TYPE_CHECKING:
    from broker.apis.transactions import TransactionsApi
    from broker.transactions.marker_sender import Leader, LocalMarkers, MarkerSender, NoLeaderReason
    from broker.transactions.transaction_coordinator import NextProducerId, TransactionCoordinator
    from broker.verification.add_partitions_to_txn_manager import AddPartitionsToTxnManager
    from broker.verification.transaction_verification import (
        PartitionErrorsCallback,
        TransactionSupportedOperation,
    )


class NodeTransactions:
    """The transaction parts of a broker, and the `TransactionVerifier` of its leaders."""

    def __init__(
        self,
        config: BrokerConfig,
        ports: NodePorts,
        metadata: ImageSource,
        replicas: ReplicaManager,
        next_producer_id: NextProducerId,
        partition_count: Callable[[], int],
        group_partition_for: Callable[[str], int],
        endpoint_of: EndpointOf,
        write_markers: LocalMarkers,
    ) -> None:
        """Create nothing yet.

        `partition_count()` returns the number of partitions of `__transaction_state`.
        `write_markers` sends WriteTxnMarkers to this broker itself, as the network does to others.
        """
        self._config = config
        self._ports = ports
        self._metadata = metadata
        self._replicas = replicas
        self._next_producer_id = next_producer_id
        self._partition_count = partition_count
        self._group_partition_for = group_partition_for
        self._endpoint_of = endpoint_of
        self._write_markers = write_markers
        self._coordinates = False
        self._verifies = False
        self._sender: MarkerSender | None = None

    # -- the coordinator -------------------------------------------------------------------------

    @cached_property
    def coordinator(self) -> TransactionCoordinator:
        """The transaction coordinator of this broker, created at the first use."""
        # Brokers without transactions do not load this module.
        from broker.transactions.transaction_coordinator import TransactionCoordinator

        self._coordinates = True
        config, ports = self._config, self._ports
        return TransactionCoordinator(
            config,
            ports.scheduler,
            ReplicaCoordinatorLog(
                TRANSACTION_TOPIC,
                self._replicas,
                ports.io,
                config.transaction_state_log_load_buffer_size,
            ),
            self._create_marker_sender(),
            self._next_producer_id,
            self._partition_count,
            self._transaction_version,
            self._replicas.log_manager.sliced,
        )

    def begun_coordinator(self) -> TransactionCoordinator:
        """Return the coordinator, and create it at the first call."""
        return self.coordinator

    def _transaction_version(self) -> int:
        """Return the finalized feature level of `transaction.version`, 0 if there is none."""
        return self._metadata.image.features.get(TRANSACTION_VERSION, 0)

    def _create_marker_sender(self) -> MarkerSender:
        """Create the sender of markers; its modules load now."""
        from broker.transactions.marker_sender import MarkerSender

        own = own_principal(self._config.inter_broker_security)
        refusals = NodeRefusals(own, self._ports.between_nodes.monotonic_ms)
        self._sender = MarkerSender(
            self._ports.between_nodes,
            self._ports.network,
            self._config.node_id,
            self._leader_of,
            self._write_markers,
            self._config.request_timeout_ms,
            refusals.refused,
        )
        return self._sender

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """Load `partition` of `__transaction_state`, which this broker leads now."""
        self.coordinator.on_elected(partition, leader_epoch)

    def on_resigned(self, partition: int) -> None:
        """Unload `partition`, which this broker does not lead any more."""
        if self._coordinates:
            self.coordinator.on_resigned(partition)

    def metadata_changed(self) -> None:
        """Send waiting markers to new leaders, and fail verifications that wait for a broker that
        no longer coordinates them."""
        if self._coordinates:
            self.coordinator.metadata_changed()
        if self._verifies:
            self._verifier.metadata_changed()

    @property
    def unknown_destination_count(self) -> int:
        """The number of decided transactions with partitions whose leader is unknown."""
        return self._sender.unknown_destination_count if self._sender is not None else 0

    def shutdown(self) -> None:
        """Answer all waiting requests, and send nothing more."""
        if self._coordinates:
            self.coordinator.shutdown()
        if self._verifies:
            self._verifier.shutdown()

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that holds `transactional_id`."""
        return partition_for(transactional_id, self._partition_count())

    def serves(self, transactional_id: str) -> bool:
        """Return whether this broker's coordinator serves `transactional_id`."""
        return self._coordinates and self.coordinator.serves(transactional_id)

    # -- leaders ---------------------------------------------------------------------------------

    def _leader_of(self, partition: TopicPartition) -> Leader | NoLeaderReason:
        """Return a partition's leader.

        FOR_GOOD: the partition is deleted; FOR_NOW: it has no reachable leader.
        """
        from broker.transactions.marker_sender import NoLeaderReason

        topic = self._metadata.image.topics.get(partition.topic)
        registration = None if topic is None else topic.partitions.get(partition.partition)
        if registration is None:
            return NoLeaderReason.FOR_GOOD
        address = self._endpoint_of(registration.leader)
        return NoLeaderReason.FOR_NOW if address is None else (registration.leader, *address)

    def _coordinator_of(self, transactional_id: str) -> Leader | None:
        """Return the leader that coordinates this id, or None if it is not known or reachable."""
        partition = self.partition_for(transactional_id)
        image = self._metadata.image
        return leader_address(image, self._endpoint_of, TRANSACTION_TOPIC, partition)

    # -- requests to this broker itself ----------------------------------------------------------

    @cached_property
    def _local_api(self) -> TransactionsApi:
        """The transaction APIs of this broker, for its own partition leaders."""
        from broker.apis.transactions import TransactionsApi

        answers = SlicedAnswers(self._replicas.log_manager.sliced)
        return TransactionsApi(self._metadata, self.coordinator, self._group_partition_for, answers)

    # -- verification for partition leaders --------------------------------------------------------

    @cached_property
    def _verifier(self) -> AddPartitionsToTxnManager:
        """The verifier of transactional appends; its modules load with the first use."""
        from broker.verification.add_partitions_to_txn_manager import AddPartitionsToTxnManager

        self._verifies = True
        return AddPartitionsToTxnManager(
            self._config,
            self._ports.network,
            self._coordinator_of,
            lambda *arguments: self._local_api.ask_here(*arguments),
        )

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: PartitionErrorsCallback,
    ) -> None:
        """Ask the coordinator to add partitions to a transaction, or to verify that they are in it.
        Call `done` once with the errors by partition."""
        self._verifier.add_or_verify(
            transactional_id, producer_id, producer_epoch, partitions, operation, done
        )
