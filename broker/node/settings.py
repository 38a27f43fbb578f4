"""The settings of the controller and the log cleaner, taken from the server's configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from broker.config.endpoints import parse_servers
from broker.config.group_configs import group_config_fault
from broker.config.values import BrokerConfig
from controller.hosting_limit import HostingLimit
from controller.metadata.delegation_token import TokenKey
from controller.raft.quorum_voters import KNOWN_KRAFT_VERSIONS
from controller.settings import ControllerSettings
from controller.storage_format import LogDirectories
from controller.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from storage.cleaning.cleaner_ports import CleanerSettings
from storage.log.descriptors import Descriptors, default_reserve

if TYPE_CHECKING:
    from controller.policies import Policies


def _own_voter(config: BrokerConfig, directory_id: bytes) -> Voter | None:
    """Return the node as a voter, with the endpoints that it advertises; None if it is no
    controller."""
    if not config.is_controller:
        return None
    endpoints = tuple(
        VoterEndpoint(listener.listener_name, listener.host or "localhost", listener.port)
        for listener in config.advertised_controller_listeners
    )
    return Voter(ReplicaKey(config.node_id, directory_id), endpoints, KNOWN_KRAFT_VERSIONS)


def controller_settings(
    config: BrokerConfig,
    storage: LogDirectories,
    descriptors: Descriptors,
    refused_by: Callable[[int, str], None],
    why_no_connection: Callable[[str, int], str],
    policies: Policies | None = None,
) -> ControllerSettings:
    """Return the controller's settings. `refused_by` runs when a voter denies this node its part in
    the quorum; `why_no_connection` explains a failed connection to a voter."""
    return ControllerSettings(
        node_id=config.node_id,
        cluster_id=storage.cluster_id,
        directory_id=storage.directory_ids[config.metadata_log_dir],
        metadata_log_dir=config.metadata_log_dir,
        static_voters=VoterSet.static(
            {voter.node_id: (voter.host, voter.port) for voter in config.controller_quorum_voters},
            next(iter(config.controller_listener_names), ""),
        ),
        bootstrap_servers=tuple(parse_servers(config.controller_quorum_bootstrap_servers)),
        own_voter=_own_voter(config, storage.directory_ids[config.metadata_log_dir]),
        auto_join=config.controller_quorum_auto_join_enable,
        quorum_request_timeout_ms=config.controller_quorum_request_timeout_ms,
        quorum_retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
        quorum_fetch_max_bytes=config.controller_quorum_fetch_max_bytes,
        quorum_fetch_snapshot_max_bytes=config.controller_quorum_fetch_snapshot_max_bytes,
        refused_by=refused_by,
        why_no_connection=why_no_connection,
        controller_listener_name=next(iter(config.controller_listener_names), ""),
        default_replication_factor=config.default_replication_factor,
        num_partitions=config.num_partitions,
        delete_topic_enable=config.delete_topic_enable,
        hosting=HostingLimit(
            config.node_id,
            lambda: descriptors.logs_max,
            descriptors.limit,
            descriptors.limit_for,
        ),
        server_config=config.originals,
        check_group_config=partial(group_config_fault, config),
        policies=policies,
        broker_session_timeout_ms=config.broker_session_timeout_ms,
        broker_heartbeat_interval_ms=config.broker_heartbeat_interval_ms,
        leader_imbalance_check_interval_ms=_leader_imbalance_check_ms(config),
        unclean_leader_election_interval_ms=config.unclean_leader_election_interval_ms,
        token_key=token_key(config),
        delegation_token_max_lifetime_ms=config.delegation_token_max_lifetime_ms,
        delegation_token_expiry_time_ms=config.delegation_token_expiry_time_ms,
        delegation_token_expiry_check_interval_ms=config.delegation_token_expiry_check_interval_ms,
        quorum_election_timeout_ms=config.controller_quorum_election_timeout_ms,
        quorum_fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
        quorum_election_backoff_max_ms=config.controller_quorum_election_backoff_max_ms,
        metadata_log_segment_bytes=config.metadata_log_segment_bytes,
        metadata_log_segment_ms=config.metadata_log_segment_ms,
        metadata_log_max_record_bytes_between_snapshots=(
            config.metadata_log_max_record_bytes_between_snapshots
        ),
        metadata_log_max_snapshot_interval_ms=config.metadata_log_max_snapshot_interval_ms,
        metadata_max_idle_interval_ms=_metadata_max_idle_ms(config),
    )


def _leader_imbalance_check_ms(config: BrokerConfig) -> int:
    """Return the interval of the check; 0 if leaders are not rebalanced."""
    if not config.auto_leader_rebalance_enable:
        return 0
    return config.leader_imbalance_check_interval_seconds * 1000


def _metadata_max_idle_ms(config: BrokerConfig) -> int:
    """Return the interval in ms of no-op records; 0 if no node can follow this controller."""
    return config.metadata_max_idle_interval_ms if config.opens_controller_listeners else 0


def token_key(config: BrokerConfig) -> TokenKey | None:
    """Return the key of delegation tokens; None if the node has no tokens."""
    secret = config.originals.get("delegation.token.secret.key")
    return TokenKey(secret) if secret else None


def new_descriptors(config: BrokerConfig, limit: int) -> Descriptors:
    """Return how a process that may open `limit` files divides its file descriptors."""
    reserved = config.ottla_reserved_file_descriptors
    return Descriptors(limit, default_reserve if reserved < 0 else lambda _limit: reserved)


def cleaner_settings(config: BrokerConfig) -> CleanerSettings:
    """Return the log cleaner's settings."""
    return CleanerSettings(
        config.log_cleaner_enable,
        config.log_cleaner_threads,
        config.log_cleaner_dedupe_buffer_size,
        config.log_cleaner_io_buffer_size,
        config.log_cleaner_io_buffer_load_factor,
        config.log_cleaner_io_max_bytes_per_second,
        config.log_cleaner_backoff_ms,
    )
