"""The rules between several keys of a server's configuration.

Each check takes the parsed configuration and raises `ConfigError`, with Kafka's text if Kafka has
the rule. It changes nothing.

Follows `kafka.server.KafkaConfig.validateValues`.
"""

from __future__ import annotations

from broker.config.authorizer import parse_super_users
from broker.config.endpoints import NON_ROUTABLE_HOST, check_ports_differ, parse_servers
from broker.config.group_configs import check_group_defaults
from broker.config.plugins import BUILT_IN, consumer_assignors, python_class
from broker.config.values import BrokerConfig
from ground.config_def import ConfigError

_NEVER_EMPTY = (
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "log.dir",
    "process.roles",
    "group.consumer.assignors",
    "group.share.assignors",
)
_SHARE_ASSIGNOR = "simple"
# The class that `broker.replication.replica_selector` implements. It is not imported, because a
# start must stay fast.
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_MEGABYTE = 1024 * 1024
_COMPRESSION_CODEC_MAX = 4


def check_all(config: BrokerConfig) -> None:
    """Check every rule, first those that new users break most. Raises ConfigError."""
    for name in _NEVER_EMPTY:
        if name in config.originals and not config.originals[name].strip():
            raise ConfigError(name, f"Configuration '{name}' must not be empty.")
    for name, text in config.originals.items():
        if "\0" in text:
            raise ConfigError(name, f"Configuration '{name}' must not contain a null character.")
    _check_roles(config)
    _check_listeners(config)
    _check_log(config)
    _check_replication(config)
    _check_connections(config)
    _check_groups(config)
    for name in BUILT_IN:
        python_class(name, config.originals.get(name))
    consumer_assignors(config.group_consumer_assignors)
    parse_super_users(config.super_users)


def _require(condition: bool, name: str, text: str) -> None:
    if not condition:
        raise ConfigError(name, text)


def _check_roles(config: BrokerConfig) -> None:
    """Raise ConfigError if the roles, ids and the quorum's voters contradict each other."""
    broker_id = config.broker_id
    _require(
        broker_id in (-1, config.node_id),
        "broker.id",
        "You must set `node.id` to the same value as `broker.id`.",
    )
    voters = [voter.node_id for voter in config.controller_quorum_voters]
    servers = parse_servers(config.controller_quorum_bootstrap_servers)
    _require(
        bool(voters or servers),
        "controller.quorum.voters",
        "Either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers "
        "or controller.quorum.voters must contain a parseable set of controllers.",
    )
    if not voters:
        return  # the metadata log has them, or the bootstrap servers
    shown = ",".join(map(str, voters))
    if config.is_controller:
        _require(
            config.node_id in voters,
            "controller.quorum.voters",
            f"If process.roles contains the 'controller' role, the node id {config.node_id} must "
            f"be included in the set of voters controller.quorum.voters={shown}",
        )
    else:
        _require(
            config.node_id not in voters,
            "controller.quorum.voters",
            f"If process.roles contains just the 'broker' role, the node id {config.node_id} must "
            f"not be included in the set of voters controller.quorum.voters={shown}",
        )


def _check_listeners(config: BrokerConfig) -> None:
    """Raise ConfigError if the listeners do not fit the node's roles."""
    check_ports_differ("listeners", config.listeners)
    names = [endpoint.listener_name for endpoint in config.listeners]
    controller_names = [name for name in names if name in config.controller_listener_names]
    key = "controller.listener.names"
    if config.is_controller:
        _require(
            bool(controller_names),
            key,
            f"{key} must contain at least one value appearing in the 'listeners' configuration "
            "when running the KRaft controller role",
        )
    else:
        _require(
            not controller_names,
            key,
            f"{key} must not contain a value appearing in the 'listeners' configuration when "
            "running KRaft with just the broker role",
        )
    if not config.is_broker:
        _require(
            controller_names == names,
            "listeners",
            f"The listeners config must only contain KRaft controller listeners from {key} when "
            "process.roles=controller",
        )
        return
    _check_advertised(config)


