"""Metrics of the network: requests under way, connections, their limits, logins.

Follows Kafka's `socket-server-metrics`, and the MBeans of its `RequestChannel`, `SocketServer`,
`Processor`, `Acceptor` and `KafkaRequestHandlerPool`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker.metrics import Labels, RecentShare, Sample
from broker.network.limits.connection_quotas import ConnectionQuotas
from broker.network.server.connection_state import ConnectionState

if TYPE_CHECKING:
    from broker.metrics import Metrics
    from broker.network.server.acceptor import Acceptor
    from broker.network.server.processor import Processor
    from broker.network.server.socket_server import SocketServer
    from broker.security.logins import Logins

_NAME = "kafka_server_socket_server_metrics"


def register_socket_metrics(
    metrics: Metrics, servers: Sequence[SocketServer], now_s: Callable[[], float]
) -> None:
    """Register metrics of the socket servers of a node.

    Metrics of requests are those of the first server, which is the broker's if there is one.
    `now_s()` returns the seconds of a clock that never goes back.
    """
    _register_requests(metrics, servers[0])
    _register_connections(metrics, servers)
    _register_limits(metrics, servers)
    _shares(metrics, servers, now_s)


def _register_requests(metrics: Metrics, sockets: SocketServer) -> None:
    """Register the metrics of waiting requests, and of the bytes of requests and answers."""
    channel = sockets.channel
    metrics.gauge(
        "kafka_network_requestchannel_requestqueuesize",
        "Requests that wait for a handler",
        lambda: channel.queue_size,
    )
    metrics.gauge(
        "kafka_network_requestchannel_busyhandlers",
        "Handlers that serve a request (of num.io.threads)",
        lambda: channel.busy_slots,
    )
    memory = sockets.memory
    metrics.gauge(
        "kafka_network_socketserver_memorypoolused",
        "Bytes of requests that are received, wait or are handled (of queued.max.request.bytes)",
        lambda: memory.held_bytes,
    )
    metrics.gauge(
        "kafka_network_socketserver_memorypoolavailable",
        "Bytes that further requests may take",
        lambda: max(0, memory.limit_bytes - memory.held_bytes),
    )
    metrics.gauge(
        "kafka_network_socketserver_unsentresponsebytes",
        "Bytes of answers that wait for their clients (of ottla.queued.max.response.bytes)",
        lambda: sockets.unsent.held_bytes,
    )

    def unsent() -> Iterator[Sample]:
        """Yield the number of connections with unsent answers, in total and by processor."""
        yield {}, float(sockets.unsent_answers)
        for processor in sockets.processors:
            yield {"processor": str(processor.processor_id)}, float(processor.unsent_answers)

    metrics.gauges(
        "kafka_network_requestchannel_responsequeuesize",
        "Connections with answers that their clients have not taken yet",
        unsent,
    )
    metrics.gauge(
        "kafka_network_socketserver_expiredconnectionskilledcount",
        "Connections closed after connections.max.idle.ms",
        lambda: sum(processor.expired for processor in sockets.processors),
    )


def _processors(servers: Sequence[SocketServer]) -> Iterator[tuple[Labels, Processor]]:
    """Yield each processor of all listeners, with its listener and id as labels."""
    for acceptor in _acceptors(servers):
        for processor in (*acceptor.processors, *acceptor.leaving):
            name = acceptor.listener.name
            yield {"listener": name, "networkProcessor": str(processor.processor_id)}, processor


def _acceptors(servers: Sequence[SocketServer]) -> Iterator[Acceptor]:
    """Yield the acceptors of all servers."""
    for server in servers:
        yield from server.acceptors


def _register_connections(metrics: Metrics, servers: Sequence[SocketServer]) -> None:
    """Register the metrics of each processor's connections and of their clients' software."""
    for word, text, read in _PROCESSOR_COUNTS:
        metrics.counters(f"{_NAME}_{word}", text, partial(_per_processor, servers, read))
    for word, text, read in _PROCESSOR_VALUES:
        metrics.gauges(f"{_NAME}_{word}", text, partial(_per_processor, servers, read))
    metrics.gauges(
        f"{_NAME}_connections",
        "Open connections by what their clients say they run on",
        partial(_software_counts, servers),
    )


def _per_processor(
    servers: Sequence[SocketServer], read: Callable[[Processor], int]
) -> Iterator[Sample]:
    """Yield the value that `read` returns for each processor, with the processor's labels."""
    for labels, processor in _processors(servers):
        yield labels, float(read(processor))


def _software_counts(servers: Sequence[SocketServer]) -> Iterator[Sample]:
    """Yield the number of connections of each client software, by processor."""
    for labels, processor in _processors(servers):
        counts = Counter(
            (connection.context.client_software_name, connection.context.client_software_version)
            for connection in processor.connections()
        )
        for (name, version), count in counts.items():
            of_client = {"clientSoftwareName": name, "clientSoftwareVersion": version}
            yield of_client | labels, float(count)


def _muted(processor: Processor) -> int:
    """Return the number of connections that are not read, because a quota was exceeded."""
    return sum(
        connection.core.state is ConnectionState.MUTED for connection in processor.connections()
    )


