"""The sockets of a node: those of its broker and those of its controller.

Owns: both socket servers with their limits, the advertised addresses, and the error of a start that
cannot bind. It also owns the threads of the controller's requests, so that these and the broker's
requests do not wait for each other. Never: what a request means, or when to accept and to stop
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
from broker.network.server.listening_socket import Listener, bind, limited
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
        """Create the servers without binding them. `entrance` returns the layer that clients'
        requests go through before the broker's APIs. Raises ConfigError if the key or trust store
        of a listener cannot be loaded."""
        self._config = node.config
        self._node = node
        self._watch = watch
        self._guards = guards
        self._descriptors = node.shared.descriptors
        request_bytes = _request_memory_bytes(node.config)
        config = node.config._replace(
            queued_max_request_bytes=request_bytes,
            ottla_queued_max_response_bytes=_response_memory_bytes(node.config, request_bytes),
        )
        self.brokers: SocketServer | None = None
        self.controllers: SocketServer | None = None
        self.controller_pool: BlockingPool | None = None
        """The pool for blocking jobs of the controller's requests."""
        if node.broker is not None:
            self.brokers = self._broker_server(node.broker, config, io_pool, entrance)
        if node.controller_server is not None:
            loop = asyncio.get_running_loop()
            self.controller_pool = BlockingPool(loop, 1, "ottla-controller-io")
            self.controllers = self._controller_server(
                node.controller_server, config, self.controller_pool
            )
        self._descriptors.count_connections(self._connection_count)

    def _broker_server(
        self,
        broker: BrokerServer,
        config: BrokerConfig,
        io_pool: BlockingPool,
        entrance: Callable[[RequestHandler], Entrance],
    ) -> SocketServer:
        """Return the server of the broker's listeners; it is not bound yet."""
        listeners = self._listeners(config.broker_listeners, broker.requests)
        request_entrance = entrance(broker.requests)
        return SocketServer(
            listeners,
            config,
            self._watch.handle(request_entrance.handle),
            io_pool,
            on_closed=broker.connection_closed,
            at_once=request_entrance.handle_at_once,
            expect=request_entrance.expect,
            room=self._connections_left,
            opened_from=self._node.shared.quotas.addresses.opened,
        )

    def _controller_server(
        self, controller: ControllerServer, config: BrokerConfig, pool: BlockingPool
    ) -> SocketServer:
        """Return the server of the controller's listeners; it is not bound yet."""
        return SocketServer(
            self._listeners(config.controller_listeners, controller.requests),
            _of_controllers(config),
            self._watch.handle(controller.requests.handle),
            pool,
            on_closed=controller.probe.connection_closed,
            room=self._connections_left,
        )

    def _listeners(self, endpoints: Sequence[EndPoint], requests: RequestHandler) -> list[Listener]:
        """Return the listeners with their limits and, if any listener is secured, their guards."""
        listeners = [_listener(self._config, endpoint) for endpoint in endpoints]
        guards = self._guards
        if guards is None:
            return listeners
        return [replace(raw, guard=guards.guard(raw.name, requests.refusal)) for raw in listeners]

    def servers(self) -> list[SocketServer]:
        """Return the servers, the controller's first: a broker needs it before it can serve."""
        return [server for server in (self.controllers, self.brokers) if server is not None]

    def _connection_count(self) -> int:
        return sum(server.connection_count for server in self.servers())

    def _connections_left(self) -> int:
        """Return the number of connections that the free descriptors still allow."""
        return self._descriptors.connections_max - self._descriptors.connections()

    async def start(self) -> tuple[list[EndPoint], list[EndPoint]]:
        """Bind all listeners. The controller's accept at once, the broker's after `accept`.

        Returns the advertised addresses of the broker, and those of the controller. Raises
        StartError if a listener cannot be bound.
        """
        config = self._config
        bound: dict[str, int] = {}
        try:
            for server in self.servers():
                await server.start(accept=server is self.controllers)
                bound |= server.ports
        except OSError as error:
            raise _unusable_listener(config, error) from error
        names = {endpoint.listener_name for endpoint in config.broker_listeners}
        of_broker = [end for end in config.advertised_listeners if end.listener_name in names]
        of_controller = [
            end for end in config.advertised_controller_listeners if end.listener_name in bound
        ]
        return (
            [_advertised(endpoint, bound) for endpoint in of_broker],
            [_advertised(endpoint, bound) for endpoint in of_controller],
        )

    def accept(self) -> None:
        """Begin to accept connections on the broker's listeners."""
        if self.brokers is not None:
            self.brokers.accept()

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply a configuration in which dynamic configs have changed to both socket servers."""
        if self.brokers is not None:
            self.brokers.reconfigure(config)
        if self.controllers is not None:
            self.controllers.reconfigure(_of_controllers(config))

    def stop_accepting(self) -> None:
        """Close all listening sockets; open connections stay."""
        for server in self.servers():
            server.stop_accepting()

    async def stop(self, timeout_s: float) -> None:
        """Close every connection as soon as its request in progress is answered, after `timeout_s`
        at the latest."""
        await asyncio.gather(*(server.stop(timeout_s) for server in self.servers()))


async def check_listeners(config: BrokerConfig) -> None:
    """Bind each listener for a moment. Raises StartError if one cannot be bound."""
    endpoints = list(config.broker_listeners) if config.is_broker else []
    if config.opens_controller_listeners:
        endpoints[:0] = config.controller_listeners
    ports = [endpoint.port for endpoint in endpoints]
    for endpoint in endpoints:
        listener = _listener(config, endpoint)
        try:
            sock = await bind(
                asyncio.get_running_loop(), listener, config, ports.count(listener.port) > 1
            )
        except OSError as error:
            raise _unusable_listener(config, error) from error
        sock.close()


def _listener(config: BrokerConfig, endpoint: EndPoint) -> Listener:
    """Return the listener of an endpoint, with the connection limits of the configuration; it is
    not bound yet."""
    name = endpoint.listener_name
    plain = Listener(name, endpoint.host or "", endpoint.port, endpoint.security_protocol)
    return limited(plain, config)


def _of_controllers(config: BrokerConfig) -> BrokerConfig:
    """Return the configuration for the controller's listeners.

    Clients cannot use up the connections of nodes: max.connections and the creation rate of the
    whole broker are left out. Limits of addresses and of listeners stay.
    """
    return config._replace(max_connections=UNLIMITED, max_connection_creation_rate=UNLIMITED)


def with_own_host(config: BrokerConfig) -> BrokerConfig:
    """Return `config` with this machine's name in the advertised controller listeners without a
    host: voters tell it to others."""
    return config._replace(
        advertised_controller_listeners=tuple(
            replace(endpoint, host=endpoint.host or socket.getfqdn())
            for endpoint in config.advertised_controller_listeners
        )
    )


def _advertised(endpoint: EndPoint, ports: dict[str, int]) -> EndPoint:
    """Return the address to advertise: the bound port for port 0, this machine's name without a
    host."""
    port = endpoint.port or ports[endpoint.listener_name]
    return replace(endpoint, host=endpoint.host or socket.getfqdn(), port=port)


def _request_memory_bytes(config: BrokerConfig) -> int:
    """Return `queued.max.request.bytes`; if it is not set, a share of the memory (in Kafka, no
    limit)."""
    if config.queued_max_request_bytes > 0:
        return config.queued_max_request_bytes
    return memory_limit_bytes() * config.ottla_queued_max_request_memory_percent // 100


def _response_memory_bytes(config: BrokerConfig, request_bytes: int) -> int:
    """Return `ottla.queued.max.response.bytes`; if it is not set, half of the requests' limit."""
    return max(config.ottla_queued_max_response_bytes, 0) or request_bytes // 2


def _unusable_listener(config: BrokerConfig, error: OSError) -> StartError:
    """Return the error of a port that cannot be bound.

    If it is in use, the error names its holder, where the system tells that, and the way to another
    port.
    """
    reason = error.strerror or str(error)
    other = "ottla serve --port PORT" if config.profile_name else "change the port in listeners"
    if error.errno == errno.EACCES:
        return StartError(f"{reason}; a port below 1024 needs root. For another port: {other}")
    if error.errno != errno.EADDRINUSE:
        return StartError(reason)
    from broker.process.port_holder import holder_of_port  # loaded only for an error

    # In the order of binding. Ports that this node has bound already have no holder here.
    listeners = (*config.controller_listeners, *config.broker_listeners)
    holders = [holder_of_port(endpoint.port) for endpoint in listeners if endpoint.port]
    holder = next((text for text in holders if text is not None), None)
    holder_text = "is another broker running?" if holder is None else f"it is held by {holder}."
    return StartError(f"{reason}; {holder_text} For another port: {other}")
