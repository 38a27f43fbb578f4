"""The configuration of a node in force: a typed attribute for each key that some module reads.

`num.network.threads` is `config.num_network_threads`. Durations end in their unit (`_ms`,
`_seconds`, `_minutes`, `_hours`), sizes in `_bytes`. A key that depends on several keys (`log.dirs`
on `log.dir`, `log.retention.ms` on hours) has the value in force. All other keys are checked when
the configuration is created, and are in `originals` if they are set.

It parses and checks nothing (`broker.config.parse`, `checks`), and never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.endpoints import EndPoint, ListenerLimits, QuorumVoter
from broker.config.keys import is_sensitive
from broker.config.listener_security import ClientSecurity, ListenerSecurity
from ground.config_def import ConfigValue


class Originals(dict[str, str]):
    """The texts that are set, by Kafka's names. `repr` hides secrets."""

    def __repr__(self) -> str:
        """Return the dict as text, with secrets hidden."""
        return repr({name: shown(name, text) for name, text in self.items()})


def shown(name: str, text: str) -> str:
    """Return the value in a form that may be printed: `[hidden]` for a secret or an unknown key."""
    return "[hidden]" if is_sensitive(name) else text


class BrokerConfig(NamedTuple):
    """The configuration of a node; None only where Kafka's default is null.

    It is no dataclass, because with so many attributes that costs some milliseconds at each start.
    """

    originals: Mapping[str, str]
    """The texts that are set, by Kafka's names, with those of a profile."""
    profile_name: str | None
    """The name of the profile whose values are the defaults; None with a file."""
    warnings: tuple[str, ...]
    """Lines for the log at the start: warnings about the file, and keys without effect."""
    topic_defaults: Mapping[str, ConfigValue]
    """This server's defaults of topic configs, by topic config name."""

    listeners: tuple[EndPoint, ...]
    """The endpoints that this node binds, including controller listeners."""
    advertised_listeners: tuple[EndPoint, ...]
    """The endpoints for clients, without controller listeners. A host may be None, see EndPoint."""
    advertised_controller_listeners: tuple[EndPoint, ...]
    """The endpoints of this node's controller for other nodes and tools; hosts as above."""
    client_quota_callback_class: str | None
    controller_quota_window_num: int
    controller_quota_window_size_seconds: int
    inter_broker_listener_name: str
    controller_quorum_voters: tuple[QuorumVoter, ...]
    """The configured voters; empty until found if only the bootstrap servers are configured."""
    log_dirs: tuple[str, ...]
    """The folders of logs as written; the caller makes them absolute."""
    metadata_log_dir: str
    """The folder of `__cluster_metadata`: `metadata.log.dir`, or else the first of `log.dirs`."""
    log_retention_ms: int
    log_roll_ms: int
    log_roll_jitter_ms: int
    max_connections_per_ip_overrides: Mapping[str, int]
    listener_security: Mapping[str, ListenerSecurity]
    """The security of each of `listeners`, by its name."""
    listener_limits: Mapping[str, ListenerLimits]
    """The listeners' own limits by listener name; listeners without any are left out."""
    inter_broker_security: ClientSecurity
    """The security of this node's connections to brokers."""
    controller_security: ClientSecurity
    """The security of this node's connections to controllers."""

    @property
    def is_broker(self) -> bool:
        """Whether this node serves clients."""
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        """Whether this node is a controller."""
        return "controller" in self.process_roles

    @property
    def controller_listeners(self) -> tuple[EndPoint, ...]:
        """The controller listeners among `listeners`."""
        names = self.controller_listener_names
        return tuple(listener for listener in self.listeners if listener.listener_name in names)

    @property
    def opens_controller_listeners(self) -> bool:
        """Whether other nodes can reach the controller of this node.

        They cannot if nothing is set: `single_node_profile` has a controller listener, as a
        controller needs one, but without a port that another node could use.
        """
        voters = [(voter.node_id, voter.port) for voter in self.controller_quorum_voters]
        is_made_up = self.profile_name is not None and voters == [(self.node_id, 0)]
        return self.is_controller and not is_made_up

    @property
    def broker_listeners(self) -> tuple[EndPoint, ...]:
        """The listeners among `listeners` for clients and brokers."""
        names = self.controller_listener_names
        return tuple(listener for listener in self.listeners if listener.listener_name not in names)

    @property
    def is_secured(self) -> bool:
        """Whether any listener, or a connection to another node, uses TLS or SASL."""
        protocols = [security.security_protocol for security in self.listener_security.values()]
        protocols.append(self.inter_broker_security.security_protocol)
        protocols.append(self.controller_security.security_protocol)
        return any(protocol != "PLAINTEXT" for protocol in protocols)

    # --- one attribute for each key --------------------------------------------------------------

    add_partitions_to_txn_retry_backoff_max_ms: int
    add_partitions_to_txn_retry_backoff_ms: int
    auto_create_topics_enable: bool
    auto_leader_rebalance_enable: bool
    background_threads: int
    broker_heartbeat_interval_ms: int
    broker_id: int
    broker_rack: str | None
    broker_session_timeout_ms: int
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    connection_failed_authentication_delay_ms: int
    connections_max_idle_ms: int
    controller_listener_names: tuple[str, ...]
    controller_quorum_auto_join_enable: bool
    controller_quorum_bootstrap_servers: tuple[str, ...]
    controller_quorum_election_backoff_max_ms: int
    controller_quorum_election_timeout_ms: int
    controller_quorum_fetch_max_bytes: int
    controller_quorum_fetch_snapshot_max_bytes: int
    controller_quorum_fetch_timeout_ms: int
    controller_quorum_request_timeout_ms: int
    controller_quorum_retry_backoff_ms: int
    default_replication_factor: int
    delegation_token_expiry_check_interval_ms: int
    delegation_token_expiry_time_ms: int
    delegation_token_max_lifetime_ms: int
    delete_topic_enable: bool
    errors_deadletterqueue_auto_create_topics_enable: bool
    errors_deadletterqueue_topic_name_prefix: str
    fetch_max_bytes: int
    group_consumer_assignment_interval_ms: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_heartbeat_interval_ms: int
    group_consumer_max_size: int
    group_consumer_migration_policy: str
    group_consumer_regex_refresh_interval_ms: int
    group_consumer_session_timeout_ms: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_initial_rebalance_delay_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_min_session_timeout_ms: int
    group_share_assignment_interval_ms: int
    group_share_assignors: tuple[str, ...]
    group_share_delivery_count_limit: int
    group_share_heartbeat_interval_ms: int
    group_share_initialize_retry_interval_ms: int
    group_share_max_share_sessions: int
    group_share_max_size: int
    group_share_partition_max_record_locks: int
    group_share_record_lock_duration_ms: int
    group_share_session_timeout_ms: int
    leader_imbalance_check_interval_seconds: int
    log_cleaner_backoff_ms: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_enable: bool
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_buffer_size: int
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_threads: int
    log_dir_failure_timeout_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_initial_task_delay_ms: int
    log_retention_check_interval_ms: int
    max_connection_creation_rate: int
    max_connections: int
    max_connections_per_ip: int
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int
    metadata_log_max_record_bytes_between_snapshots: int
    metadata_log_max_snapshot_interval_ms: int
    metadata_log_segment_bytes: int
    metadata_log_segment_ms: int
    metadata_max_idle_interval_ms: int
    min_insync_replicas: int
    node_id: int
    num_io_threads: int
    num_network_threads: int
    num_partitions: int
    num_recovery_threads_per_data_dir: int
    num_replica_fetchers: int
    offset_metadata_max_bytes: int
    offsets_commit_timeout_ms: int
    offsets_load_buffer_size: int
    offsets_retention_check_interval_ms: int
    offsets_retention_minutes: int
    offsets_topic_compression_codec: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    process_roles: tuple[str, ...]
    producer_id_expiration_check_interval_ms: int
    producer_id_expiration_ms: int
    queued_max_request_bytes: int
    queued_max_requests: int
    quota_window_num: int
    quota_window_size_seconds: int
    replica_fetch_backoff_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_high_watermark_checkpoint_interval_ms: int
    replica_lag_time_max_ms: int
    replica_selector_class: str | None
    replica_socket_timeout_ms: int
    replication_quota_window_num: int
    replication_quota_window_size_seconds: int
    request_timeout_ms: int
    share_coordinator_cold_partition_snapshot_interval_ms: int
    share_coordinator_load_buffer_size: int
    share_coordinator_snapshot_update_records_per_snapshot: int
    share_coordinator_state_topic_compression_codec: int
    share_coordinator_state_topic_min_isr: int
    share_coordinator_state_topic_num_partitions: int
    share_coordinator_state_topic_prune_interval_ms: int
    share_coordinator_state_topic_replication_factor: int
    share_coordinator_state_topic_segment_bytes: int
    share_coordinator_write_timeout_ms: int
    socket_listen_backlog_size: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_send_buffer_bytes: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_max_timeout_ms: int
    transaction_partition_verification_enable: bool
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_state_log_load_buffer_size: int
    transaction_state_log_min_isr: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_segment_bytes: int
    transactional_id_expiration_ms: int
    unclean_leader_election_interval_ms: int
    allow_everyone_if_no_acl_found: bool
    alter_config_policy_class_name: str | None
    authorizer_class_name: str
    create_topic_policy_class_name: str | None
    super_users: str
    ottla_authentication_failures_logged_per_second: int
    ottla_authentication_timeout_ms: int
    ottla_authorizer_denials_logged_per_second: int
    ottla_log_format: str
    ottla_log_level: str
    ottla_loop_turn_logged_ms: int
    ottla_metadata_answers_max_bytes: int
    ottla_metrics_host: str
    ottla_metrics_internal_topics: bool
    ottla_metrics_names: str
    ottla_metrics_port: int
    ottla_partial_frame_timeout_ms: int
    ottla_plugins_calls_max: int
    ottla_plugins_path: tuple[str, ...]
    ottla_plugins_timeout_ms: int
    ottla_prepared_requests_max_bytes: int
    ottla_produce_interceptor_class: str | None
    ottla_queued_max_request_memory_percent: int
    ottla_queued_max_response_bytes: int
    ottla_quota_clients_max: int
    ottla_regex_max_steps: int
    ottla_requests_turn_ms: int
    ottla_reserved_file_descriptors: int
    ottla_throttled_connections_max: int
    ottla_tls_handshakes_max: int
    ottla_trace_requests: bool
