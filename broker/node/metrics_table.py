"""Which values of a node are shown, under the names of Kafka's MBeans. They are read when asked.

Follows the MBeans of a 4.3 broker: type, then name, then tags as labels. What Kafka has no name for
is named after what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker.coordinator.coordinator_runtime import ShardState
from broker.groups.classic.group import CLASSIC
from broker.groups.classic.group_state import ClassicGroupState
from broker.groups.consumer.state.group import CONSUMER
from broker.groups.consumer.state.group_state import ConsumerGroupState
from broker.metrics import Labels, RecentShare, Sample
from broker.network.limits.connection_quotas import ConnectionQuotas
from broker.network.server.connection_state import State
from broker.node.partition_metrics import (
    min_isr,
    register_lag_metrics,
    register_partition_metrics,
)
from broker.node.quorum_metrics import register_quorum_metrics
from broker.node.request_metrics import register_request_metrics
from broker.quotas.client_quota_manager import Measurement, QuotaKind
from broker.quotas.limits import CustomTags, Tags
from controller.decisions.unclean_elections import UncleanElections
from controller.metadata.image import NO_LEADER, PartitionRegistration

if TYPE_CHECKING:
    from broker.groups.group_coordinator import GroupCoordinator
    from broker.groups.group_metrics import GroupMetrics
    from broker.metrics import Metrics
    from broker.network.server.acceptor import Acceptor
    from broker.network.server.processor import Processor
    from broker.network.server.socket_server import SocketServer
    from broker.node.broker_server import BrokerServer
    from broker.node.node import Node
    from broker.replication.partition import Partition
    from broker.replication.replica_manager import ReplicaManager
    from broker.security.logins import Logins

_SERVER = "kafka_server_replicamanager"

_PARTITION_COUNTS: tuple[tuple[str, str, Callable[[Partition], bool]], ...] = (
    ("partitioncount", "Partitions with a replica here", lambda _: True),
    ("leadercount", "Partitions that this broker leads", lambda one: one.is_leader),
    (
        "underreplicatedpartitions",
        "Partitions led here with replicas that are not in sync",
        lambda one: one.is_leader and len(one.isr) < len(one.replicas),
    ),
    (
        "underminisrpartitioncount",
        "Partitions led here with fewer replicas in sync than min.insync.replicas",
        lambda one: one.is_leader and len(one.isr) < min_isr(one),
    ),
    (
        "atminisrpartitioncount",
        "Partitions led here with just as many replicas in sync as min.insync.replicas",
        lambda one: one.is_leader and len(one.isr) == min_isr(one),
    ),
    (
        "reassigningpartitions",
        "Partitions led here whose replicas are being moved",
        lambda one: one.is_leader and bool(one.adding_replicas or one.removing_replicas),
    ),
)


_GROUPS = "kafka_server_group_coordinator_metrics"
_CLASSIC_GROUPS = "kafka_coordinator_group_groupmetadatamanager"
_GROUP_COUNTS: tuple[tuple[str, str, Callable[[GroupMetrics], int]], ...] = (
    ("offset_commit", "Offsets that were committed", lambda one: one.offset_commits),
    ("offset_deletion", "Offsets that OffsetDelete took away", lambda one: one.offset_deletions),
    ("offset_expiration", "Offsets that expired", lambda one: one.offset_expirations),
    (
        "group_completed_rebalance",
        "Generations of classic groups that their leaders assigned",
        lambda one: one.completed_rebalances,
    ),
    (
        "consumer_group_rebalance",
        "Epochs of consumer groups that heartbeats began",
        lambda one: one.consumer_rebalances,
    ),
)


_QUOTA_LEVELS = {
    QuotaKind.PRODUCE: ("byte_rate", "Bytes a second that a client with a quota produces"),
    QuotaKind.FETCH: ("byte_rate", "Bytes a second that a client with a quota fetches"),
    QuotaKind.REQUEST: ("request_time", "Percent of the event loop that a client with a quota has"),
    QuotaKind.CONTROLLER_MUTATION: ("tokens", "Partitions that a client may still change"),
}


def _count(replicas: ReplicaManager, counts: Callable[[Partition], bool]) -> int:
    return sum(counts(partition) for partition in replicas.partitions())


def register_node_metrics(
    node: Node, sockets: SocketServer | None, controllers: SocketServer | None = None
) -> None:
    """Give `node.metrics` everything that is read from its owners. `sockets` are the broker's,
    `controllers` those of the listeners of controllers."""
    _controller(node)
    register_quorum_metrics(node)
    _quotas(node)
    servers = [one for one in (sockets, controllers) if one is not None]
    if servers:
        _requests_under_way(node.metrics, servers[0])
        _connections(node.metrics, servers)
        _shares(node, servers)
    if node.broker is not None:
        _replicas(node, node.broker)
        parts = node.broker.parts
        register_partition_metrics(node.metrics, parts.replicas)
        _groups(node.metrics, parts.groups)
        register_lag_metrics(node.metrics, parts.groups, parts.replicas)
        register_request_metrics(node.metrics, node.broker.requests, partial(_now_s, node))
    elif node.controller_server is not None:
        handler = node.controller_server.requests
        register_request_metrics(node.metrics, handler, partial(_now_s, node))


def _now_s(node: Node) -> float:
    return node.ports.scheduler.monotonic_ms() / 1000


def _replicas(node: Node, broker: BrokerServer) -> None:
    metrics, replicas = node.metrics, broker.parts.replicas
    for word, help_text, counts in _PARTITION_COUNTS:
        metrics.gauge(f"{_SERVER}_{word}", help_text, partial(_count, replicas, counts))
    metrics.gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Log directories that failed since the start",
        lambda: len(node.failures.offline_dirs()),
    )
    view = replicas.leader_view
    metrics.counters(
        f"{_SERVER}_isrshrinks",
        "Replicas that this broker's leaders took out of sync",
        lambda: (({}, float(view.isr_shrinks)),),
    )
    metrics.counters(
        f"{_SERVER}_isrexpands",
        "Replicas that this broker's leaders took in sync",
        lambda: (({}, float(view.isr_expands)),),
    )
    metrics.counters(
        f"{_SERVER}_failedisrupdates",
        "Changes of who is in sync that the controller refused",
        lambda: (({}, float(view.failed_isr_updates)),),
    )
    metrics.gauge(
        f"{_SERVER}_offlinereplicacount",
        "Replicas in log directories that failed",
        lambda: replicas.offline_count,
    )
    metrics.gauges(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "Requests that wait",
        lambda: (
            ({"delayedOperation": purgatory.name}, float(len(purgatory)))
            for purgatory in (
                replicas.produce_purgatory,
                replicas.fetch_purgatory,
                replicas.delete_records_purgatory,
            )
        ),
    )
    metrics.gauge(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        "Decided transactions with partitions whose leader is not known",
        lambda: broker.parts.transactions.unknown_destination_count,
    )
    metrics.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions",
        lambda: len(replicas.sessions),
    )


def _groups(metrics: Metrics, groups: GroupCoordinator) -> None:
    for word, help_text, read in _GROUP_COUNTS:
        metrics.counters(f"{_GROUPS}_{word}", help_text, partial(_counted, groups.metrics, read))

    def by_protocol() -> Iterator[Sample]:
        counts = groups.group_counts()
        for protocol in (CLASSIC, CONSUMER):
            of_it = (count for (kind, _), count in counts.items() if kind == protocol)
            yield {"protocol": protocol}, float(sum(of_it))

    def by_state() -> Iterator[Sample]:
        counts = groups.group_counts()
        for state in ConsumerGroupState:
            yield {"state": state.value}, float(counts[CONSUMER, state.value])

    def in_state(state: str) -> float:
        return groups.group_counts()[CLASSIC, state]

    def by_load() -> Iterator[Sample]:
        counts = groups.partition_counts()
        for state in (ShardState.ACTIVE, ShardState.FAILED, ShardState.LOADING):
            yield {"state": state.value.lower()}, float(counts[state])

    metrics.gauges(f"{_GROUPS}_group_count", "Groups by protocol", by_protocol)
    metrics.gauges(f"{_GROUPS}_consumer_group_count", "Consumer groups by state", by_state)
    metrics.gauges(
        f"{_GROUPS}_num_partitions", "Partitions of __consumer_offsets led here", by_load
    )
    metrics.gauge(f"{_CLASSIC_GROUPS}_numoffsets", "Committed offsets", groups.offset_count)
    metrics.gauge(
        f"{_CLASSIC_GROUPS}_numgroups",
        "Classic groups",
        lambda: sum(count for (kind, _), count in groups.group_counts().items() if kind == CLASSIC),
    )
    for one in ClassicGroupState:
        metrics.gauge(
            f"{_CLASSIC_GROUPS}_numgroups{one.value.lower()}",
            f"Classic groups that are {one.value}",
            partial(in_state, one.value),
        )


def _counted(counted: GroupMetrics, read: Callable[[GroupMetrics], int]) -> tuple[Sample, ...]:
    return (({}, float(read(counted))),)


def _controller(node: Node) -> None:
    metrics, name = node.metrics, "kafka_controller_kafkacontroller"
    metrics.gauge(
        f"{name}_activecontrollercount",
        "1 where this node is the active controller",
        lambda: node.controller.controller.is_active,
    )
    metrics.gauge(
        "kafka_server_broker_metadata_metrics_metadata_apply_error_count",
        "Changes of the metadata that a part of this node failed on",
        lambda: node.controller.loader.apply_errors,
    )
    metrics.gauge(f"{name}_globaltopiccount", "Topics", lambda: len(node.image.topics.by_name))
    metrics.gauge(
        f"{name}_globalpartitioncount",
        "Partitions of all topics",
        lambda: sum(len(topic.partitions) for topic in node.image.topics.by_name.values()),
    )
    metrics.gauge(
        f"{name}_offlinepartitionscount",
        "Partitions that nobody leads",
        lambda: sum(one.leader == NO_LEADER for one in _registrations(node)),
    )
    metrics.gauge(
        f"{name}_preferredreplicaimbalancecount",
        "Partitions that are not led by their first replica",
        lambda: sum(one.leader != one.preferred_replica for one in _registrations(node)),
    )
    metrics.gauge(
        f"{name}_activebrokercount",
        "Registered brokers that are not fenced",
        lambda: sum(not broker.fenced for broker in node.image.brokers.values()),
    )
    metrics.gauge(
        f"{name}_fencedbrokercount",
        "Registered brokers that are fenced",
        lambda: sum(broker.fenced for broker in node.image.brokers.values()),
    )

    unclean = UncleanElections()
    node.controller.add_listener(unclean.metadata_changed)
    metrics.counters(
        "kafka_controller_controllerstats_uncleanleaderelections",
        "Elections of leaders that may lack committed records, as this node has heard of them",
        lambda: (({}, float(unclean.count)),),
    )


def _registrations(node: Node) -> Iterator[PartitionRegistration]:
    for topic in node.image.topics.by_name.values():
        yield from topic.partitions.values()


def _quotas(node: Node) -> None:
    """Of clients with a quota; tags as Kafka has them, or those of a callback of one's own."""
    quotas = node.shared.quotas

    def read(kind: QuotaKind, value: Callable[[Measurement], float]) -> Iterator[Sample]:
        for one in quotas.managers[kind].measurements(quotas.now_ms()):
            yield _tags(one.tags), value(one)

    for kind, (word, text) in _QUOTA_LEVELS.items():
        name = f"kafka_server_{kind.metric_group.lower()}"
        node.metrics.gauges(f"{name}_{word}", text, partial(read, kind, lambda one: one.level))
        node.metrics.gauges(
            f"{name}_throttle_time",
            "How long a client had to wait for it lately, in milliseconds, on average",
            partial(read, kind, lambda one: one.throttle_ms),
        )


