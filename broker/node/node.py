"""The cores of one node, put together: what runs the same in a process and in the simulator.

A node has the roles of `process.roles`: broker, controller, or both. To read from the top down how
it is made, follow `Node.__init__`:

1. `node_ports`: everything outside, which whoever makes a node gives it;
2. `shared_server`: what a node of any role has: folders, logs, metadata, the controller's core;
3. of a broker `parts`: replicas, coordinators, the ways to the controller; then `apis`, the table
   of what clients can ask; `broker_server` brings all that up and down;
4. of a controller that others can reach `controller_server`: the table of what nodes can ask;
5. `security.authorization`: who judges what both are asked.

What a process puts around a node (sockets, guards of listeners, threads) is in
`broker.process.server`; what of a node is shown, in `metrics`.

Owns the order in which the roles come up and go down: the metadata log is opened and the node takes
part in the quorum, then the broker registers and serves; at the end the broker hands its leaders
over, and the quorum is left last. Never touches a socket, a clock or a file itself. Follows Kafka's
`KafkaRaftServer`.
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
from broker.requests.context import Connection
from broker.requests.interference import Reply
from broker.requests.request_handler import RequestHandler
from controller.metadata.image import MetadataImage
from controller.storage_format import LogDirectories
from storage.log_config import LogConfig

if TYPE_CHECKING:
    from broker.node.controller_server import ControllerServer


class Node:
    """A node. `broker` is None without that role, `controller_server` where no other node can reach
    this one."""

    def __init__(self, config: BrokerConfig, ports: NodePorts, storage: LogDirectories) -> None:
        """Lock the folders and open the metadata log.

        Raises LogDirLocked where another process has them, StartError and OSError.
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
        """The epoch of this broker's registration; -1 before it."""
        return self.broker.broker_epoch() if self.broker is not None else -1

    def handle(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        """Answer one request of a client; see `RequestHandler.handle`."""
        assert self.broker is not None
        waiting: list[Reply] = []

        def later() -> Reply:
            waiting.append(reply)
            return reply

        answer = self.broker.requests.handle_at_once(connection, frame, later)
        if answer is None:
            self.broker.requests.handle(connection, frame, reply)
        elif answer or not waiting:
            reply(answer or None)

    def _topic_config(self, topic: str) -> LogConfig:
        assert self.broker is not None
        return self.broker.parts.replicas.topic_config_in(self.image, topic)

    # --- up and down -----------------------------------------------------------------------------

    def start(
        self,
        advertised: Sequence[EndPoint],
        done: Started,
        controller_endpoints: Sequence[EndPoint] = (),
    ) -> None:
        """Come up; `done(None)` when clients may be served, or with what forbids it.

        A node that is only a controller is up at once; the quorum may still be electing.
        """
        self.shared.controller.start()
        if self.controller_server is not None:
            self.controller_server.start(controller_endpoints)
        if self.broker is None:
            done(None)
        else:
            self.broker.start(advertised, done)

    def hand_over(self, done: Callable[[], None]) -> None:
        """Before the stop, while everything still runs: others take over what is led here, first
        the partitions, then the quorum."""
        self.hand_over_partitions(partial(self.leave_quorum, done))

    def hand_over_partitions(self, done: Callable[[], None]) -> None:
        """The first half of `hand_over`: clients can be served on after it."""
        if self.broker is None:
            done()
        else:
            self.broker.hand_over(done)

    def leave_quorum(self, done: Callable[[], None]) -> None:
        """The second half: the metadata is followed no longer."""
        self.controller.hand_over(done)

    def begin_stop(self) -> None:
        """Begin nothing new; answer whoever waits."""
        if self.broker is not None:
            self.broker.begin_stop()

    def flush_logs(self, done: Callable[[], None]) -> None:
        """When nothing is appended any more: leave the quorum and bring the logs to disk; then
        `done`, and the stop can be finished soon."""
        self.shared.begin_close(done)

    def finish_stop(self) -> None:
        """Close the logs and leave them clean; no job is under way any more."""
        self.shared.close(self.broker_epoch())


def _broker(shared: SharedServer) -> BrokerServer:
    """Make the broker: its APIs are made of parts that use the table of them."""
    requests = RequestHandler((), shared.config.ottla_prepared_requests_max_bytes)
    requests.read_by(shared.answers)
    requests.limit_by(shared.quotas)
    requests.trace_by(shared.ports.tracer)
    shared.quotas.on_change(requests.admission.changed)
    parts = broker_parts(shared, requests)
    requests.serve(assemble(parts, requests.served))
    return BrokerServer(parts, requests)


def _controller_server(shared: SharedServer) -> ControllerServer:
    # Not loaded where no other node can reach this one.
    from broker.node.controller_server import ControllerServer

    return ControllerServer(shared)
