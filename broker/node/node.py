"""A node, put together from its parts, which are the same in a process and in the simulator.

A node has the roles of `process.roles`: broker, controller, or both. `Node.__init__` shows from the
top down how it is made:

1. `node_ports`: everything outside of the node, which its creator passes in;
2. `shared_server`: the parts of a node of any role: folders, logs, metadata, controller core;
3. on a broker, `parts`: replicas, coordinators, senders to the controller. `apis` is the table of
   the requests that clients can send. `broker_server` starts and stops the parts;
4. on a controller that other nodes can reach, `controller_server`: the table of their requests;
5. `security.authorization`: the authorizer of the requests to both.

What surrounds a node in a process (sockets, guards of listeners, threads) is in
`broker.process.server`, and the node's metrics are in `metrics`.

Owns the order in which the roles start and stop. The metadata log is opened and the node joins the
quorum, then the broker registers and serves. At the stop the broker first hands its leaders over
and answers its waiting requests; then the node leaves the quorum and flushes its logs. Never
touches a socket, a clock or a file itself. Follows Kafka's `KafkaRaftServer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker.config.endpoints import EndPoint
from broker.config.values import BrokerConfig
from broker.node.apis import assemble
from broker.node.broker_server import BrokerServer, Started
from broker.node.node_ports import NodePorts
from broker.node.parts import broker_parts
from broker.node.security.authorization import authorize
from broker.node.shared_server import SharedServer
from broker.requests.context import ClientConnection
from broker.requests.interference import ReplyPath
from broker.requests.request_handler import RequestHandler
from controller.metadata.image import MetadataImage
from controller.storage_format import LogDirectories
from storage.log_config import LogConfig

if TYPE_CHECKING:
    from broker.node.controller_server import ControllerServer


class Node:
    """The parts of a node: its broker, its controller and its logs.

    `broker` is None without that role, `controller_server` if no other node can reach this node.
    """

    def __init__(self, config: BrokerConfig, ports: NodePorts, storage: LogDirectories) -> None:
        """Lock the log directories, open the metadata log, and create the parts of the node's
        roles.

        Raises LogDirLocked if another process has locked them, StartError and OSError.
        """
        self.config = config
        self.ports = ports
        shared = self.shared = SharedServer(config, ports, storage, self._topic_config)
        self.controller = shared.controller
        self.failures = shared.failures
        self.logs = shared.logs
        self.metrics = shared.metrics
        self.broker = _broker(shared) if config.is_broker else None
        self.controller_server = (
            _controller_server(shared) if config.opens_controller_listeners else None
        )
        servers = (self.broker, self.controller_server)
        authorize(shared, [server.requests for server in servers if server is not None])

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata (`ImageSource`)."""
        return self.shared.image

    def broker_epoch(self) -> int:
        """Return the epoch of this broker's registration; -1 without a registration."""
        return self.broker.broker_epoch() if self.broker is not None else -1

    def handle(self, connection: ClientConnection, frame: memoryview, reply: ReplyPath) -> None:
        """Answer a request of a client of the broker through `reply`, at once or later."""
        assert self.broker is not None
        waiting: list[ReplyPath] = []

        def later() -> ReplyPath:
            """Return `reply`, and remember that the answer comes later."""
            waiting.append(reply)
            return reply

        answer = self.broker.requests.handle_at_once(connection, frame, later)
        if answer is None:
            self.broker.requests.handle(connection, frame, reply)
        elif answer or not waiting:
            reply(answer or None)

    def _topic_config(self, topic: str) -> LogConfig:
        """Return the configs of a topic's logs, by the newest metadata."""
        assert self.broker is not None
        return self.broker.parts.replicas.topic_config_in(self.image, topic)

    # --- start and stop --------------------------------------------------------------------------

    def start(
        self,
        advertised: Sequence[EndPoint],
        done: Started,
        controller_endpoints: Sequence[EndPoint] = (),
    ) -> None:
        """Start the node, and call `done(None)` when clients can be served, or `done(error)`.

        A node that is only a controller is started at once; the quorum may still be electing.
        """
        self.shared.controller.start()
        if self.controller_server is not None:
            self.controller_server.start(controller_endpoints)
        if self.broker is None:
            done(None)
        else:
            self.broker.start(advertised, done)

    def hand_over(self, done: Callable[[], None]) -> None:
        """Hand leadership over before the stop: first of partitions, then of the quorum. Then call
        `done`."""
        self.hand_over_partitions(partial(self.leave_quorum, done))

    def hand_over_partitions(self, done: Callable[[], None]) -> None:
        """Let other brokers lead this broker's partitions, as the first half of `hand_over`;
        clients are still served. Then call `done`, or after a time-out."""
        if self.broker is None:
            done()
        else:
            self.broker.hand_over(done)

    def leave_quorum(self, done: Callable[[], None]) -> None:
        """Leave the quorum, as the second half of `hand_over`, and call `done`. New metadata is
        received no longer."""
        self.controller.hand_over(done)

    def begin_stop(self) -> None:
        """Let the broker start no new work, and answer all waiting requests."""
        if self.broker is not None:
            self.broker.begin_stop()

    def flush_logs(self, done: Callable[[], None]) -> None:
        """Leave the quorum and flush the logs after the last append, then call `done`.

        `finish_stop` is quick after that.
        """
        self.shared.begin_close(done)

    def finish_stop(self) -> None:
        """Close the logs with clean-shutdown marks; no job may be running any more."""
        self.shared.close(self.broker_epoch())


def _broker(shared: SharedServer) -> BrokerServer:
    """Create the broker; its parts and the table of its APIs refer to each other."""
    requests = RequestHandler((), shared.config.ottla_prepared_requests_max_bytes)
    requests.slice_by(shared.answers)
    requests.limit_by(shared.quotas)
    requests.trace_by(shared.ports.tracer)
    shared.quotas.on_change(requests.admission.changed)
    parts = broker_parts(shared, requests)
    requests.serve(assemble(parts, requests.served))
    return BrokerServer(parts, requests)


def _controller_server(shared: SharedServer) -> ControllerServer:
    # Nodes that no other node can reach do not load this module.
    from broker.node.controller_server import ControllerServer

    return ControllerServer(shared)
