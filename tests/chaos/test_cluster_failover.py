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
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterProcesses]:
    secured = request.config.getoption("--secured")
    with ClusterProcesses(3, secured=secured, proxied=True) as running:
        yield running
        assert running.unexpected_deaths() == []
        assert [logged_faults(node.log_text()) for node in running.nodes.values()] == [[], [], []]


@pytest.mark.parametrize(
    ("number", "case", "maker"),
    [
        (1, "kill-leader-and-controller", RawProducer),
        (2, "stop-leader-and-controller", Confluent),
        (3, "cut-off-leader", RawProducer),
    ],
)
def test_a_leader_goes_away(
    cluster: ClusterProcesses, number: int, case: str, maker: type[StockProducer]
) -> None:
    (found,) = measure(cluster, case, [maker], number)
    assert found.anomalies == [] and found.errors == []


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
        wait_until(
            lambda wanted=acknowledged + 20: producer.acknowledged() >= wanted, "acknowledgements"
        )
        leader = view.full_isr({key: 3})[key]
        cluster.kill(leader)
        killed = time.monotonic()
        wait_until(
            lambda since=killed + 0.2: producer.last_acknowledgement(0) >= since, "another leader"
        )
        cluster.start_node(leader)
    view.full_isr({key: 3})
    producer.stop()
    assert producer.errors == []
    assert producer.acknowledged() == producer.sent
    history = History([*producer.history().events, *view.read_all([key])])
    assert check(history) == []
