"""Leaders go away under acks=all load: nothing acknowledged is lost, repeated or out of order.

On three real processes, with the shipped configuration. How long it takes is measured by
`python -m tests.chaos.failover_gap`; here only a bound is held that a loaded machine keeps too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.chaos.checker import check
from tests.chaos.cluster_view import ClusterView
from tests.chaos.failover_gap import RawProducer, measure
from tests.chaos.history import History
from tests.chaos.replicas import logged_faults
from tests.chaos.stock_producers import Confluent, StockProducer
from tests.tools.cluster_processes import ClusterProcesses

pytestmark = pytest.mark.timeout(180)

FAILOVER_S = 15
SESSION_S = 9


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterProcesses]:
    secured = request.config.getoption("--secured")
    with ClusterProcesses(3, secured=secured, proxied=True) as running:
        yield running
        assert running.unexpected_deaths() == []
        assert [logged_faults(node.log_text()) for node in running.nodes.values()] == [[], [], []]


@pytest.mark.parametrize(
    ("number", "case", "maker", "bound_s"),
    [
        (1, "kill-leader-and-controller", RawProducer, FAILOVER_S),
        (2, "stop-leader-and-controller", Confluent, FAILOVER_S),
        (3, "cut-off-leader", RawProducer, SESSION_S + FAILOVER_S),
    ],
)
def test_a_leader_goes_away(
    cluster: ClusterProcesses, number: int, case: str, maker: type[StockProducer], bound_s: float
) -> None:
    (found,) = measure(cluster, case, [maker], number)
    assert found.anomalies == [] and found.errors == []
    assert found.gap_s < bound_s


def test_leader_chase(cluster: ClusterProcesses) -> None:
    """R1: five times the leader of one partition is killed, under idempotent load."""
    view = ClusterView(cluster)
    topic = "chase"
    key = f"{topic}-0"
    view.create_topic(topic, 1, min_insync_replicas="2")
    producer = Confluent(cluster.bootstrap, topic, 1, 10**9, cluster.login)
    producer.start()
    for _ in range(5):
        acknowledged = producer.acknowledged()
        deadline = time.monotonic() + FAILOVER_S
        while producer.acknowledged() < acknowledged + 20:
            assert time.monotonic() < deadline, "nothing is acknowledged"
            time.sleep(0.02)
        leader = view.full_isr({key: 3})[key]
        cluster.kill(leader)
        killed = time.monotonic()
        while producer.last_acknowledgement(0) < killed + 0.2:
            assert time.monotonic() < killed + FAILOVER_S, "no other leader"
            time.sleep(0.02)
        cluster.start_node(leader)
    view.full_isr({key: 3})
    producer.stop()
    assert producer.errors == []
    assert producer.acknowledged() == producer.sent
    history = History([*producer.history().events, *view.read_all([key])])
    assert check(history) == []