def _check_advertised(config: BrokerConfig) -> None:
    """Raise ConfigError if an advertised listener is not bound or has no routable host, or if the
    one between brokers is not advertised."""
    key = "advertised.listeners"
    _require(
        bool(config.advertised_listeners),
        key,
        "There must be at least one broker advertised listener. Perhaps all listeners appear in "
        "controller.listener.names?",
    )
    bound = [endpoint.listener_name for endpoint in config.listeners]
    advertised = [endpoint.listener_name for endpoint in config.advertised_listeners]
    for endpoint in config.advertised_listeners:
        _require(
            endpoint.host != NON_ROUTABLE_HOST,
            key,
            f"{key} cannot use the nonroutable meta-address {NON_ROUTABLE_HOST}. "
            "Use a routable IP address."
            + ("" if key in config.originals else " It is not set, so it is that of listeners."),
        )
        _require(
            endpoint.listener_name in bound,
            key,
            f"{key} names {endpoint.listener_name}, which is not in listeners",
        )
    inter_broker_name = config.inter_broker_listener_name
    by_protocol = "security.inter.broker.protocol"
    if by_protocol in config.originals:
        _require(
            inter_broker_name in advertised,
            by_protocol,
            f"{by_protocol}={inter_broker_name}, but no listener has that name "
            f"({','.join(advertised)}): set inter.broker.listener.name instead",
        )
    _require(
        inter_broker_name in advertised,
        "inter.broker.listener.name",
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. The "
        f"valid options based on currently configured listeners are {','.join(advertised)}",
    )


def _check_log(config: BrokerConfig) -> None:
    """Raise ConfigError if a log's limit or the cleaner's buffer is out of range."""
    _require(
        config.log_retention_ms < 0 or config.log_retention_ms >= 1,
        "log.retention.ms",
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    )
    _require(
        config.log_roll_ms >= 1, "log.roll.ms", "log.roll.ms must be greater than or equal to 1"
    )
    _require(
        config.log_roll_jitter_ms >= 0,
        "log.roll.jitter.ms",
        "log.roll.jitter.ms must be greater than or equal to 0",
    )
    threads = max(config.log_cleaner_threads, 1)
    _require(
        config.log_cleaner_dedupe_buffer_size // threads > _MEGABYTE,
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    for name, codec in (
        ("offsets.topic.compression.codec", config.offsets_topic_compression_codec),
        (
            "share.coordinator.state.topic.compression.codec",
            config.share_coordinator_state_topic_compression_codec,
        ),
    ):
        _require(
            0 <= codec <= _COMPRESSION_CODEC_MAX,
            name,
            f"{name}: Unknown compression type id: {codec}",
        )


def _check_replication(config: BrokerConfig) -> None:
    """Raise ConfigError if a follower's times contradict each other or its selector is unknown."""
    _require(
        config.replica_fetch_wait_max_ms <= config.replica_socket_timeout_ms,
        "replica.socket.timeout.ms",
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent "
        "unnecessary socket timeouts",
    )
    _require(
        config.replica_fetch_wait_max_ms <= config.replica_lag_time_max_ms,
        "replica.fetch.wait.max.ms",
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
        "to prevent frequent changes in ISR",
    )
    _require(
        config.replica_selector_class in (None, "", _RACK_AWARE),
        "replica.selector.class",
        f"replica.selector.class is set, but Java classes cannot be loaded; only {_RACK_AWARE} is "
        "supported, or none: leave it out",
    )


def _check_connections(config: BrokerConfig) -> None:
    """Raise ConfigError if the limits on connections contradict each other."""
    queued = config.queued_max_request_bytes
    _require(
        queued <= 0 or queued >= config.socket_request_max_bytes,
        "queued.max.request.bytes",
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    _require(
        config.max_connections_per_ip > 0 or bool(config.max_connections_per_ip_overrides),
        "max.connections.per.ip",
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
        "property is set.",
    )
    idle_ms = config.connections_max_idle_ms
    _require(
        idle_ms < 0 or config.connection_failed_authentication_delay_ms < idle_ms,
        "connections.max.idle.ms",
        "connection.failed.authentication.delay.ms="
        f"{config.connection_failed_authentication_delay_ms} should always be less than "
        f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from "
        "timing out",
    )


def _check_groups(config: BrokerConfig) -> None:
    """Raise ConfigError if the defaults of groups contradict each other or drop `classic`."""
    _require(
        "classic" in config.group_coordinator_rebalance_protocols,
        "group.coordinator.rebalance.protocols",
        "Disabling the 'classic' protocol is not supported.",
    )
    low, high = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    _require(
        low <= high,
        "group.min.session.timeout.ms",
        f"group.min.session.timeout.ms ({low}) must not be greater than "
        f"group.max.session.timeout.ms ({high})",
    )
    _check_share_assignors(config.group_share_assignors)
    check_group_defaults(config)


def _check_share_assignors(names: tuple[str, ...]) -> None:
    """Raise ConfigError unless the built-in assignor of share groups is the only one."""
    key = "group.share.assignors"
    _require(
        len(names) == 1,
        key,
        f"{key} must contain exactly one assignor, but found {len(names)}",
    )
    _require(
        names == (_SHARE_ASSIGNOR,),
        key,
        f"{key}: there is no assignor {names[0]}. Use {_SHARE_ASSIGNOR}, or leave {key} out",
    )