def _tags(tags: Tags | CustomTags) -> Labels:
    if isinstance(tags, Tags):
        return {"user": tags.user, "client_id": tags.client_id}
    return {re.sub(r"\W", "_", name): value for name, value in tags}


def _requests_under_way(metrics: Metrics, sockets: SocketServer) -> None:
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
        yield {}, float(sockets.unsent_answers)
        for one in sockets.processors:
            yield {"processor": str(one.processor_id)}, float(one.unsent_answers)

    metrics.gauges(
        "kafka_network_requestchannel_responsequeuesize",
        "Connections with answers that their clients have not taken yet",
        unsent,
    )
    metrics.gauge(
        "kafka_network_socketserver_expiredconnectionskilledcount",
        "Connections closed after connections.max.idle.ms",
        lambda: sum(one.expired for one in sockets.processors),
    )


def _processors(servers: Sequence[SocketServer]) -> Iterator[tuple[Labels, Processor]]:
    for acceptor in _acceptors(servers):
        for one in (*acceptor.processors, *acceptor.leaving):
            name = acceptor.listener.name
            yield {"listener": name, "networkProcessor": str(one.processor_id)}, one


def _acceptors(servers: Sequence[SocketServer]) -> Iterator[Acceptor]:
    for one in servers:
        yield from one.acceptors


