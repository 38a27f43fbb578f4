"""A node as a process: the real ports, the order of starting and stopping, signals.

The composition root of the shell. Gives `broker.node.node` the disk, the event loop's time and
threads for blocking work, opens its sockets (`node_sockets`), and stops it again. A clean stop
finishes the requests in progress, closes the logs and writes the clean-shutdown marker. A broken
invariant or the loss of the last log directory stops the process at once, without the marker.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker.config.dynamic import SecurityValidator, nothing_to_load
from broker.config.endpoints import EndPoint
from broker.config.plugins import names_python_class
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.loop.loop_watch import LoopWatch
from broker.loop.scheduler import BlockingPool, LoopScheduler
from broker.metrics import STARTING
from broker.network.outgoing.network_client import NetworkClient
from broker.network.server.frame_buffer import frame_buffer
from broker.node.metrics.node_metrics import register_node_metrics
from broker.node.metrics.socket_metrics import register_login_metrics
from broker.node.node import Node
from broker.node.node_ports import NodePorts
from broker.node.preparation.storage_folders import (
    is_formatted,
    open_storage,
    unusable_folder,
)
from broker.node.security.client_guards import ClientGuards
from broker.process import garbage
from broker.process.cleaner_process import ProcessRunner
from broker.process.data_folders import private_folders, warn_of_readers
from broker.process.descriptor_limit import open_files_max, raise_descriptor_limit
from broker.process.formatting import format_folders
from broker.process.node_sockets import NodeSockets, check_listeners, with_own_host
from broker.process.standard_streams import is_heard
from broker.process.trace_socket import TraceSocket, new_tracer, start_trace_socket
from broker.requests.request_handler import Entrance, RequestHandler
from controller.metadata.records import MetadataRecordError
from controller.metadata.topic_names import is_internal
from controller.raft.quorum_state import QuorumStateError
from ground.filesystem import Filesystem, LocalFilesystem
from ground.ports import Network, Scheduler
from storage.directories.log_dirs import LogDirLocked
from storage.log.descriptors import SPARES

if TYPE_CHECKING:
    from broker.node.security.guards import Guards
    from broker.plugins.node_plugins import NodePlugins
    from broker.process.metrics_server import MetricsServer

_log = logging.getLogger(f"ottla.{__name__}")

STOP_TIMEOUT_S = 10.0
PLUGINS_STOP_TIMEOUT_S = 1.0
"""The wait for plug-ins' calls at a stop: none of them has to be finished."""
CLIENTS_QUIET_S = 0.2
CLIENTS_LEAVE_S = 1.0
_HALTED = 1

OnReady = Callable[[Sequence[EndPoint]], None]
OnFound = Callable[[int, int], None]
"""The callback with the number of topics in the data folders, internal ones left out, and the bytes
of all logs."""


def run(
    config: BrokerConfig,
    on_ready: OnReady,
    on_stopping: Callable[[], None] = lambda: None,
    on_found: OnFound = lambda _topics, _size: None,
    cluster_id: str | None = None,
) -> None:
    """Run a node until SIGTERM, SIGINT or SIGHUP. `on_stopping` is called after the signal.

    `cluster_id`: the cluster for which empty data folders are formatted first. `on_ready` is called
    with the addresses after the start. Before it, `on_found` is called if the data folders have
    logs of an earlier start. Raises StartError if the node cannot start.
    """
    raise_descriptor_limit()
    faulthandler.register(signal.SIGQUIT)  # prints the stack of each thread, as a JVM does
    garbage.begin()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(config, on_ready, on_stopping, on_found, cluster_id))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the function that creates a broker's event loop: uvloop's, or asyncio's without it."""
    try:
        import uvloop
    except ImportError:  # not built for this platform: slower, otherwise the same
        return asyncio.new_event_loop
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return new_loop


