"""The parts of a node that do not depend on its role: folders, metadata, controller access.

They are created in this order. First come the logs, whose directories are locked and checked. Then
comes the metadata (`controller.controller_node`), which every node has: a controller votes in the
quorum, a broker follows it as an observer. Dynamic configs and quotas follow the metadata. The
senders to the active controller come last.

Owns the locks on the directories, and the failure channel of the disks. It also decides what a
failed disk means, since that may end the process. Never serves a client. Follows Kafka's
`SharedServer`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from broker.config.own_principal import own_principal
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.metrics import Metrics
from broker.node.cluster_changes import ClusterChangeLog
from broker.node.control.to_controller import ControllerAddress, NodeToController, Refuse
from broker.node.node_ports import NodePorts
from broker.node.reconfiguration import Reconfiguration
from broker.node.settings import controller_settings, new_descriptors
from broker.quotas.client_quota_manager import QuotaKind
from broker.quotas.client_quotas import NodeQuotas
from broker.quotas.limits import SetLimits
from broker.quotas.sampled_rate import Window
from broker.requests.context import RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.controller_node import ControllerNode
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.node_refusals import NodeRefusals
from controller.storage_format import LogDirectories, read_bootstrap
from protocol.api_keys import ApiKey
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.log_dir_failure import LogDirFailureChannel, advice
from storage.log.log_environment import LogEnvironment
from storage.log.producer_rules import ProducerRules
from storage.log_config import LogConfig

if TYPE_CHECKING:
    from controller.policies import Policies

_log = logging.getLogger(f"ottla.{__name__}")


LACK_LOG_INTERVAL_MS = 60_000


QUORUM_KEYS = (ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER)
"""The APIs for clients that the quorum answers, not the controller on top of it."""


class SharedServer:
    """The parts of a node that do not depend on its role."""

    def __init__(
        self,
        config: BrokerConfig,
        ports: NodePorts,
        storage: LogDirectories,
        config_of_topic: Callable[[str], LogConfig],
    ) -> None:
        """Lock the log directories and open the metadata log.

        `config_of_topic(name)` returns the configs of a log that is opened. Raises LogDirLocked if
        another process has locked the directories, StartError and OSError.
        """
        self.config = config
        self.ports = ports
        self.storage = storage
        self.metrics = Metrics()
        self.failures = LogDirFailureChannel()
        self.descriptors = new_descriptors(config, ports.open_files_max)
        environment = self.environment = self._log_environment()
        self.logs = LogManager(
            environment, _log_manager_settings(config), config_of_topic, ports.random_bytes
        )
        self.logs.lock()
        self._refuse_without_folders()
        self._refuse_more_logs_than_fit()
        self.failures.listen(self._log_dir_failed)
        self._lack_logged_ms = -math.inf
        self.failures.on_lack(self._descriptors_lack)
        refusals = NodeRefusals(
            own_principal(config.controller_security), ports.between_nodes.monotonic_ms
        )
        policies = _policies(config, ports)
        settings = controller_settings(
            config, storage, self.descriptors, refusals.refused, ports.why_no_connection, policies
        )
        self.controller = ControllerNode(
            settings,
            environment,
            ports.random_bytes,
            read_bootstrap(ports.filesystem, config.metadata_log_dir),
            self._metadata_log_failed,
            network=ports.to_controllers,
            between_nodes=ports.between_nodes,
            sliced=self.logs.sliced,
            slices=self.answers,
        )
        self.reconfiguration = Reconfiguration(config)
        self.quotas = _quotas(config, ports)
        self._follow_settings()
        self.address = ControllerAddress(
            config.node_id,
            self.controller.raft,
            self.ask_controller_here,
            self.controller.address_of,
            ports.to_controllers,
            refusals.refused,
        )
        self._senders: list[NodeToController] = []
        self._left_quorum = False
        self._follow_controller()

    def _follow_controller(self) -> None:
        """Listen to changes of the quorum's leader and of the metadata: redirect requests to the
        new leader, and log what changes in the cluster."""
        cluster_changes = ClusterChangeLog(self.config.node_id)
        self.controller.on_leader_change(self._leader_changed)
        self.controller.on_leader_change(cluster_changes.leader_changed)
        self.controller.add_listener(cluster_changes.metadata_changed)

    def _follow_settings(self) -> None:
        """Apply dynamic configs and quotas of the committed metadata from now on."""
        self.controller.add_listener(self.reconfiguration.metadata_changed, self._quotas_changed)
        self.reconfiguration.add(self._reconfigure)

    def _quotas_changed(self, _delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply the client quotas of the new image."""
        self.quotas.apply_image(image.client_quotas)

    def _reconfigure(self, config: BrokerConfig) -> None:
        """Apply changed keys to the number of recovery threads and to the rules of producers."""
        self.logs.set_recovery_threads(config.num_recovery_threads_per_data_dir)
        self.environment.producers.change(
            config.producer_id_expiration_ms, config.transaction_partition_verification_enable
        )

    def _log_environment(self) -> LogEnvironment:
        """Create the objects that all logs of this node share."""
        config, ports = self.config, self.ports
        return LogEnvironment(
            ports.filesystem,
            ports.scheduler,
            ports.background,
            self.failures,
            ProducerRules(
                config.producer_id_expiration_ms, config.transaction_partition_verification_enable
            ),
            allocate=ports.allocate,
            descriptors=self.descriptors,
        )

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata."""
        return self.controller.image

    def metadata_offset(self) -> int:
        """Return the offset up to which the committed metadata is replayed here."""
        return self.image.offset

    def kraft_version(self) -> int:
        """Return the finalized `kraft.version`, which the quorum has, but no metadata image."""
        return self.controller.kraft_version

    def incarnation_of_broker(self) -> bytes | None:
        """Return the incarnation id registered under this node's broker id, None without one."""
        broker = self.image.brokers.get(self.config.node_id)
        return None if broker is None else broker.incarnation_id

    def endpoint_of(self, broker_id: int) -> tuple[str, int] | None:
        """Return the address where a broker accepts requests of other brokers; None if unknown."""
        broker = self.image.brokers.get(broker_id)
        name = self.config.inter_broker_listener_name
        endpoint = broker.endpoints.get(name) if broker is not None else None
        return None if endpoint is None else (endpoint.host, endpoint.port)

    def offline_log_dir_ids(self) -> list[bytes]:
        """Return the ids of the log directories that failed since the start."""
        ids = self.storage.directory_ids
        return [ids[path] for path in self.failures.offline_dirs() if path in ids]

    @cached_property
    def answers(self) -> SlicedAnswers:
        """The slices in which long requests are read and their responses made."""
        return SlicedAnswers(self.logs.sliced)

    def ask_controller_here(self, context: RequestContext, request: Any, respond: Respond) -> None:
        """Pass a request to the controller of this process (`broker.requests.context.Handle`)."""
        if request.API_KEY in QUORUM_KEYS:
            self.controller.raft_apis.handle(context, request, respond)
        else:
            self.controller.apis.handle(context, request, respond)

    def to_controller(self, refuse: Refuse, timeout_ms: int | None = None) -> NodeToController:
        """Return a new sender to the active controller, with its own connection."""
        timeout_ms = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        scheduler = self.ports.between_nodes
        sender = NodeToController(self.address, scheduler, timeout_ms, refuse, self.answers)
        self._senders.append(sender)
        return sender

    def _leader_changed(self, _leader_id: int | None) -> None:
        """Let each sender retry its waiting requests at the new controller."""
        for sender in self._senders:
            sender.controller_changed()

    def begin_close(self, done: Callable[[], None]) -> None:
        """Leave the quorum and flush the logs in other threads; then call `done` for `close`."""
        self._leave_quorum()
        self.logs.begin_close(done)

    def close(self, broker_epoch: int) -> None:
        """Leave the quorum and close the logs; no job may be running any more."""
        self._leave_quorum()
        self.logs.close(broker_epoch)

    def _leave_quorum(self) -> None:
        """Close the controller and the requests to it, once."""
        if self._left_quorum:
            return
        self._left_quorum = True
        for sender in self._senders:
            sender.close()
        self.controller.close()

    # --- disks ---------------------------------------------------------------------------------

    def _metadata_log_failed(self, error: Exception) -> None:
        """End the process at once, because the node cannot work without its metadata log."""
        self.ports.halt(f"the metadata log failed: {error}{advice(error)}")

    def _refuse_without_folders(self) -> None:
        """Raise StartError if the metadata log directory, or every log directory, is unusable; the
        user can still repair it. Log other unusable directories."""
        for log_dir, reason in self.failures.offline_dirs().items():
            if log_dir == self.config.metadata_log_dir or not self.logs.online_dirs:
                raise StartError(f"{log_dir} cannot be used (log.dirs): {reason}")
            _log.error("log directory %s is offline: %s", log_dir, reason)

    def _descriptors_lack(self, reason: str) -> None:
        """Log that file descriptors are short, at most once in LACK_LOG_INTERVAL_MS."""
        now_ms = self.ports.scheduler.monotonic_ms()
        if now_ms - self._lack_logged_ms >= LACK_LOG_INTERVAL_MS:
            self._lack_logged_ms = now_ms
            limit = self.descriptors.limit
            _log.error("file descriptors are short (ulimit -n %d): %s", limit, reason)

    def _refuse_more_logs_than_fit(self) -> None:
        """Raise StartError if the logs do not fit under the limit of file descriptors.

        Called before any log opens. The logs may have been created under a higher limit.
        """
        logs, moves = self.logs.count_folders()
        needed, limit = self.descriptors.limit_for(logs, moves), self.descriptors.limit
        if needed > limit:
            raise StartError(
                f"{logs} partition(s) in log.dirs need ulimit -n {needed}, and it is {limit}: "
                f"raise it and start again (ottla.reserved.file.descriptors keeps "
                f"{self.descriptors.reserved} of it for connections and old segments)"
            )

    def _log_dir_failed(self, log_dir: str, reason: str) -> None:
        """Log a failed folder. Halts the process if it was the last folder or has the metadata."""
        _log.error("log directory %s is offline: %s", log_dir, reason)
        if log_dir == self.config.metadata_log_dir:
            self.ports.halt(f"the metadata log directory {log_dir} failed: {reason}")
        if not self.logs.online_dirs:
            self.ports.halt(f"the last log directory failed: {reason}")


