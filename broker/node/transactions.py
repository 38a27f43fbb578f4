"""The transactions' part of a broker, put together when it is needed first.

Many brokers never see a transaction, so nothing of it is loaded at the start: the coordinator comes
with the first partition of `__transaction_state` that is led here, or with the first request for
it; what leaders ask of coordinators with the first transactional batch.

Owns how these parts reach the rest of the node. Never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from broker.apis.auto_topic_creation import TRANSACTION_TOPIC
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.requests.context import RequestContext
from controller.metadata.version import TRANSACTION_VERSION
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from storage.topic_partition import TopicPartition

if TYPE_CHECKING:
    from broker.apis.transactions import TransactionsApi
    from broker.node.broker_server import BrokerServer
    from broker.transactions.marker_sender import Leader, MarkerSender, NoLeader
    from broker.transactions.transaction_coordinator import TransactionCoordinator
    from broker.verification.add_partitions_to_txn_manager import AddPartitionsToTxnManager
    from broker.verification.transaction_verification import (
        TransactionSupportedOperation,
        Verified,
    )
    from protocol.errors import ErrorCode
    from protocol.messages.write_txn_markers import (
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponse,
    )


class NodeTransactions:
    """See the module. A `TransactionVerifier` for the leaders of this broker."""

    def __init__(self, node: BrokerServer) -> None:
        self._node = node
        self._coordinates = False
        self._verifies = False
        self._sender: MarkerSender | None = None

    # -- the coordinator -------------------------------------------------------------------------

    @cached_property
    def coordinator(self) -> TransactionCoordinator:
        """The transaction coordinator of this broker."""
        # These are not loaded by a broker without transactions.
        from broker.transactions.transaction_config import TransactionConfig
        from broker.transactions.transaction_coordinator import TransactionCoordinator

        self._coordinates = True
        node = self._node
        config, ports = node.config, node.ports
        return TransactionCoordinator(
            TransactionConfig.of(config),
            ports.scheduler,
            ReplicaCoordinatorLog(
                TRANSACTION_TOPIC,
                node.replicas,
                ports.io,
                config.transaction_state_log_load_buffer_size,
            ),
            self._markers(),
            node.producer_ids.next_id,
            self._partition_count,
            lambda: node.image.features.get(TRANSACTION_VERSION, 0),
        )

    def _markers(self) -> MarkerSender:
        from broker.transactions.marker_sender import MarkerSender

        node = self._node
        self._sender = MarkerSender(
            node.ports.scheduler,
            node.ports.network,
            node.config.node_id,
            self._leader_of,
            self._write_markers_here,
            node.config.request_timeout_ms,
        )
        return self._sender

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """This broker leads `partition` of `__transaction_state` now."""
        self.coordinator.on_elected(partition, leader_epoch)

    def on_resigned(self, partition: int) -> None:
        """This broker does not lead `partition` any more."""
        if self._coordinates:
            self.coordinator.on_resigned(partition)

    def metadata_changed(self) -> None:
        """Leaders may have moved."""
        if self._coordinates:
            self.coordinator.metadata_changed()

    @property
    def unknown_destination_count(self) -> int:
        """Decided transactions with partitions whose leader is not known."""
        return self._sender.unknown_destination_count if self._sender is not None else 0

    def shutdown(self) -> None:
        """Answer whoever waits; send nothing more."""
        if self._coordinates:
            self.coordinator.shutdown()
        if self._verifies:
            self._verifier.shutdown()

    def partition_for(self, transactional_id: str) -> int:
        """The partition of `__transaction_state` that holds `transactional_id`."""
        return partition_for(transactional_id, self._partition_count())

    def serves(self, transactional_id: str) -> bool:
        """Whether this broker's coordinator answers for `transactional_id`."""
        return self._coordinates and self.coordinator.serves(transactional_id)

    def _partition_count(self) -> int:
        topic = self._node.image.topics.get(TRANSACTION_TOPIC)
        if topic is None:
            count: int = self._node.config.transaction_state_log_num_partitions
            return count
        return len(topic.partitions)

    # -- who leads what --------------------------------------------------------------------------

    def _leader_of(self, partition: TopicPartition) -> Leader | NoLeader:
        from broker.transactions.marker_sender import NoLeader

        topic = self._node.image.topics.get(partition.topic)
        registration = None if topic is None else topic.partitions.get(partition.partition)
        if registration is None:
            return NoLeader.FOR_GOOD
        address = self._node.endpoint_of(registration.leader)
        return NoLeader.FOR_NOW if address is None else (registration.leader, *address)

    def _coordinator_of(self, transactional_id: str) -> Leader | None:
        topic = self._node.image.topics.get(TRANSACTION_TOPIC)
        registration = topic and topic.partitions.get(self.partition_for(transactional_id))
        address = registration and self._node.endpoint_of(registration.leader)
        return (registration.leader, *address) if registration and address else None

    # -- requests to this broker itself ----------------------------------------------------------

    def _write_markers_here(
        self,
        request: WriteTxnMarkersRequest,
        respond: Callable[[WriteTxnMarkersResponse], None],
    ) -> None:
        self._ask_here(ApiKey.WRITE_TXN_MARKERS, request, respond)

    @cached_property
    def _local_api(self) -> TransactionsApi:
        from broker.apis.transactions import TransactionsApi

        return TransactionsApi(self._node, self.coordinator, self._node.groups.partition_for)

    def _add_partitions_here(
        self,
        transactional_id: str,
        identity: tuple[int, int],
        partitions: Sequence[TopicPartition],
        verify_only: bool,
        done: Callable[[Mapping[TopicPartition, ErrorCode]], None],
    ) -> None:
        self._local_api.ask_here(transactional_id, identity, partitions, verify_only, done)

    def _ask_here(self, key: ApiKey, request: object, respond: Callable[..., None]) -> None:
        config = self._node.config
        listener = config.inter_broker_listener_name
        context = RequestContext(
            key, STABLE_VERSIONS[key][1], 0, f"broker-{config.node_id}", "", listener, ""
        )
        self._node.requests.apis[key].handle(context, request, respond)

    # -- what leaders ask of coordinators ----------------------------------------------------------

    @cached_property
    def _verifier(self) -> AddPartitionsToTxnManager:
        from broker.verification.add_partitions_to_txn_manager import AddPartitionsToTxnManager

        self._verifies = True
        return AddPartitionsToTxnManager(
            self._node.config,
            self._node.ports.network,
            self._coordinator_of,
            self._add_partitions_here,
        )

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: Verified,
    ) -> None:
        """See `TransactionVerifier`."""
        self._verifier.add_or_verify(
            transactional_id, producer_id, producer_epoch, partitions, operation, done
        )