def _connections(metrics: Metrics, servers: Sequence[SocketServer]) -> None:
    name = "kafka_server_socket_server_metrics"
    for word, text, read in _PROCESSOR_COUNTS:
        metrics.counters(f"{name}_{word}", text, partial(_per_processor, servers, read))
    for word, text, read in _PROCESSOR_VALUES:
        metrics.gauges(f"{name}_{word}", text, partial(_per_processor, servers, read))
    metrics.gauges(
        f"{name}_connections",
        "Open connections by what their clients say they run on",
        lambda: _software(servers),
    )
    _limits(metrics, servers)


def _per_processor(
    servers: Sequence[SocketServer], read: Callable[[Processor], int]
) -> Iterator[Sample]:
    for labels, one in _processors(servers):
        yield labels, float(read(one))


def _software(servers: Sequence[SocketServer]) -> Iterator[Sample]:
    for labels, processor in _processors(servers):
        found = Counter(
            (one.context.client_software_name, one.context.client_software_version)
            for one in processor.connections()
        )
        for (name, version), count in found.items():
            of_client = {"clientSoftwareName": name, "clientSoftwareVersion": version}
            yield of_client | labels, float(count)


def _muted(processor: Processor) -> int:
    return sum(one.core.state is State.MUTED for one in processor.connections())


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