async def _serve(
    config: BrokerConfig,
    on_ready: OnReady,
    on_stopping: Callable[[], None] = lambda: None,
    on_found: OnFound = lambda _topics, _size: None,
    cluster_id: str | None = None,
) -> None:
    """Run the node until a signal stops it; `on_ready` gets its addresses after the start. Before,
    format empty data folders if there is a `cluster_id`.

    Raises the error of a failed start, after the node is stopped again.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if is_heard(number):
            loop.add_signal_handler(number, stopping.set)
    await _check_before_first_start(config, cluster_id)
    if cluster_id is not None:
        format_folders(config, cluster_id)
    asked_to_stop = asyncio.create_task(stopping.wait())
    config = with_own_host(config)
    if not config.controller_quorum_voters:
        # Loaded only if the configuration names no voters.
        from broker.node.preparation.first_voters import with_static_voter

        config = with_static_voter(config, LocalFilesystem())
    server = Server(config)
    starting = asyncio.create_task(server.start())
    try:
        # A signal during the start stops the node, too, and as cleanly.
        await asyncio.wait((starting, asked_to_stop), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            endpoints = starting.result()
            if server.node.broker is not None and server.node.broker.logs.logs:
                on_found(*server.node.broker.holdings())
            on_ready(endpoints)
            await asked_to_stop
    finally:
        if stopping.is_set():
            on_stopping()
        starting.cancel()
        asked_to_stop.cancel()
        await asyncio.wait((starting, asked_to_stop))
        await server.stop()


async def _check_before_first_start(config: BrokerConfig, cluster_id: str | None) -> None:
    """Check that the listeners can be bound if the data folders are not formatted yet, so that a
    start on a port in use leaves no formatted folder behind. Raises StartError."""
    try:
        first = not is_formatted(config, LocalFilesystem(), cluster_id)
    except OSError as error:
        raise unusable_folder(config, error) from error
    if first:
        await check_listeners(config)


@dataclass(frozen=True, slots=True)
class ServerPorts:
    """The ports to the machine that a server is built on. A broker under test replaces some."""

    filesystem: Callable[[int, tuple[str, ...]], Filesystem] = LocalFilesystem
    scheduler: Callable[[asyncio.AbstractEventLoop], Scheduler] = LoopScheduler
    peers: Callable[[asyncio.AbstractEventLoop], Scheduler | None] = lambda _loop: None
    """The scheduler that times the waits of nodes for each other; None to use `scheduler`."""
    entrance: Callable[[RequestHandler], Entrance] = lambda requests: requests
    """The layer that clients' requests go through before the broker's APIs."""
    network: Callable[[Network], Network] = lambda network: network
    """The layer that requests to other nodes go through."""


_OF_THIS_MACHINE = ServerPorts()


class Server:
    """A node with its sockets, threads and disk, created on a running event loop."""

    def __init__(self, config: BrokerConfig, surroundings: ServerPorts = _OF_THIS_MACHINE) -> None:
        """Open the data folders and build the node, without binding its ports. Raises StartError if
        a data folder cannot be used, ConfigError if a key or trust store cannot be loaded."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_on_loop_exception)
        self.config = config
        is_watched = config.ottla_metrics_port >= 0
        logged_ms = config.ottla_loop_turn_logged_ms if is_watched else None
        self._watch = watch = LoopWatch(loop, logged_ms)
        self.io_pool = BlockingPool(loop, config.num_io_threads, "ottla-io", watch.call)
        self.background_pool = BlockingPool(
            loop, config.background_threads, "ottla-background", watch.call
        )
        self.network, self.controller_network = self._networks(loop)
        self.cleaner = ProcessRunner(loop, config.log_cleaner_threads)
        filesystem = surroundings.filesystem(SPARES, private_folders(config))
        scheduler = watch.scheduler(surroundings.scheduler(loop))
        warn_of_readers(config)
        self._plugins_pool: BlockingPool | None = None
        self._plugins = self._load_plugins(loop, scheduler)
        self.guards = self._make_guards(scheduler)
        ports = NodePorts(
            filesystem=filesystem,
            scheduler=scheduler,
            peers=surroundings.peers(loop),
            io=self.io_pool,
            background=self.background_pool,
            random_bytes=os.urandom,
            halt=_halt,
            network=surroundings.network(self.network),
            controller_network=surroundings.network(self.controller_network),
            why_no_connection=self.controller_network.why_no_connection,
            probe_address=None if config.is_broker else self.network.probe_address,
            cleaner=self.cleaner,
            allocate=frame_buffer,
            open_files_max=open_files_max(),
            plugins=self._plugins,
            tracer=new_tracer(config, scheduler),
            validate_security=self._security_validator(),
        )
        self.node = _opened_node(config, ports)
        self._all_sockets = NodeSockets(
            self.node, self.io_pool, watch, self.guards, surroundings.entrance
        )
        self.sockets = self._all_sockets.brokers
        """The broker's sockets; None if this node is only a controller."""
        register_node_metrics(self.node, self.sockets, self._all_sockets.controllers)
        if self.guards is not None:
            register_login_metrics(self.node.metrics, self.guards.logins())
            self.node.controller.add_listener(self.guards.metadata_changed)
            self.guards.start(self.background_pool)
        if self._client_guards.is_secured:
            self.node.controller.add_listener(self._client_guards.metadata_changed)
        self.node.shared.reconfiguration.add(self._reconfigure)
        self._metrics_server: MetricsServer | None = None
        self._trace_socket: TraceSocket | None = None
        self._started = False
        self._serving = False
        self._stopping = False

    def _networks(self, loop: asyncio.AbstractEventLoop) -> tuple[NetworkClient, NetworkClient]:
        """Create the guards of outgoing connections. Return the clients to brokers and to
        controllers: the same one if both are secured in the same way."""
        config, max_bytes = self.config, self.config.socket_request_max_bytes
        guards = self._client_guards = ClientGuards(
            config, os.urandom, LoopScheduler(loop), self.background_pool
        )
        to_brokers = NetworkClient(loop, max_bytes, guards.to_brokers)
        if guards.to_controllers is guards.to_brokers:
            return to_brokers, to_brokers
        return to_brokers, NetworkClient(loop, max_bytes, guards.to_controllers)

    def _reconfigure(self, config: BrokerConfig) -> None:
        """Apply changed dynamic configs to the thread pools, the cleaner and the sockets."""
        self.io_pool.resize(config.num_io_threads)
        self.background_pool.resize(config.background_threads)
        self.cleaner.resize(config.log_cleaner_threads)
        self._all_sockets.reconfigure(config)

    def _load_plugins(
        self, loop: asyncio.AbstractEventLoop, scheduler: Scheduler
    ) -> NodePlugins | None:
        """Return the loader of the plug-ins that the configuration names, with a thread pool of its
        own. Return None if it names none. Each is loaded by the part that uses it."""
        config = self.config
        if not names_python_class(config.originals):
            return None
        # Imported here: a node without plug-ins does not load it.
        from broker.plugins.node_plugins import POOLS, NodePlugins

        # A separate pool: a plug-in that hangs does not hold up the node's own jobs.
        pool = BlockingPool(loop, POOLS * config.ottla_plugins_calls_max, "ottla-plugins")
        self._plugins_pool = pool
        return NodePlugins(config, scheduler, pool)

    def _make_guards(self, scheduler: Scheduler) -> Guards | None:
        """Return the guards, or None if no listener has security or a principal builder."""
        if all(
            security.security_protocol == "PLAINTEXT" and security.principal_builder is None
            for security in self.config.listener_security.values()
        ):
            return None
        from broker.node.security.guards import (
            Guards,  # not loaded if no listener is secured
        )

        return Guards(
            self.config,
            lambda mechanism, name: self.node.shared.image.scram.credential(mechanism, name),
            os.urandom,
            time.monotonic,
            scheduler,
            lambda: self.node.shared.image.tokens,
            self._plugins,
        )

    def _security_validator(self) -> SecurityValidator:
        """Return the check of new security settings of listeners, of incoming and outgoing
        connections.
        """
        guards, outgoing_guards = self.guards, self._client_guards
        if guards is None:
            return outgoing_guards.validate if outgoing_guards.is_secured else nothing_to_load
        return lambda new, listeners: (
            guards.validate(new, listeners) or outgoing_guards.validate(new, listeners)
        )

    @property
    def outstanding(self) -> int:
        """The number of unfinished jobs in threads and processes, without plug-ins' calls."""
        controller_pool = self._all_sockets.controller_pool
        workers = (self.io_pool, self.background_pool, controller_pool, self.cleaner)
        return sum(worker.outstanding for worker in workers if worker is not None)

    async def start(self) -> Sequence[EndPoint]:
        """Bind, start the node, accept; return the addresses that clients may use, or those of the
        controller if there is no broker."""
        self._watch.start(self.node.metrics)
        _log.info(
            "node %d of cluster %s starts as %s, data in %s",
            self.config.node_id,
            self.node.shared.storage.cluster_id,
            " and ".join(self.config.process_roles),
            ", ".join(self.config.log_dirs),
        )
        self._start_metrics()
        self._trace_socket = await start_trace_socket(self.node)
        advertised, controllers = await self._all_sockets.start()
        tokens: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client_guards.start(lambda: _settle_future(tokens, None))
        await tokens
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started = True
        self.node.start(advertised, lambda error: _settle_future(ready, error), controllers)
        await ready
        self._serving = True
        self._all_sockets.accept()
        return advertised or controllers

    async def stop(self) -> None:
        """Hand over the leadership of partitions, answer the requests in progress, leave the
        quorum, close the logs, and free all resources."""
        self._stopping = True
        if self._serving:
            await self._run_step(self.node.hand_over_partitions)
            await self._wait_for_clients_to_leave()
            await self._run_step(self.node.leave_quorum)
        self._all_sockets.stop_accepting()
        if self._started:
            self.node.begin_stop()
        await self._all_sockets.stop(STOP_TIMEOUT_S)
        self.network.close()
        self.controller_network.close()
        self._client_guards.close()
        if self.guards is not None:
            self.guards.close()
        self._stop_views()
        controller_pool = self._all_sockets.controller_pool
        for pool in (self.io_pool, controller_pool, self._plugins_pool):
            if pool is not None:
                is_plugins_pool = pool is self._plugins_pool
                await pool.close(PLUGINS_STOP_TIMEOUT_S if is_plugins_pool else STOP_TIMEOUT_S)
        await self.cleaner.close(STOP_TIMEOUT_S)
        if self._started:
            await self._run_step(self.node.flush_logs)
        await self.background_pool.close(STOP_TIMEOUT_S)
        await self._watch.stop()
        if self._started:
            self.node.finish_stop()

    def _stop_views(self) -> None:
        """Stop the metrics server and the trace socket, if they run."""
        for view in (self._metrics_server, self._trace_socket):
            if view is not None:
                view.stop()

    async def _run_step(self, step: Callable[[Callable[[], None]], None]) -> None:
        """Run a step of the stop, and wait until it calls back. The node limits its time."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        step(lambda: _settle_future(done, None))
        await done

    async def _wait_for_clients_to_leave(self) -> None:
        """Keep serving until clients have found the new leaders, for CLIENTS_LEAVE_S at most.

        Active clients have got an error that says this broker leads no more, and ask for metadata
        after their back-off, 100 ms by default. If their connection is closed before that, some
        clients try to reconnect until this broker is back.
        """
        broker, sockets = self.node.broker, self.sockets
        if broker is None or sockets is None or not broker.others_may_lead():
            return
        deadline_s = time.monotonic() + CLIENTS_LEAVE_S
        while True:
            left_s = min(CLIENTS_QUIET_S - sockets.quiet_s, deadline_s - time.monotonic())
            if left_s <= 0:
                return
            await asyncio.sleep(left_s)

    def why_not_ready(self) -> str | None:
        """Return why clients cannot use this node now, None if they can."""
        if self._stopping:
            return "stopping"
        if not self._serving:
            return STARTING
        if not self.config.is_broker:
            has_leader = self.node.controller.raft.leader_id is not None
            return None if has_leader else "the quorum has no leader that is known here"
        registration = self.node.image.brokers.get(self.config.node_id)
        is_active = registration is not None and not registration.fenced
        return None if is_active else "the controller has fenced this broker, or cannot reach it"

    def _start_metrics(self) -> None:
        """Listen for scrapes, unless `ottla.metrics.port` is negative."""
        if self.config.ottla_metrics_port < 0:
            return
        from broker.process.metrics_server import (
            MetricsServer,  # not loaded if it is not configured
        )

        if not self.config.ottla_metrics_internal_topics:
            self.node.metrics.show_topics(lambda name: not is_internal(name))
        self._metrics_server = MetricsServer(
            self.node.metrics,
            self.config.ottla_metrics_host,
            self.config.ottla_metrics_port,
            self.why_not_ready,
            self.config.ottla_metrics_names,
        )


def _opened_node(config: BrokerConfig, ports: NodePorts) -> Node:
    """Return the node of the data folders. Raises StartError if they cannot be used."""
    try:
        wall_ms = ports.scheduler.wall_ms()
        storage = open_storage(config, ports.filesystem, ports.random_bytes, wall_ms)
        return Node(config, ports, storage)
    except LogDirLocked as error:
        raise StartError(f"{error} Stop it, or use another folder (log.dirs)") from error
    except OSError as error:
        raise unusable_folder(config, error) from error
    except (MetadataRecordError, QuorumStateError) as error:
        raise StartError(f"{config.metadata_log_dir}: {error}") from error


def _settle_future(future: asyncio.Future[None], error: Exception | None) -> None:
    """Complete the future, with `error` if there is one. Does nothing if the future is done or
    cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _halt(reason: str) -> None:
    """Log the reason, and end the process at once with exit code 1. State from memory is not
    written, because it may be wrong."""
    _log.critical("the node stops: %s", reason)
    logging.shutdown()
    os._exit(_HALTED)


def _on_loop_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an uncaught exception, which is a bug; end the process if an invariant is broken."""
    error = context.get("exception")
    _log.error("%s", context.get("message", "unhandled exception"), exc_info=error)
    if isinstance(error, AssertionError):
        _halt(f"a broken invariant: {error}")
