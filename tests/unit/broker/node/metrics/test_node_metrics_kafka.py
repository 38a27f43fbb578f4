"""What Apache Kafka tells of network, handlers, quotas and groups is in `/metrics`, too."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from broker.metrics import Kind
from broker.process.server import Server
from broker.quotas.limits import ClientEntity
from tests.golden.metric_names import QUOTAS, Row, recorded
from tests.unit.broker.network.conftest import until
from tests.unit.broker.process.server_fixture import config

SOCKETS, GROUPS = "socket-server-metrics", "group-coordinator-metrics"
NOT_SHOWN = {
    # One loop looks at all sockets: the shares of processors and the histogram of turns tell of it.
    r"socket-server-metrics (io|select|MemoryPool|network-io).*",
    # Counted by API, in kafka_network_requestmetrics.
    r"socket-server-metrics (request|response)-(rate|total|size.*)",
    # One that does not log in again is not told from others.
    r"socket-server-metrics (reauthentication-latency.*|successful-authentication-no-reauth-total)",
    # The sums of all listeners, and one metric for each address: whoever reads can add up.
    r"socket-server-metrics (broker-connection-accept-rate|connection-accept-rate)",
    # Connections held back by a quota are told as muted connections, whichever quota it is.
    r"(Produce|Fetch|Request|ControllerMutation) queue-size",
    # What brokers ask each other is not measured, as no quota counts it.
    r"Request exempt-request-time",
    # The tokens tell the same.
    r"ControllerMutation mutation-rate",
    # A node has one pool for jobs that block.
    r"KafkaRequestHandlerPool (Broker|Controller)RequestHandlerAvgIdlePercent",
    # Coordinators have no threads and no queue of their own, and write each decision as a batch.
    r"group-coordinator-metrics (background|batch|event|thread)-.*",
    # What is being loaded is told by num-partitions.
    r"group-coordinator-metrics partition-load-time-(avg|max)",
    # There are no such groups.
    r"group-coordinator-metrics streams-group-.*",
    # Shown where a listener asks who is there: `register_login_metrics`.
    r"socket-server-metrics (successful|failed)-(re)?authentication-(rate|total)",
}

RATES_OF_GROUPS = [
    name for _, kind, name, _ in recorded() if kind == GROUPS and name.endswith("-rate")
]


def is_left_out(row: Row) -> bool:
    _, kind, name, _ = row
    return any(re.fullmatch(one, f"{kind} {name}") for one in NOT_SHOWN)


def is_of_a_count(row: Row) -> bool:
    """Kafka's rates and totals of its sockets and groups: a count, of which who reads it makes a
    rate."""
    _, kind, name, _ = row
    if kind == GROUPS:
        return re.sub(r"-count$", "-rate", name) in RATES_OF_GROUPS
    return kind == SOCKETS and name.endswith(("-rate", "-total"))


def name_of(row: Row) -> str:
    """In Prometheus, `_total` left out."""
    domain, kind, name, _ = row
    word = re.sub(r"-(rate|total|count)$", "", name) if is_of_a_count(row) else name
    return re.sub(r"\W", "_", f"{domain}_{kind}_{word}").lower()


async def test_each_is_shown_or_has_a_reason_not_to_be(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"num.network.threads": "1"}))
    (endpoint,) = await server.start()
    quotas = server.node.shared.quotas
    for kind, manager in quotas.managers.items():
        manager.put(ClientEntity("ANONYMOUS"), QUOTAS[kind.key])
        manager.take("User:ANONYMOUS", "c", 1.0, quotas.now_ms())
    _, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    assert server.sockets is not None
    await until(lambda: bool(server.sockets and server.sockets.processors[0].connections()))
    shown = {one.name: one for one in server.node.metrics.families()}
    rows = [row for row in recorded() if not is_left_out(row)]
    assert len(rows) > 25
    assert [row for row in rows if name_of(row) not in shown] == []
    for row in rows:
        family = shown[name_of(row)]
        tags = {tag.replace("-", "_") for tag in row[3]}
        told = [{key for key, value in labels.items() if value} for labels, _ in family.samples]
        assert tags in told, row
        assert (family.kind is Kind.COUNTER) == is_of_a_count(row), row
    writer.close()
    await server.stop()


def test_nothing_is_left_out_that_kafka_has_not() -> None:
    names = [f"{kind} {name}" for _, kind, name, _ in recorded()]
    assert [one for one in NOT_SHOWN if not any(re.fullmatch(one, name) for name in names)] == []