def _limits(metrics: Metrics, servers: Sequence[SocketServer]) -> None:
    name = "kafka_server_socket_server_metrics"

    def waits(read: Callable[[ConnectionQuotas, str, float], float]) -> Iterator[Sample]:
        for server in servers:
            for one in server.acceptors:
                listener = one.listener.name
                value = read(server.quotas, listener, server.loop.time() * 1000)
                yield {"listener": listener}, value

    metrics.gauges(
        f"{name}_connection_accept_throttle_time",
        "How long connections had to wait lately that came too fast, in milliseconds, on average",
        lambda: waits(ConnectionQuotas.accept_throttle_ms),
    )
    metrics.gauges(
        f"{name}_ip_connection_accept_throttle_time",
        "The same of those whose address made too many, until they were closed",
        lambda: waits(ConnectionQuotas.ip_throttle_ms),
    )
    metrics.counters(
        f"{name}_connections_limited",
        "How often a limit made clients wait for their connection, or closed it",
        lambda: (
            ({"listener": one.listener.name, "limit": limit}, float(count))
            for server in servers
            for one in server.acceptors
            for limit, count in server.quotas.not_served(one.listener.name).items()
        ),
    )
    metrics.counters(
        f"{name}_stalled_connections_closed",
        "Connections that took no answers while too many bytes of answers waited",
        lambda: (({}, float(sum(one.unsent.given_up for one in servers))),),
    )
    metrics.gauge(
        f"{name}_throttled_connections",
        "Connections of addresses over their quota that wait to be closed",
        lambda: sum(len(one.throttled) for one in servers),
    )


def _shares(node: Node, servers: Sequence[SocketServer]) -> None:
    """Of about the last minute. The loop is the same for all; handlers and processors are those of
    the broker, where there is one."""
    metrics, sockets, pool = node.metrics, servers[0], servers[0].io_pool

    now_s = partial(_now_s, node)
    handlers, loop = RecentShare(now_s(), 0.0), RecentShare(now_s(), sockets.busy_s)
    blocked: dict[str, RecentShare] = {}

    def loop_idle() -> float:
        return max(0.0, 1.0 - loop.read(now_s(), sockets.busy_s))

    def acceptors_blocked() -> Iterator[Sample]:
        for one in _acceptors(servers):
            share = blocked.setdefault(one.listener.name, RecentShare(now_s(), 0.0))
            yield {"listener": one.listener.name}, share.read(now_s(), one.blocked_s)

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
            ({"networkProcessor": str(one.processor_id)}, loop_idle()) for one in sockets.processors
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
    """Logins to secured listeners, under Kafka's names."""

    def counted(attribute: str) -> Iterator[Sample]:
        for one in logins:
            yield {"listener": one.listener_name}, float(getattr(one, attribute))

    for name, (attribute, text) in _LOGINS.items():
        metrics.counters(
            f"kafka_server_socket_server_metrics_{name}", text, partial(counted, attribute)
        )
