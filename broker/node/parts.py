"""The parts of a broker, each with its collaborators.

`broker_parts` creates them in order, since each part uses earlier ones; the functions below it
create one part each. The coordinators also send requests to their own broker, so the table of its
APIs exists first and is filled last (`broker.node.apis`). Never starts anything:
`broker.node.broker_server` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from broker.apis.auto_topic_creation import (
    OFFSETS_TOPIC,
    SHARE_TOPIC,
    TRANSACTION_TOPIC,
    AutoTopicCreation,
)
from broker.apis.cluster_view import ImageSource
from broker.apis.producer_id_manager import ProducerIdManager
from broker.config.own_principal import own_principal
from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from broker.groups.consumer.topic_names import TopicNames
from broker.groups.group_coordinator import GroupCoordinator
from broker.node.consumer_assignors import assignors_of_node
from broker.node.control.lifecycle import BrokerLifecycle
from broker.node.control.to_controller import NodeToController, Refuse
from broker.node.dead_letters import NodeDeadLetters
from broker.node.settings import cleaner_settings
from broker.node.share_fetching import NodeShareFetching
from broker.node.shared_server import SharedServer
from broker.node.shares import NodeShares
from broker.node.transactions import NodeTransactions
from broker.replication.alter_partition_manager import AlterPartitionManager
from broker.replication.assignments_manager import AssignmentsManager
from broker.replication.partition import Partition
from broker.replication.replica_fetcher_manager import ReplicaFetcherManager
from broker.replication.replica_homes import ReplicaHomes
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import RequestContext, Respond
from broker.requests.request_handler import RequestHandler
from broker.verification.append_verification import AppendVerification
from controller.authorization.rights import UNLIMITED
from controller.metadata.image import MetadataImage
from controller.node_refusals import NodeRefusals
from ground.sliced_work import SlicedWork
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from storage.cleaning.log_cleaner import LogCleaner


@dataclass(frozen=True, slots=True)
class BrokerParts:
    """The parts of a broker."""

    shared: SharedServer
    metadata: ImageSource
    lifecycle: BrokerLifecycle
    replicas: ReplicaManager
    fetchers: ReplicaFetcherManager | None
    """None if there are no other nodes."""
    groups: GroupCoordinator
    transactions: NodeTransactions
    shares: NodeShares
    dead_letters: NodeDeadLetters
    share_fetching: NodeShareFetching
    verification: AppendVerification
    producer_ids: ProducerIdManager
    forwarding: NodeToController
    """Forwards clients' requests that the controller answers."""
    topic_creation: AutoTopicCreation
    cleaner: LogCleaner
    names: SlicedWork
    """Searches for the names that match clients' expressions; their jobs wait for no other jobs."""


class _ToController(NamedTuple):
    """The senders to the controller: one for each kind of traffic, so that none waits."""

    alter_partitions: NodeToController
    assignments: NodeToController
    producer_ids: NodeToController
    forwarding: NodeToController
    heartbeats: NodeToController


def broker_parts(shared: SharedServer, requests: RequestHandler) -> BrokerParts:
    """Create all parts of a broker; `requests` will serve its APIs."""
    config, ports = shared.config, shared.ports
    to_controller = _to_controller(shared, requests.refusal)
    lifecycle = _lifecycle(shared, to_controller.heartbeats)
    replicas = ReplicaManager(
        config,
        shared.logs,
        ports.scheduler,
        ports.random_bytes,
        shared.metrics,
        ports.between_nodes,
    )
    fetchers = _replicate(shared, replicas, lifecycle, to_controller)
    producer_ids = ProducerIdManager(
        ports.between_nodes,
        config.node_id,
        partial(_broker_epoch, lifecycle),
        to_controller.producer_ids.send,
        config.queued_max_requests,
    )
    transactions = _transactions(shared, requests, replicas, producer_ids)
    verification = AppendVerification(
        transactions, config.transaction_partition_verification_enable
    )
    names = SlicedWork(ports.scheduler, ports.background, 0)
    forwarding = to_controller.forwarding
    topic_creation = AutoTopicCreation(config, forwarding.forward, forwarding.send)
    shares = _shares(shared, requests, replicas, topic_creation)
    groups = _groups(shared, replicas, verification, names, shares)
    dead_letters = NodeDeadLetters(
        shared, replicas, forwarding.send, partial(_ask_itself, config, requests)
    )
    share_fetching = NodeShareFetching(
        config,
        shared.controller,
        replicas,
        lambda: shares.persister,
        lambda: dead_letters.bury,
    )
    replicas.on_leadership(partial(_leadership_changed, groups, transactions, shares))
    return BrokerParts(
        shared=shared,
        metadata=shared.controller,
        lifecycle=lifecycle,
        replicas=replicas,
        fetchers=fetchers,
        groups=groups,
        transactions=transactions,
        shares=shares,
        dead_letters=dead_letters,
        share_fetching=share_fetching,
        verification=verification,
        producer_ids=producer_ids,
        forwarding=forwarding,
        topic_creation=topic_creation,
        cleaner=_cleaner(shared),
        names=names,
    )


