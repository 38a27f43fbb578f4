"""The server's sockets: an Acceptor per listener, its processors, and the request channel of all.

Owns: listening sockets, the order of starting and stopping. Never: requests or their bytes.
Follows Kafka's `SocketServer`: `num.network.threads` processors a listener, connections given to
them in turn; limits of connections as in `connection_quotas` (KIP-402).

    server = SocketServer(listeners, config, handle, io_pool)
    await server.start()        # bound, not accepting yet: `ports` are known, and can be advertised
    server.accept()
    await server.stop(timeout_s)
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence

from broker.config.values import BrokerConfig
from broker.network.acceptor import Acceptor, plain_address
from broker.network.busy_poll import BusyPoll
from broker.network.connection_quotas import UNLIMITED, ConnectionQuotas
from broker.network.handshakes import Handshakes
from broker.network.listening_socket import Listener, bind
from broker.network.processor import Processor
from broker.network.request_channel import (
    Expect,
    Handle,
    HandleAtOnce,
    RequestChannel,
    never_at_once,
    never_expected,
)
from broker.network.request_memory import RequestMemory
from broker.scheduler import BlockingPool
from broker.security.logins import Logins
from protocol.frames.framing import SCRATCH_BYTES, SIZE_BYTES

_log = logging.getLogger(f"ottla.{__name__}")

_ABORT_TIMEOUT_S = 5.0


class SocketServer:
    """All listeners of one node: see the module."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        config: BrokerConfig,
        handle: Handle,
        io_pool: BlockingPool,
        loop: asyncio.AbstractEventLoop | None = None,
        on_closed: Callable[[str], None] | None = None,
        at_once: HandleAtOnce = never_at_once,
        expect: Expect = never_expected,
        room: Callable[[], int] = lambda: UNLIMITED,
    ) -> None:
        """`config` has the real limit of `queued.max.request.bytes`, not -1 for a share of memory.
        Jobs of `io_pool` hold the handler slots. `on_closed(connection id)`: one is gone.
        `room()`: how many more connections there are descriptors for."""
        self.loop = loop or asyncio.get_running_loop()
        self.config = config
        self.memory = RequestMemory(
            config.queued_max_request_bytes,
            config.socket_request_max_bytes + SIZE_BYTES,
            self.loop.call_soon,
        )
        self.channel = RequestChannel(
            handle,
            io_pool,
            config.queued_max_requests,
            self.loop.call_soon,
            at_once,
            expect,
            self.memory,
        )
        self.busy_poll = BusyPoll(self.loop.call_soon)
        self.quotas = ConnectionQuotas(
            config.max_connections,
            config.max_connections_per_ip,
            None,
            config.inter_broker_listener_name,
            room,
        )
        self.acceptors: list[Acceptor] = []
        self._listeners = listeners
        self._io_pool = io_pool
        self._on_closed = on_closed
        self._scratch = bytearray(SCRATCH_BYTES)

    @property
    def ports(self) -> dict[str, int]:
        """Listener name → the port it is bound to; after `start`."""
        return {acceptor.listener.name: acceptor.port for acceptor in self.acceptors}

    @property
    def processors(self) -> list[Processor]:
        """Of all listeners, by id."""
        return [p for acceptor in self.acceptors for p in acceptor.processors]

    @property
    def connection_count(self) -> int:
        """Open connections of all listeners."""
        return self.quotas.total

    @property
    def quiet_s(self) -> float:
        """For how long nothing has come or left on any connection."""
        last = max((p.last_active_s for p in self.processors), default=0.0)
        return time.monotonic() - last

    async def start(self, *, accept: bool = True) -> None:
        """Bind all listeners, then accept; OSError, and nothing bound, if one cannot be bound.

        With `accept` False, connections wait in the backlog until `accept()`.
        """
        try:
            for host, limit in self.config.max_connections_per_ip_overrides.items():
                for address in await _addresses_of_override(self.loop, host):
                    self.quotas.per_ip_overrides[address] = limit
            for listener in self._listeners:
                await self._add_listener(listener)
        except BaseException:
            for acceptor in self.acceptors:
                acceptor.close()
            self.acceptors.clear()
            raise
        if accept:
            self.accept()

    def accept(self) -> None:
        """Take connections from now on."""
        for acceptor in self.acceptors:
            acceptor.start()

    def stop_accepting(self) -> None:
        """Close the listening sockets; connections go on."""
        for acceptor in self.acceptors:
            acceptor.close()

    async def stop(self, timeout_s: float = 5.0) -> None:
        """Stop accepting, answer the requests under way, close all connections.

        What is not answered, or not taken by its peer, within `timeout_s` is cut off. The pool is
        its owner's to close, after this.
        """
        self.stop_accepting()
        for processor in self.processors:
            processor.shut_down()
        try:
            async with asyncio.timeout(timeout_s):
                for processor in self.processors:
                    await processor.wait_empty()
        except TimeoutError:
            self.close_connections("the broker stops")
            try:
                async with asyncio.timeout(_ABORT_TIMEOUT_S):
                    for processor in self.processors:
                        await processor.wait_empty()
            except TimeoutError:  # what else is to be stopped, the logs first of all, still is
                _log.error("%d connection(s) did not close: this is a bug", self.connection_count)
        for processor in self.processors:
            processor.close()

    def close_connections(
        self, reason: str, spared: Callable[[str], bool] = lambda _: False
    ) -> int:
        """Close those that are open now, at once, but the `spared`, by their ids; new ones are
        taken. How many there were."""
        return sum(processor.abort(reason, spared) for processor in self.processors)

    def close_excess_connections(self) -> None:
        """A protected listener has taken a connection over the limit: others give up one each."""
        if self.quotas.total <= self.quotas.max_connections:
            return
        for acceptor in self.acceptors:
            if not self.quotas.exceeded_by(acceptor.listener.name):
                continue
            candidates = [
                c for p in acceptor.processors if (c := p.least_recently_used()) is not None
            ]
            if candidates:
                oldest = min(candidates, key=lambda c: c.last_active_s)
                oldest.abort("max.connections is exceeded by the inter-broker listener")
                return

    def _shares_its_port(self, listener: Listener) -> bool:
        """Whether another listener has the port too, on an address of the other family."""
        return listener.port != 0 and any(
            one.port == listener.port for one in self._listeners if one is not listener
        )

    async def _add_listener(self, listener: Listener) -> None:
        self.quotas.add_listener(listener.name, listener.max_connections)
        sock = await bind(self.loop, listener, self.config, self._shares_its_port(listener))
        config = self.config
        first_id = len(self.processors)
        count = listener.num_network_threads or config.num_network_threads
        handshakes = Handshakes(self.loop, config.ottla_tls_handshakes_max)
        logged = config.ottla_authentication_failures_logged_per_second
        logins = Logins(listener.name, logged, time.monotonic)
        if listener.guard is not None:
            logins = listener.guard.logins
        processors = [
            Processor(
                self.loop,
                first_id + number,
                listener,
                config,
                self.channel,
                self.busy_poll,
                self._io_pool,
                self.quotas,
                self._scratch,
                self.memory,
                self._is_between_brokers(listener),
                handshakes,
                logins,
                self._on_closed,
            )
            for number in range(count)
        ]
        self.acceptors.append(
            Acceptor(
                self.loop, listener, sock, processors, self.quotas, self.close_excess_connections
            )
        )

    def _is_between_brokers(self, listener: Listener) -> bool:
        """Whether no client uses it, as far as the configuration tells."""
        return len(self._listeners) > 1 and listener.name == self.config.inter_broker_listener_name


async def _addresses_of_override(loop: asyncio.AbstractEventLoop, host: str) -> list[str]:
    """What a host of `max.connections.per.ip.overrides` resolves to; OSError names the key."""
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        text = f"max.connections.per.ip.overrides: {host}: {error.strerror}"
        raise OSError(error.errno, text) from error
    return [plain_address(str(info[4][0])) for info in found]
