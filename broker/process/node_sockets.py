"""The sockets of a node: those of its broker and those of its controller.

Owns both socket servers and the threads of the controller's requests, so that neither's requests
wait for the other's; which limits each has; where clients are told that they are; and the sentence
of a start that cannot bind. Never: what a request means, or when to accept and to stop
(`broker.process.server`).
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from broker.config.endpoints import EndPoint
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.loop.loop_watch import LoopWatch
from broker.loop.scheduler import BlockingPool
from broker.network.limits.connection_quotas import UNLIMITED
from broker.network.limits.memory_limit import memory_limit_bytes
from broker.network.server.listening_socket import Listener, limited
from broker.network.server.socket_server import SocketServer
from broker.node.broker_server import BrokerServer
from broker.node.node import Node
from broker.requests.request_handler import Entrance, RequestHandler

if TYPE_CHECKING:
    from broker.node.controller_server import ControllerServer
    from broker.node.security.guards import Guards


class NodeSockets:
    """The socket servers of a node: `brokers` and `controllers`, each None without a listener."""

    def __init__(
        self,
        node: Node,
        io_pool: BlockingPool,
        watch: LoopWatch,
        guards: Guards | None,
        entrance: Callable[[RequestHandler], Entrance],
    ) -> None:
        """`entrance` stands between clients and the broker's APIs. Raises ConfigError, where a
        listener's stores cannot be loaded."""
        self._config = node.config
        self._node = node
        self._watch = watch
        self._guards = guards
        self._descriptors = node.shared.descriptors
        of_requests = _request_memory_bytes(node.config)
        config = node.config._replace(
            queued_max_request_bytes=of_requests,
            ottla_queued_max_response_bytes=_response_memory_bytes(node.config, of_requests),
        )
        self.brokers: SocketServer | None = None
        self.controllers: SocketServer | None = None
        self.controller_pool: BlockingPool | None = None
        """For what the controller's requests wait for."""
        if node.broker is not None:
            self.brokers = self._of_broker(node.broker, config, io_pool, entrance)
        if node.controller_server is not None:
            loop = asyncio.get_running_loop()
            self.controller_pool = BlockingPool(loop, 1, "ottla-controller-io")
            self.controllers = self._of_controller(
                node.controller_server, config, self.controller_pool
            )
        self._descriptors.count_connections(self._connection_count)

    def _of_broker(
        self,
        broker: BrokerServer,
        config: BrokerConfig,
        io_pool: BlockingPool,
        entrance: Callable[[RequestHandler], Entrance],
    ) -> SocketServer:
        listeners = self._listeners(config.broker_listeners, broker.requests)
        door = entrance(broker.requests)
        return SocketServer(
            listeners,
            config,
            self._watch.handle(door.handle),
            io_pool,
            at_once=door.handle_at_once,
            expect=door.expect,
            room=self._connections_left,
            opened_from=self._node.shared.quotas.addresses.opened,
        )

    def _of_controller(
        self, controller: ControllerServer, config: BrokerConfig, pool: BlockingPool
    ) -> SocketServer:
        return SocketServer(
            self._listeners(config.controller_listeners, controller.requests),
            _of_controllers(config),
            self._watch.handle(controller.requests.handle),
            pool,
            on_closed=controller.probe.connection_closed,
            room=self._connections_left,
        )

    def _listeners(self, endpoints: Sequence[EndPoint], requests: RequestHandler) -> list[Listener]:
        listeners = [_listener(self._config, endpoint) for endpoint in endpoints]
        guards = self._guards
        if guards is None:
            return listeners
        return [replace(one, guard=guards.guard(one.name, requests.refusal)) for one in listeners]

    def all(self) -> list[SocketServer]:
        """The controller's first, which is needed before a broker can serve."""
        return [server for server in (self.controllers, self.brokers) if server is not None]

    def _connection_count(self) -> int:
        return sum(server.connection_count for server in self.all())

    def _connections_left(self) -> int:
        return self._descriptors.connections_max - self._descriptors.connections()

    async def start(self) -> tuple[list[EndPoint], list[EndPoint]]:
        """Bind all; the controller's accept from now on, the broker's after `accept`.

        Return the addresses that clients may use, and those of the controller. Raises StartError
        where a listener cannot be used.
        """
        config = self._config
        bound: dict[str, int] = {}
        try:
            for server in self.all():
                await server.start(accept=server is self.controllers)
                bound |= server.ports
        except OSError as error:
            raise _unusable_listener(config, error) from error
        names = {endpoint.listener_name for endpoint in config.broker_listeners}
        of_broker = [one for one in config.advertised_listeners if one.listener_name in names]
        of_controller = [
            one for one in config.advertised_controller_listeners if one.listener_name in bound
        ]
        return (
            [_advertised(one, bound) for one in of_broker],
            [_advertised(one, bound) for one in of_controller],
        )

    def accept(self) -> None:
        """Let clients in."""
        if self.brokers is not None:
            self.brokers.accept()

    def reconfigure(self, config: BrokerConfig) -> None:
        """A dynamic config has changed, here or for all brokers."""
        if self.brokers is not None:
            self.brokers.reconfigure(config)
        if self.controllers is not None:
            self.controllers.reconfigure(_of_controllers(config))

    def stop_accepting(self) -> None:
        """Take no connection any more."""
        for server in self.all():
            server.stop_accepting()

    async def stop(self, timeout_s: float) -> None:
        """Close every connection as soon as its request under way is answered."""
        await asyncio.gather(*(server.stop(timeout_s) for server in self.all()))


def _listener(config: BrokerConfig, endpoint: EndPoint) -> Listener:
    name = endpoint.listener_name
    plain = Listener(name, endpoint.host or "", endpoint.port, endpoint.security_protocol)
    return limited(plain, config)


def _of_controllers(config: BrokerConfig) -> BrokerConfig:
    """What the broker's limits of connections are for the listeners of controllers: none, so that
    clients cannot keep the nodes from each other."""
    return config._replace(max_connections=UNLIMITED, max_connection_creation_rate=UNLIMITED)


def _advertised(endpoint: EndPoint, ports: dict[str, int]) -> EndPoint:
    """Port 0 stands for the port that was bound, no host for this machine's name."""
    port = endpoint.port or ports[endpoint.listener_name]
    return replace(endpoint, host=endpoint.host or socket.getfqdn(), port=port)


def _request_memory_bytes(config: BrokerConfig) -> int:
    """`queued.max.request.bytes`; Kafka's default is no limit, ours a share of what there is."""
    if config.queued_max_request_bytes > 0:
        return config.queued_max_request_bytes
    return memory_limit_bytes() * config.ottla_queued_max_request_memory_percent // 100


def _response_memory_bytes(config: BrokerConfig, of_requests: int) -> int:
    """`ottla.queued.max.response.bytes`; half of what requests may have, if it is not set."""
    return max(config.ottla_queued_max_response_bytes, 0) or of_requests // 2


def _unusable_listener(config: BrokerConfig, error: OSError) -> StartError:
    reason = error.strerror or str(error)
    if error.errno != errno.EADDRINUSE:
        return StartError(reason)
    from broker.process.port_holder import holder_of_port  # where it is needed alone

    # In the order in which they are bound: of one that is ours by now no holder is told.
    listeners = (*config.controller_listeners, *config.broker_listeners)
    holders = [holder_of_port(one.port) for one in listeners if one.port]
    holder = next((one for one in holders if one is not None), None)
    who = "is another broker running?" if holder is None else f"it is held by {holder}."
    other = "ottla serve --port PORT" if config.profile_name else "change the port in listeners"
    return StartError(f"{reason}; {who} For another port: {other}")