# --- controller ------------------------------------------------------------------------------


def _to_controller(shared: SharedServer, refuse: Refuse) -> _ToController:
    """Create the channels to the controller, so that a slow request delays none of another kind."""
    # The controller fences a broker that has sent no heartbeat for twice this time (Kafka's
    # BrokerServer). The next heartbeat is sent before that.
    heartbeat_ms = shared.config.broker_session_timeout_ms // 2
    return _ToController(
        alter_partitions=shared.to_controller(refuse),
        assignments=shared.to_controller(refuse),
        producer_ids=shared.to_controller(refuse),
        forwarding=shared.to_controller(refuse),
        heartbeats=shared.to_controller(refuse, heartbeat_ms),
    )


def _lifecycle(shared: SharedServer, heartbeats: NodeToController) -> BrokerLifecycle:
    return BrokerLifecycle(
        shared.config,
        heartbeats.send,
        shared.ports.between_nodes,
        shared.metadata_offset,
        shared.offline_log_dir_ids,
        shared.ports.halt,
        shared.incarnation_of_broker,
    )


def _broker_epoch(lifecycle: BrokerLifecycle) -> int:
    return lifecycle.epoch


# --- replication -----------------------------------------------------------------------------


def _replicate(
    shared: SharedServer,
    replicas: ReplicaManager,
    lifecycle: BrokerLifecycle,
    to_controller: _ToController,
) -> ReplicaFetcherManager | None:
    """Connect the replicas with the controller, and return the fetchers for other brokers.

    Return None if there are no other nodes.
    """
    config, ports = shared.config, shared.ports
    broker_epoch = partial(_broker_epoch, lifecycle)
    replicas.leader_view.propose_to(
        AlterPartitionManager(
            ports.between_nodes, to_controller.alter_partitions.send, config.node_id, broker_epoch
        )
    )
    directory_ids = {path: shared.storage.directory_ids[path] for path in config.log_dirs}
    assignments = AssignmentsManager(
        ports.between_nodes,
        to_controller.assignments.send,
        config.node_id,
        broker_epoch,
        directory_ids,
    )
    homes = ReplicaHomes(config.node_id, shared.logs, directory_ids, assignments)
    replicas.assign_with(assignments, homes)
    if ports.network is None:
        return None
    refusals = NodeRefusals(
        own_principal(config.inter_broker_security), ports.between_nodes.monotonic_ms
    )
    return ReplicaFetcherManager(
        config,
        ports.network,
        ports.between_nodes,
        replicas,
        shared.endpoint_of,
        shared.metrics,
        broker_epoch,
        refusals.refused,
        ports.tracer,
    )


# --- coordinators ----------------------------------------------------------------------------


def _transactions(
    shared: SharedServer,
    requests: RequestHandler,
    replicas: ReplicaManager,
    producer_ids: ProducerIdManager,
) -> NodeTransactions:
    """Create the transaction parts, which load their modules at the first use."""
    config = shared.config
    return NodeTransactions(
        config,
        shared.ports,
        shared.controller,
        replicas,
        producer_ids.next_id,
        partial(
            _partition_count,
            shared,
            TRANSACTION_TOPIC,
            config.transaction_state_log_num_partitions,
        ),
        partial(_offsets_partition, shared),
        shared.endpoint_of,
        partial(_ask_itself, config, requests),
    )


def _shares(
    shared: SharedServer,
    requests: RequestHandler,
    replicas: ReplicaManager,
    topic_creation: AutoTopicCreation,
) -> NodeShares:
    """Create the share-group parts, which load their modules at the first use."""
    config = shared.config
    return NodeShares(
        config,
        shared.ports,
        shared.controller,
        replicas,
        partial(
            _partition_count,
            shared,
            SHARE_TOPIC,
            config.share_coordinator_state_topic_num_partitions,
        ),
        shared.endpoint_of,
        topic_creation.create_internal,
        partial(_ask_itself, config, requests),
    )