_PROCESSOR_COUNTS: tuple[tuple[str, str, Callable[[Processor], int]], ...] = (
    ("connection_creation", "Connections that a network processor was given", lambda p: p.accepted),
    (
        "connection_close",
        "Connections of a network processor that are closed",
        lambda p: p.accepted - p.connection_count,
    ),
    ("incoming_byte", "Bytes that have come", lambda p: p.received_bytes),
    ("outgoing_byte", "Bytes of answers that have left", lambda p: p.sent_bytes),
)
_PROCESSOR_VALUES: tuple[tuple[str, str, Callable[[Processor], int]], ...] = (
    (
        "connection_count",
        "Open connections of a network processor (of num.network.threads a listener)",
        lambda p: p.connection_count,
    ),
    (
        "expired_connections_killed_count",
        "Connections closed after connections.max.idle.ms",
        lambda p: p.expired,
    ),
    ("muted_connections", "Connections that are not read since a quota holds them back", _muted),
)


def _register_limits(metrics: Metrics, servers: Sequence[SocketServer]) -> None:
    """Register the metrics of connections that limits delay or close."""

    def waits(read: Callable[[ConnectionQuotas, str, float], float]) -> Iterator[Sample]:
        """Yield the value that `read` returns for each listener at the current time."""
        for server in servers:
            for acceptor in server.acceptors:
                listener = acceptor.listener.name
                value = read(server.quotas, listener, server.loop.time() * 1000)
                yield {"listener": listener}, value

    metrics.gauges(
        f"{_NAME}_connection_accept_throttle_time",
        "How long connections had to wait lately that came too fast, in milliseconds, on average",
        lambda: waits(ConnectionQuotas.accept_throttle_ms),
    )
    metrics.gauges(
        f"{_NAME}_ip_connection_accept_throttle_time",
        "The same of those whose address made too many, until they were closed",
        lambda: waits(ConnectionQuotas.ip_throttle_ms),
    )
    metrics.counters(
        f"{_NAME}_connections_limited",
        "How often a limit made clients wait for their connection, or closed it",
        lambda: (
            ({"listener": acceptor.listener.name, "limit": limit}, float(count))
            for server in servers
            for acceptor in server.acceptors
            for limit, count in server.quotas.not_served(acceptor.listener.name).items()
        ),
    )
    metrics.counter(
        f"{_NAME}_stalled_connections_closed",
        "Connections that took no answers while too many bytes of answers waited",
        lambda: sum(server.unsent.closed_count for server in servers),
    )
    metrics.gauge(
        f"{_NAME}_throttled_connections",
        "Connections of addresses over their quota that wait to be closed",
        lambda: sum(len(server.throttled) for server in servers),
    )


def _shares(metrics: Metrics, servers: Sequence[SocketServer], now_s: Callable[[], float]) -> None:
    """Register shares of the time, over about the last minute.

    The event loop is common to all servers. Handlers and processors are those of the first server,
    which is the broker's if there is one.
    """
    sockets, pool = servers[0], servers[0].io_pool
    handlers, loop = RecentShare(now_s(), 0.0), RecentShare(now_s(), sockets.busy_s)
    blocked: dict[str, RecentShare] = {}

    def loop_idle() -> float:
        """Return the share of about the last minute in which the event loop used no CPU."""
        return max(0.0, 1.0 - loop.read(now_s(), sockets.busy_s))

    def acceptors_blocked() -> Iterator[Sample]:
        """Yield, for each listener, the share of about the last minute in which limits kept it from
        accepting."""
        for acceptor in _acceptors(servers):
            share = blocked.setdefault(acceptor.listener.name, RecentShare(now_s(), 0.0))
            yield {"listener": acceptor.listener.name}, share.read(now_s(), acceptor.blocked_s)

    metrics.gauge(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
        "Share of the time that handlers (num.io.threads) had no job that blocks, 0 to 1",
        lambda: max(0.0, 1.0 - handlers.read(now_s(), pool.busy_s) / pool.size),
    )
    metrics.gauge(
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        "Share of the time that the event loop used no CPU, 0 to 1",
        loop_idle,
    )
    metrics.gauges(
        "kafka_network_processor_idlepercent",
        "The same, as each network processor shares that loop",
        lambda: (
            ({"networkProcessor": str(processor.processor_id)}, loop_idle())
            for processor in sockets.processors
        ),
    )
    metrics.gauges(
        "kafka_network_acceptor_acceptorblockedpercent",
        "Share of the time that a listener took no connection since a limit forbade it, 0 to 1",
        acceptors_blocked,
    )


_LOGINS = {
    "successful_authentication": ("succeeded", "Clients that have authenticated"),
    "failed_authentication": ("failed", "Clients that have failed to authenticate"),
    "successful_reauthentication": ("renewed", "Clients that have authenticated again"),
    "failed_reauthentication": ("failed_renewals", "Clients that failed to authenticate again"),
}


def register_login_metrics(metrics: Metrics, logins: Sequence[Logins]) -> None:
    """Register the counts of logins to secured listeners, under Kafka's names."""

    def counted(attribute: str) -> Iterator[Sample]:
        """Yield one count of logins for each listener."""
        for listener_logins in logins:
            yield (
                {"listener": listener_logins.listener_name},
                float(getattr(listener_logins, attribute)),
            )

    for name, (attribute, text) in _LOGINS.items():
        metrics.counters(f"{_NAME}_{name}", text, partial(counted, attribute))
