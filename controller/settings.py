"""The settings of the controller, as plain values.

The controller never reads a configuration file and never imports the broker: the code that
assembles a node fills in these settings. Names and defaults are Kafka's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller.hosting_limit import HostingLimit
from controller.metadata.delegation_token import TokenKey
from controller.metadata.version import (
    ELR_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    LATEST_LEVEL,
    METADATA_VERSION,
    MINIMUM_LEVEL,
    SHARE_VERSION,
    TRANSACTION_VERSION,
)
from controller.voter_set import ReplicaKey, Voter, VoterSet
from protocol.errors import ApiError

if TYPE_CHECKING:
    from controller.policies import Policies

BrokerConfigCheck = Callable[[str, Mapping[str, str]], ApiError | None]
"""A check of a broker's configs. It takes the broker id as text, or "" for the cluster's default,
and all configs that the resource would then have; it returns the error, None if valid."""
GroupConfigCheck = Callable[[Mapping[str, str]], ApiError | None]
"""A check of all configs that a group would then have. It returns the error, None if valid."""

DEFAULT_FEATURES: Mapping[str, tuple[int, int]] = {
    METADATA_VERSION: (MINIMUM_LEVEL, LATEST_LEVEL),
    KRAFT_VERSION: (0, 1),
    ELR_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
    GROUP_VERSION: (0, 1),
    SHARE_VERSION: (0, 2),
}


def _accept(_name: str, _configs: Mapping[str, str]) -> ApiError | None:
    """Return None for every broker: the node has no check of its own."""
    return None


def _accept_group(_configs: Mapping[str, str]) -> ApiError | None:
    """Return None for every group: the node has no check of its own."""
    return None


def _no_reason(_host: str, _port: int) -> str:
    """Return "", because no failure of a connection is recorded."""
    return ""


def _ignore_refusal(_node_id: int, _request: str) -> None:
    """Do nothing when a voter rejects a request."""
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """The settings of a node's controller; `*_ms` are milliseconds, `*_bytes` bytes."""

    node_id: int
    cluster_id: str
    directory_id: bytes
    """The id of the log directory that holds `__cluster_metadata-0`."""
    metadata_log_dir: str
    static_voters: VoterSet = VoterSet()
    """The voters of `controller.quorum.voters`, which count as long as the metadata log names none;
    empty: the metadata log names them, or the bootstrap servers know them."""
    bootstrap_servers: tuple[tuple[str, int], ...] = ()
    """Hosts and ports of `controller.quorum.bootstrap.servers`."""
    own_voter: Voter | None = None
    """This node as a voter; None: it has not the role of a controller."""
    auto_join: bool = False
    """Whether this node adds itself to the voters (`controller.quorum.auto.join.enable`)."""
    controller_listener_name: str = "CONTROLLER"
    """The listener of the voters' addresses: the first of `controller.listener.names`."""
    refused_by: Callable[[int, str], None] = _ignore_refusal
    """A callback for a voter that rejects a request of this node: its id and the request's name."""
    why_no_connection: Callable[[str, int], str] = _no_reason
    """The reason why the latest connection to a host and port failed; "" if not known."""
    supported_features: Mapping[str, tuple[int, int]] = field(
        default_factory=lambda: dict(DEFAULT_FEATURES)
    )
    """The lowest and highest level of each feature that this node supports. The node fails if the
    metadata has another level."""

    default_replication_factor: int = 1
    num_partitions: int = 1
    delete_topic_enable: bool = True
    hosting: HostingLimit = field(default_factory=HostingLimit)
    """The number of replicas that this node can hold as a broker."""
    server_config: Mapping[str, str] = field(default_factory=dict)
    """The keys that the server's configuration sets, with their texts: defaults of topics."""
    check_broker_config: BrokerConfigCheck = _accept
    check_group_config: GroupConfigCheck = _accept_group
    policies: Policies | None = None
    """The user's policies for new topics and for configs; None: there are none."""

    broker_session_timeout_ms: int = 9_000
    broker_heartbeat_interval_ms: int = 2_000
    leader_imbalance_check_interval_ms: int = 300_000
    """How often leadership returns to preferred replicas; 0: never, as with
    `auto.leader.rebalance.enable=false`."""
    unclean_leader_election_interval_ms: int = 300_000
    """How often the controller checks partitions without a leader for an unclean election."""
    token_key: TokenKey | None = None
    """The key made from `delegation.token.secret.key`; None: delegation tokens are disabled."""
    delegation_token_max_lifetime_ms: int = 7 * 24 * 3600 * 1000
    delegation_token_expiry_time_ms: int = 24 * 3600 * 1000
    """How long a token is valid after its creation or a renewal."""
    delegation_token_expiry_check_interval_ms: int = 3600 * 1000
    controller_queue_max_requests: int = 10_000
    """The number of commands that may wait while the controller becomes active."""

    quorum_election_timeout_ms: int = 1_000
    quorum_fetch_timeout_ms: int = 2_000
    quorum_election_backoff_max_ms: int = 1_000
    quorum_request_timeout_ms: int = 2_000
    quorum_retry_backoff_ms: int = 20
    quorum_fetch_max_bytes: int = 1 << 20
    quorum_fetch_snapshot_max_bytes: int = 1 << 20

    metadata_log_segment_bytes: int = 1 << 30
    metadata_log_segment_ms: int = 7 * 24 * 3600 * 1000
    metadata_log_max_record_bytes_between_snapshots: int = 20 << 20
    metadata_log_max_snapshot_interval_ms: int = 3600 * 1000
    metadata_max_idle_interval_ms: int = 500
    """How often a leader writes a no-op record while other nodes fetch; 0: never."""

    @property
    def replica_key(self) -> ReplicaKey:
        """This node's key as a replica of the metadata log."""
        return ReplicaKey(self.node_id, self.directory_id)