def _groups(
    shared: SharedServer,
    replicas: ReplicaManager,
    verification: AppendVerification,
    names: SlicedWork,
    shares: NodeShares,
) -> GroupCoordinator:
    """Create the group coordinator with its log of `__consumer_offsets`. Raises ConfigError if an
    assignor is wrong."""
    config, ports = shared.config, shared.ports
    log = ReplicaCoordinatorLog(
        OFFSETS_TOPIC,
        replicas,
        ports.io,
        config.offsets_load_buffer_size,
        config.offsets_topic_compression_codec,
        verification,
    )
    return GroupCoordinator(
        config,
        ports.scheduler,
        log,
        ports.random_bytes,
        partial(_offsets_partitions, shared),
        _consumer_surroundings(shared, names),
        lambda: shares.group_ports,
        shared.logs.sliced,
    )


def _consumer_surroundings(shared: SharedServer, names: SlicedWork) -> ConsumerGroupInputs:
    """Return the configuration, metadata, assignors and topic search of consumer groups. Raises
    ConfigError if an assignor is wrong."""
    config, image = shared.config, partial(_image, shared)
    assignors = assignors_of_node(config, shared.ports.plugins, shared.logs.sliced, image)
    topic_names = TopicNames(names, config.ottla_regex_max_steps)
    in_force = partial(_config_in_force, shared)
    return ConsumerGroupInputs(config, in_force, image, assignors, topic_names)


def _config_in_force(shared: SharedServer) -> BrokerConfig:
    return shared.reconfiguration.config


def _image(shared: SharedServer) -> MetadataImage:
    return shared.image


def _ask_itself(
    config: BrokerConfig, requests: RequestHandler, request: Any, respond: Respond
) -> None:
    """Answer a coordinator's request on this broker, as another broker would."""
    key = ApiKey(request.API_KEY)
    context = RequestContext(
        api_key=key,
        api_version=STABLE_VERSIONS[key][1],
        correlation_id=0,
        client_id=f"broker-{config.node_id}",
        client_host="",
        listener_name=config.inter_broker_listener_name,
        connection_id="",
        rights=UNLIMITED,
    )
    requests.apis[key].handle(context, request, respond)


def _offsets_partition(shared: SharedServer, group_id: str) -> int:
    """Return the partition of `__consumer_offsets` that holds a group."""
    return partition_for(group_id, _offsets_partitions(shared))


def _offsets_partitions(shared: SharedServer) -> int:
    """Return the number of partitions of `__consumer_offsets`, or of those it will have."""
    return _partition_count(shared, OFFSETS_TOPIC, shared.config.offsets_topic_num_partitions)


def _partition_count(shared: SharedServer, topic: str, at_creation: int) -> int:
    """Return the partition count of an internal topic, or `at_creation` if it does not exist."""
    topic_image = shared.image.topics.get(topic)
    return at_creation if topic_image is None else len(topic_image.partitions)


def _leadership_changed(
    groups: GroupCoordinator,
    transactions: NodeTransactions,
    shares: NodeShares,
    partition: Partition,
    leads: bool,
) -> None:
    """Load or unload the coordinator's partition that this broker leads now, or no longer leads.
    Does nothing for other topics than the coordinators'."""
    coordinator: GroupCoordinator | NodeTransactions | NodeShares
    if partition.topic == OFFSETS_TOPIC:
        coordinator = groups
    elif partition.topic == TRANSACTION_TOPIC:
        coordinator = transactions
    elif partition.topic == SHARE_TOPIC:
        coordinator = shares
    else:
        return
    if leads:
        coordinator.on_elected(partition.index, partition.leader_epoch)
    else:
        coordinator.on_resigned(partition.index)


# --- compaction ------------------------------------------------------------------------------


def _cleaner(shared: SharedServer) -> LogCleaner:
    """Return the log cleaner, which uses background threads if it has no process of its own."""
    runner = shared.ports.cleaner
    if runner is None:
        # Nodes with a cleaner process do not load this module.
        from storage.cleaning.inline_cleaner import InlineRunner

        runner = InlineRunner(shared.environment)
    return LogCleaner(
        shared.environment,
        shared.logs,
        cleaner_settings(shared.config),
        runner,
        shared.logs.upkeep.checkpoint_recovery_points,
        shared.logs.sliced,
    )
