"""The server's sockets: an Acceptor per listener, its processors, and the shared request channel.

Owns: listening sockets, the order of starting and stopping. Never: requests or their bytes.
Follows Kafka's `SocketServer`: `num.network.threads` processors a listener, connections given to
them in turn; limits of connections as in `connection_quotas` (KIP-402).

    server = SocketServer(listeners, config, handle, io_pool)
    await server.start(accept=False)    # bound: `ports` are known, and can be advertised
    server.accept()
    await server.stop(timeout_s)
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker.config.values import BrokerConfig
from broker.loop.scheduler import BlockingPool
from broker.network.limits.connection_quotas import UNLIMITED, ConnectionQuotas
from broker.network.limits.creation_rates import IpConnectionDelay, no_ip_delay
from broker.network.limits.request_memory import RequestMemory
from broker.network.server.acceptor import Acceptor
from broker.network.server.busy_poll import BusyPoll
from broker.network.server.delayed_closes import DelayedCloses
from broker.network.server.handshakes import Handshakes
from broker.network.server.listening_socket import Listener, bind, limited
from broker.network.server.network_parts import NetworkParts
from broker.network.server.processor import Processor
from broker.network.server.request_channel import (
    Expect,
    Handle,
    HandleAtOnce,
    RequestChannel,
    never_at_once,
    never_expected,
)
from broker.network.server.unsent_answers import UnsentAnswers
from broker.network.socket_calls import thread_cpu_clock
from broker.quotas.sampled_rate import Window
from broker.security.logins import Logins
from protocol.frames.framing import SCRATCH_BYTES, SIZE_BYTES
from protocol.ip_address import address_of_socket, without_zone

_log = logging.getLogger(f"ottla.{__name__}")

_ABORT_TIMEOUT_S = 5.0
_CLOSES_PER_TURN = 64
_OPENING_S = 0.3
"""The time until the next look for connections to close, because those that are still opening
cannot be closed yet."""
_CHANGEABLE = (
    "max_connection_creation_rate",
    "max_connections",
    "max_connections_per_ip",
    "max_connections_per_ip_overrides",
    "num_network_threads",
)


class SocketServer:
    """The listeners of one node, with their connections and the request channel."""

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
        opened_from: IpConnectionDelay = no_ip_delay,
    ) -> None:
        """Create a server that is not bound yet.

        `config` has the real limits of `queued.max.request.bytes` and of
        `ottla.queued.max.response.bytes`, not -1. Jobs of `io_pool` hold the handler slots.
        `on_closed` is called with the id of each closed connection. `room()` returns how many more
        connections there are descriptors for. `opened_from` applies the rate limits of addresses.
        """
        self.loop = loop or asyncio.get_running_loop()
        self.config = config
        self.memory = _request_memory(config, self.loop)
        self.channel = RequestChannel(
            handle,
            io_pool,
            config.queued_max_requests,
            self.loop.call_soon,
            at_once,
            expect,
            self.memory,
            config.ottla_requests_turn_ms / 1000.0,
            time.perf_counter,
        )
        self.unsent = UnsentAnswers(
            config.ottla_queued_max_response_bytes, time.monotonic, self.loop.call_later
        )
        self.busy_poll = BusyPoll(self.loop.call_soon)
        self.quotas = _connection_quotas(config, room, opened_from)
        self.throttled = DelayedCloses(self.loop, config.ottla_throttled_connections_max)
        self._cpu_clock = thread_cpu_clock()  # of the loop's thread
        self.acceptors: list[Acceptor] = []
        self._makers: dict[Acceptor, Callable[[], Processor]] = {}
        self._processor_ids = itertools.count()
        self._resolving: asyncio.Task[None] | None = None
        self._shedding: asyncio.TimerHandle | None = None
        self._listeners = listeners
        self.io_pool = io_pool
        self._parts = NetworkParts(
            loop=self.loop,
            config=config,
            channel=self.channel,
            busy_poll=self.busy_poll,
            blocking=io_pool,
            quotas=self.quotas,
            memory=self.memory,
            unsent=self.unsent,
            scratch=bytearray(SCRATCH_BYTES),
            on_closed=on_closed,
        )

    @property
    def ports(self) -> dict[str, int]:
        """The bound port of each listener, by its name; after `start`."""
        return {acceptor.listener.name: acceptor.port for acceptor in self.acceptors}

    @property
    def processors(self) -> list[Processor]:
        """The processors of all listeners, with those that get no new connections."""
        return [p for a in self.acceptors for p in (*a.processors, *a.leaving)]

    @property
    def connection_count(self) -> int:
        """The number of open connections, with rejected ones that are closed after a delay."""
        return self.quotas.total + len(self.throttled)

    @property
    def busy_s(self) -> float:
        """The CPU seconds of the loop's thread, which runs all processors."""
        return self._cpu_clock()

    @property
    def unsent_answers(self) -> int:
        """The number of connections with answers that their clients have not taken yet."""
        return sum(processor.unsent_answers for processor in self.processors)

    @property
    def quiet_s(self) -> float:
        """The seconds since the last byte, either way, on any connection."""
        last = max((p.last_active_s for p in self.processors), default=0.0)
        return time.monotonic() - last

    async def start(self, *, accept: bool = True) -> None:
        """Bind all listeners, then accept. Without `accept`, connections wait in the backlog until
        `accept()`.

        Raises OSError, with nothing bound, if a listener cannot be bound.
        """
        try:
            overrides = await self._per_ip_overrides(self.config)
            self.quotas.limit_addresses(self.config.max_connections_per_ip, overrides)
            for listener in self._listeners:
                await self._add_listener(listener)
        except BaseException:
            for acceptor in self.acceptors:
                acceptor.close()
            self.acceptors.clear()
            self._makers.clear()
            raise
        if accept:
            self.accept()

    def accept(self) -> None:
        """Start accepting connections."""
        for acceptor in self.acceptors:
            acceptor.start()

    def stop_accepting(self) -> None:
        """Close the listening sockets, and rejected connections that wait for a delayed close.
        Other connections stay."""
        for acceptor in self.acceptors:
            acceptor.close()
        self.throttled.close_all()
        for pending in (self._resolving, self._shedding):
            if pending is not None:
                pending.cancel()

    async def stop(self, timeout_s: float = 5.0) -> None:
        """Stop accepting, answer the requests in progress, and close all connections.

        Connections with a request not answered, or an answer not taken, within `timeout_s` are
        aborted. The owner of `io_pool` closes it after this.
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
            except TimeoutError:  # logged only, so that the logs and other parts still stop
                _log.error("%d connection(s) did not close: this is a bug", self.connection_count)
        for processor in self.processors:
            processor.close()

    def close_connections(
        self, reason: str, spared: Callable[[str], bool] = lambda _: False
    ) -> int:
        """Close all open connections now, except those whose id is `spared`; return how many. New
        connections are still accepted."""
        return sum(processor.abort(reason, spared) for processor in self.processors)

    # --- limits that change --------------------------------------------------------------------

    def reconfigure(self, config: BrokerConfig) -> None:
        """Apply the limits on connections and the numbers of processors in `config`, and no other
        key. Connections above the limit of a listener or an address stay. Those above the broker's
        limit are closed, the least recently used ones first."""
        old = self.config
        self.config = old._replace(**{key: getattr(config, key) for key in _CHANGEABLE})
        self.quotas.limit_broker(config.max_connections, config.max_connection_creation_rate)
        for acceptor in self.acceptors:
            limits = limited(acceptor.listener, config)
            self.quotas.limit_listener(
                limits.name, limits.max_connections, limits.max_connection_creation_rate
            )
            self._resize(acceptor, limits.num_network_threads or 1)
        if _limits_per_address(old) != _limits_per_address(config):
            if self._resolving is not None:
                self._resolving.cancel()
            self._resolving = self.loop.create_task(self._limit_addresses(config))
        self.close_excess_connections()

    async def _limit_addresses(self, config: BrokerConfig) -> None:
        """Apply the limits of addresses after resolving their hosts, which may take a while. If a
        host cannot be resolved, log an error and keep the old limits."""
        try:
            overrides = await self._per_ip_overrides(config)
        except OSError as error:
            _log.error("%s: the limits of addresses stay as they are", error.strerror)
        else:
            self.quotas.limit_addresses(config.max_connections_per_ip, overrides)

    async def _per_ip_overrides(self, config: BrokerConfig) -> dict[str, int]:
        """Return `max.connections.per.ip.overrides` with its hosts resolved to addresses. Raises
        OSError if a host cannot be resolved."""
        return {
            address: limit
            for host, limit in config.max_connections_per_ip_overrides.items()
            for address in await _addresses_of_override(self.loop, host)
        }

    def _resize(self, acceptor: Acceptor, count: int) -> None:
        """Change the number of the acceptor's processors to `count`."""
        staying = acceptor.processors[:count]
        added = [self._makers[acceptor]() for _ in range(count - len(staying))]
        acceptor.set_processors([*staying, *added])
        acceptor.drop_empty()

    def close_excess_connections(self) -> None:
        """Close as many connections as are above the broker's limit, the least recently used ones
        of unprotected listeners, a few in each turn of the loop."""
        if self.quotas.total <= self.quotas.max_connections:
            return
        candidates = [
            (connection, bool(self.quotas.exceeded_by(acceptor.listener.name)))
            for acceptor in self.acceptors
            for processor in (*acceptor.processors, *acceptor.leaving)
            for connection in processor.connections()
        ]
        closing = sum(connection.context.closed for connection, _ in candidates)
        excess = self.quotas.total - self.quotas.max_connections - closing
        to_close = heapq.nsmallest(
            min(excess, _CLOSES_PER_TURN),
            (c for c, is_closable in candidates if is_closable and not c.context.closed),
            key=lambda connection: connection.last_active_s,
        )
        for connection in to_close:
            connection.abort("max.connections is exceeded")
        opening = self.quotas.total - len(candidates)
        if excess > len(to_close) and (to_close or opening) and self._shedding is None:
            delay_s = 0.0 if to_close else _OPENING_S
            self._shedding = self.loop.call_later(delay_s, self._shed_more)

    def _shed_more(self) -> None:
        """Close further connections above the broker's limit, in a later turn."""
        self._shedding = None
        self.close_excess_connections()

    def _shares_its_port(self, listener: Listener) -> bool:
        """Return whether another listener has the same port, on an address of the other family."""
        return listener.port != 0 and any(
            other.port == listener.port for other in self._listeners if other is not listener
        )

    async def _add_listener(self, listener: Listener) -> None:
        """Bind a listener's port, and make its acceptor and processors; nothing is accepted yet.

        Raises OSError if the port cannot be bound.
        """
        self.quotas.add_listener(
            listener.name, listener.max_connections, listener.max_connection_creation_rate
        )
        sock = await bind(self.loop, listener, self.config, self._shares_its_port(listener))
        handshakes = Handshakes(self.loop, self.config.ottla_tls_handshakes_max)
        logged = self.config.ottla_authentication_failures_logged_per_second
        logins = Logins(listener.name, logged, time.monotonic)
        if listener.guard is not None:
            logins = listener.guard.logins
        make = partial(self._make_processor, listener, handshakes, logins)
        count = listener.num_network_threads or self.config.num_network_threads
        acceptor = Acceptor(
            self.loop,
            listener,
            sock,
            [make() for _ in range(count)],
            self.quotas,
            self.close_excess_connections,
            self.throttled,
        )
        self._makers[acceptor] = make
        self.acceptors.append(acceptor)

    def _make_processor(
        self, listener: Listener, handshakes: Handshakes, logins: Logins
    ) -> Processor:
        return Processor(
            self._parts,
            next(self._processor_ids),
            listener,
            handshakes,
            logins,
            is_between_brokers=self._is_between_brokers(listener),
        )

    def _is_between_brokers(self, listener: Listener) -> bool:
        """Return whether the listener is the inter-broker listener and there are others, so that
        clients are expected to use those."""
        return len(self._listeners) > 1 and listener.name == self.config.inter_broker_listener_name