def _policies(config: BrokerConfig, ports: NodePorts) -> Policies | None:
    """Return the policies of Python classes, or None on a node that is no controller."""
    if ports.plugins is None or not config.is_controller:
        return None
    return ports.plugins.policies()


def _quotas(config: BrokerConfig, ports: NodePorts) -> NodeQuotas:
    """Return the node's quotas, with the limits of a Python class if the node has one."""
    own = None if ports.plugins is None else ports.plugins.quota_limits()
    return NodeQuotas(
        Window(config.quota_window_num, config.quota_window_size_seconds * 1000),
        Window(
            config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000
        ),
        ports.scheduler.monotonic_ms,
        own or _limits_that_are_set,
        config.ottla_quota_clients_max,
    )


def _limits_that_are_set(_kind: QuotaKind) -> SetLimits:
    """Return empty limits, to be set from the metadata."""
    return SetLimits()


def _log_manager_settings(config: BrokerConfig) -> LogManagerSettings:
    return LogManagerSettings(
        config.log_dirs,
        config.log_flush_offset_checkpoint_interval_ms,
        config.log_flush_start_offset_checkpoint_interval_ms,
        config.replica_high_watermark_checkpoint_interval_ms,
        config.producer_id_expiration_check_interval_ms,
        config.log_flush_scheduler_interval_ms,
        config.log_retention_check_interval_ms,
        config.log_initial_task_delay_ms,
        config.num_recovery_threads_per_data_dir,
    )
