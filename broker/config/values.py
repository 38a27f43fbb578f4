"""The configuration of one node in force: one typed attribute for each key.

`num.network.threads` is `config.num_network_threads`. Durations end in their unit (`_ms`,
`_seconds`, `_minutes`, `_hours`), sizes in `_bytes`. Keys that are worked out of several
(`log.dirs` of `log.dir`, `log.retention.ms` of hours) have the value in force; those of TLS, SASL
and delegation tokens are known but have no attribute, because nothing reads them.

It parses nothing, checks nothing (`broker.config.parse`, `checks`) and never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.endpoints import EndPoint, QuorumVoter
from storage.config_def import ConfigValue
from storage.log_config import LogConfig


class BrokerConfig(NamedTuple):
    """One node's configuration; None only where Kafka's default is null.

    No dataclass: with so many attributes that takes some milliseconds more at each start.
    """

    originals: Mapping[str, str]
    """What was set, by Kafka's names, a profile's values included."""
    profile_name: str | None
    """The named profile whose values apply below what was set; None for a file."""
    warnings: tuple[str, ...]
    """Lines that a start prints: what was said of the file, and keys of no effect."""
    topic_defaults: Mapping[str, ConfigValue]
    """Defaults of topic configs that this server gives, by topic config name."""
    log_config: LogConfig
    """The log configuration of a topic that overrides nothing."""

    listeners: tuple[EndPoint, ...]
    """What this node binds, controller listeners included."""
    advertised_listeners: tuple[EndPoint, ...]
    """What clients are told; controller listeners left out. A host may be None, see EndPoint."""
    listener_security_protocol_map: Mapping[str, str]
    inter_broker_listener_name: str
    controller_quorum_voters: tuple[QuorumVoter, ...]
    """As set; where only `controller.quorum.bootstrap.servers` is, empty until they are known."""
    log_dirs: tuple[str, ...]
    """Folders of logs, as written; the shell makes them absolute."""
    metadata_log_dir: str
    """The folder of `__cluster_metadata`: `metadata.log.dir`, else the first of `log.dirs`."""
    log_retention_ms: int
    log_roll_ms: int
    log_roll_jitter_ms: int
    log_flush_interval_ms: int
    max_connections_per_ip_overrides: Mapping[str, int]

    @property
    def is_broker(self) -> bool:
        """Whether this node serves clients."""
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        """Whether this node is one of the quorum."""
        return "controller" in self.process_roles

    @property
    def controller_listeners(self) -> tuple[EndPoint, ...]:
        """The part of `listeners` on which controllers talk."""
        names = self.controller_listener_names
        return tuple(one for one in self.listeners if one.listener_name in names)

    @property
    def broker_listeners(self) -> tuple[EndPoint, ...]:
        """The part of `listeners` that clients and brokers connect to."""
        names = self.controller_listener_names
        return tuple(one for one in self.listeners if one.listener_name not in names)

    # --- a key each ------------------------------------------------------------------------------

    add_partitions_to_txn_retry_backoff_max_ms: int
    add_partitions_to_txn_retry_backoff_ms: int
    alter_config_policy_class_name: str | None
    alter_log_dirs_replication_quota_window_num: int
    alter_log_dirs_replication_quota_window_size_seconds: int
    authorizer_class_name: str
    auto_create_topics_enable: bool
    auto_leader_rebalance_enable: bool
    background_threads: int
    broker_heartbeat_interval_ms: int
    broker_id: int
    broker_rack: str | None
    broker_session_timeout_ms: int
    client_quota_callback_class: str | None
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    config_providers: tuple[str, ...]
    connection_failed_authentication_delay_ms: int
    connections_max_idle_ms: int
    connections_max_reauth_ms: int
    controlled_shutdown_enable: bool
    controller_listener_names: tuple[str, ...]
    controller_performance_always_log_threshold_ms: int
    controller_performance_sample_period_ms: int
    controller_quorum_append_linger_ms: int
    controller_quorum_auto_join_enable: bool
    controller_quorum_bootstrap_servers: tuple[str, ...]
    controller_quorum_election_backoff_max_ms: int
    controller_quorum_election_timeout_ms: int
    controller_quorum_fetch_max_bytes: int
    controller_quorum_fetch_snapshot_max_bytes: int
    controller_quorum_fetch_timeout_ms: int
    controller_quorum_request_timeout_ms: int
    controller_quorum_retry_backoff_ms: int
    controller_quota_window_num: int
    controller_quota_window_size_seconds: int
    controller_socket_timeout_ms: int
    cordoned_log_dirs: tuple[str, ...]
    create_topic_policy_class_name: str | None
    default_replication_factor: int
    delete_records_purgatory_purge_interval_requests: int
    delete_topic_enable: bool
    fetch_max_bytes: int
    fetch_purgatory_purge_interval_requests: int
    follower_fetch_last_tiered_offset_enable: bool
    group_consumer_assignment_interval_ms: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_heartbeat_interval_ms: int
    group_consumer_max_assignment_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_max_size: int
    group_consumer_migration_policy: str
    group_consumer_min_assignment_interval_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_regex_refresh_interval_ms: int
    group_consumer_session_timeout_ms: int
    group_coordinator_append_linger_ms: int
    group_coordinator_background_threads: int
    group_coordinator_cached_buffer_max_bytes: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_coordinator_threads: int
    group_initial_rebalance_delay_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_min_session_timeout_ms: int
    group_share_assignment_interval_ms: int
    group_share_assignors: tuple[str, ...]
    group_share_delivery_count_limit: int
    group_share_heartbeat_interval_ms: int
    group_share_initialize_retry_interval_ms: int
    group_share_max_assignment_interval_ms: int
    group_share_max_delivery_count_limit: int
    group_share_max_heartbeat_interval_ms: int
    group_share_max_partition_max_record_locks: int
    group_share_max_record_lock_duration_ms: int
    group_share_max_session_timeout_ms: int
    group_share_max_share_sessions: int
    group_share_max_size: int
    group_share_min_assignment_interval_ms: int
    group_share_min_delivery_count_limit: int
    group_share_min_heartbeat_interval_ms: int
    group_share_min_partition_max_record_locks: int
    group_share_min_record_lock_duration_ms: int
    group_share_min_session_timeout_ms: int
    group_share_partition_max_record_locks: int
    group_share_persister_class_name: str
    group_share_record_lock_duration_ms: int
    group_share_session_timeout_ms: int
    group_streams_assignment_interval_ms: int
    group_streams_heartbeat_interval_ms: int
    group_streams_initial_rebalance_delay_ms: int
    group_streams_max_assignment_interval_ms: int
    group_streams_max_heartbeat_interval_ms: int
    group_streams_max_session_timeout_ms: int
    group_streams_max_size: int
    group_streams_max_standby_replicas: int
    group_streams_min_assignment_interval_ms: int
    group_streams_min_heartbeat_interval_ms: int
    group_streams_min_session_timeout_ms: int
    group_streams_num_standby_replicas: int
    group_streams_session_timeout_ms: int
    initial_broker_registration_timeout_ms: int
    internal_metadata_delete_delay_millis: int
    internal_metadata_log_segment_bytes: int | None
    internal_metadata_max_batch_size_in_bytes: int
    kafka_metrics_polling_interval_secs: int
    kafka_metrics_reporters: tuple[str, ...]
    leader_imbalance_check_interval_seconds: int
    log_cleaner_backoff_ms: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_delete_retention_ms: int
    log_cleaner_enable: bool
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_buffer_size: int
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_max_compaction_lag_ms: int
    log_cleaner_min_cleanable_ratio: float
    log_cleaner_min_compaction_lag_ms: int
    log_cleaner_threads: int
    log_cleanup_policy: tuple[str, ...]
    log_dir_failure_timeout_ms: int
    log_flush_interval_messages: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_index_interval_bytes: int
    log_index_size_max_bytes: int
    log_initial_task_delay_ms: int
    log_local_retention_bytes: int
    log_local_retention_ms: int
    log_message_timestamp_after_max_ms: int
    log_message_timestamp_before_max_ms: int
    log_message_timestamp_type: str
    log_preallocate: bool
    log_retention_bytes: int
    log_retention_check_interval_ms: int
    log_retention_hours: int
    log_retention_minutes: int | None
    log_roll_hours: int
    log_roll_jitter_hours: int
    log_segment_bytes: int
    log_segment_delete_delay_ms: int
    max_connection_creation_rate: int
    max_connections: int
    max_connections_per_ip: int
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int
    message_max_bytes: int
    metadata_log_max_record_bytes_between_snapshots: int
    metadata_log_max_snapshot_interval_ms: int
    metadata_log_segment_bytes: int
    metadata_log_segment_ms: int
    metadata_max_idle_interval_ms: int
    metadata_max_retention_bytes: int
    metadata_max_retention_ms: int
    metric_reporters: tuple[str, ...]
    metrics_num_samples: int
    metrics_recording_level: str
    metrics_sample_window_ms: int
    min_insync_replicas: int
    node_id: int
    num_io_threads: int
    num_network_threads: int
    num_partitions: int
    num_recovery_threads_per_data_dir: int
    num_replica_alter_log_dirs_threads: int | None
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
    principal_builder_class: str
    process_roles: tuple[str, ...]
    producer_id_expiration_check_interval_ms: int
    producer_id_expiration_ms: int
    producer_purgatory_purge_interval_requests: int
    queued_max_request_bytes: int
    queued_max_requests: int
    quota_window_num: int
    quota_window_size_seconds: int
    remote_fetch_max_wait_ms: int
    remote_list_offsets_request_timeout_ms: int
    remote_log_index_file_cache_total_size_bytes: int
    remote_log_index_file_cache_ttl_ms: int
    remote_log_manager_copier_thread_pool_size: int
    remote_log_manager_copy_max_bytes_per_second: int
    remote_log_manager_copy_quota_window_num: int
    remote_log_manager_copy_quota_window_size_seconds: int
    remote_log_manager_expiration_thread_pool_size: int
    remote_log_manager_fetch_max_bytes_per_second: int
    remote_log_manager_fetch_quota_window_num: int
    remote_log_manager_fetch_quota_window_size_seconds: int
    remote_log_manager_follower_thread_pool_size: int
    remote_log_manager_task_interval_ms: int
    remote_log_manager_task_retry_backoff_max_ms: int
    remote_log_manager_task_retry_backoff_ms: int
    remote_log_manager_task_retry_jitter: float
    remote_log_manager_thread_pool_size: int
    remote_log_metadata_custom_metadata_max_bytes: int
    remote_log_metadata_manager_class_name: str
    remote_log_metadata_manager_class_path: str | None
    remote_log_metadata_manager_impl_prefix: str
    remote_log_metadata_manager_listener_name: str | None
    remote_log_reader_max_pending_tasks: int
    remote_log_reader_threads: int
    remote_log_storage_manager_class_name: str | None
    remote_log_storage_manager_class_path: str | None
    remote_log_storage_manager_impl_prefix: str
    remote_log_storage_system_enable: bool
    replica_fetch_backoff_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_high_watermark_checkpoint_interval_ms: int
    replica_lag_time_max_ms: int
    replica_selector_class: str | None
    replica_socket_receive_buffer_bytes: int
    replica_socket_timeout_ms: int
    replication_quota_window_num: int
    replication_quota_window_size_seconds: int
    request_timeout_ms: int
    security_inter_broker_protocol: str
    security_providers: str | None
    server_max_startup_time_ms: int
    share_coordinator_append_linger_ms: int
    share_coordinator_cached_buffer_max_bytes: int
    share_coordinator_cold_partition_snapshot_interval_ms: int
    share_coordinator_load_buffer_size: int
    share_coordinator_snapshot_update_records_per_snapshot: int
    share_coordinator_state_topic_compression_codec: int
    share_coordinator_state_topic_min_isr: int
    share_coordinator_state_topic_num_partitions: int
    share_coordinator_state_topic_prune_interval_ms: int
    share_coordinator_state_topic_replication_factor: int
    share_coordinator_state_topic_segment_bytes: int
    share_coordinator_threads: int
    share_coordinator_write_timeout_ms: int
    share_fetch_purgatory_purge_interval_requests: int
    socket_connection_setup_timeout_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_listen_backlog_size: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_send_buffer_bytes: int
    telemetry_max_bytes: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_max_timeout_ms: int
    transaction_partition_verification_enable: bool
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_state_log_load_buffer_size: int
    transaction_state_log_min_isr: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_segment_bytes: int
    transaction_two_phase_commit_enable: bool
    transactional_id_expiration_ms: int
    unclean_leader_election_enable: bool
    unclean_leader_election_interval_ms: int
    unstable_api_versions_enable: bool
    unstable_feature_versions_enable: bool
    ottla_log_format: str
    ottla_log_level: str
    ottla_metrics_host: str
    ottla_metrics_port: int
    ottla_partial_frame_timeout_ms: int
    ottla_prepared_requests_max_bytes: int
    ottla_queued_max_request_memory_percent: int
    ottla_reserved_file_descriptors: int