def _request_memory(config: BrokerConfig, loop: asyncio.AbstractEventLoop) -> RequestMemory:
    frame_max = config.socket_request_max_bytes + SIZE_BYTES
    return RequestMemory(config.queued_max_request_bytes, frame_max, loop.call_soon)


def _connection_quotas(
    config: BrokerConfig, room: Callable[[], int], opened_from: IpConnectionDelay
) -> ConnectionQuotas:
    return ConnectionQuotas(
        config.max_connections,
        config.max_connections_per_ip,
        None,
        config.inter_broker_listener_name,
        room,
        config.max_connection_creation_rate,
        opened_from,
        Window(config.quota_window_num, config.quota_window_size_seconds * 1000),
    )


def _limits_per_address(config: BrokerConfig) -> tuple[int, Mapping[str, int]]:
    return config.max_connections_per_ip, config.max_connections_per_ip_overrides


async def _addresses_of_override(loop: asyncio.AbstractEventLoop, host: str) -> list[str]:
    """Return the addresses of a host in `max.connections.per.ip.overrides`. Raises OSError, naming
    the key, if it cannot be resolved."""
    try:
        infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        text = f"max.connections.per.ip.overrides: {host}: {error.strerror}"
        raise OSError(error.errno, text) from error
    return [without_zone(address_of_socket(info[4])) for info in infos]
