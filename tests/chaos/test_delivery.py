"""What is delivered how often while copiers and brokers die: each of the three semantics.

At most once loses and does not repeat, at least once repeats and does not lose, exactly once does
neither; each is counted, and each has to be what its name says. Then two clients copy, and the
third moves money, through the death of every node and one of every copier. Larger sizes, more
deaths and every client at both: `python -m tests.chaos.exactly_once`, and
`python -m tests.chaos.word_count`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.abandoned_transactions import AbandonedRun
from tests.chaos.cluster_view import ClusterView
from tests.chaos.copier import (
    AT_LEAST_ONCE,
    AT_MOST_ONCE,
    EXACTLY_ONCE,
    CopierOptions,
    CopierProcess,
)
from tests.chaos.copy_audit import Audit, TargetWatch, audit, feed, orders
from tests.chaos.exactly_once import NODES, PARTITIONS, PATIENCE_S, PROPERTIES, CopyRun
from tests.chaos.replicas import logged_faults
from tests.chaos.word_count import WordCountRun
from tests.clients.transactional_clients import CLIENTS
from tests.tools.cluster_processes import OTTLA, ClusterProcesses

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

LANE_RECORDS = 2_000
LINES = 2_000
A_LIFE = 150
"""Records after which a copier dies between two of its steps."""
PER_PARTITION = 200


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterProcesses]:
    """Three nodes for all tests here; whatever they live through is no fault of theirs."""
    peer = str(request.config.getoption("--broker")).replace("apache-", "")
    with ClusterProcesses(NODES, peer=peer, properties=PROPERTIES) as running:
        yield running
        assert running.unexpected_deaths() == []
        if peer == OTTLA:
            assert [logged_faults(n.log_text()) for n in running.nodes.values()] == [[]] * NODES


@pytest.fixture(autouse=True)
def whole(cluster: ClusterProcesses, caplog: pytest.LogCaptureFixture) -> None:
    """Every node runs, whatever the test before has left."""
    for name in ("kafka", "aiokafka"):  # both tell of every connection that a kill has ended
        caplog.set_level(logging.CRITICAL, name)
    for node in cluster.nodes.values():
        if node.process is None:
            cluster.start_node(node.node_id)


def through_crashes(cluster: ClusterProcesses, semantics: str, folder: Path) -> Audit:
    """Two lives that end between two steps, and a third under which a leader dies."""
    view = ClusterView(cluster)
    source, target = f"from-{semantics}", f"to-{semantics}"
    view.create_topic(source, PARTITIONS)
    leaders = view.create_topic(target, PARTITIONS)
    options = CopierOptions(
        client="confluent-kafka",
        servers=cluster.bootstrap,
        source=source,
        target=target,
        partitions=PARTITIONS,
        group=semantics,
        semantics=semantics,
        batch=50,
        abort_every=2,
    )
    feed(cluster.bootstrap, source, PARTITIONS, 0, PER_PARTITION)
    copier = CopierProcess(options, folder / "copier.log")
    for _ in range(2):
        copier.start(CopierOptions(**{**options.__dict__, "die_after": A_LIFE}), keep_alive=False)
        assert copier.wait(120) == -9, copier.told()
    watch = TargetWatch("confluent-kafka", cluster.bootstrap, target, PARTITIONS)
    victim = leaders[f"{target}-0"]
    copier.start()
    cluster.kill(victim)
    feed(cluster.bootstrap, source, PARTITIONS, PER_PARTITION, 2 * PER_PARTITION)
    try:
        for partition in range(PARTITIONS):
            (value,) = orders(partition, 2 * PER_PARTITION - 1, 2 * PER_PARTITION)
            watch.wait_for_value(partition, b"copy/" + value, PATIENCE_S, copier.told)
    finally:
        copier.kill()
        watch.stop()
        cluster.start_node(victim)
    view.full_isr({f"{target}-{part}": NODES for part in range(PARTITIONS)})
    return audit(watch.seen, "copy", PARTITIONS, 2 * PER_PARTITION)


def test_at_most_once_loses_and_does_not_repeat(cluster: ClusterProcesses, tmp_path: Path) -> None:
    found = through_crashes(cluster, AT_MOST_ONCE, tmp_path)
    assert found.missing > 0
    assert found[1:5] == (0, 0, 0, 0), found


def test_at_least_once_repeats_and_does_not_lose(cluster: ClusterProcesses, tmp_path: Path) -> None:
    found = through_crashes(cluster, AT_LEAST_ONCE, tmp_path)
    assert found.repeated > 0
    assert (found.missing, *found[2:5]) == (0, 0, 0, 0), found


def test_exactly_once_does_neither(cluster: ClusterProcesses, tmp_path: Path) -> None:
    found = through_crashes(cluster, EXACTLY_ONCE, tmp_path)
    assert found.clean, found


def test_copies_and_money_through_all_deaths(cluster: ClusterProcesses, tmp_path: Path) -> None:
    """T1, T2 and T12."""
    work = (*((client, "copy") for client in CLIENTS[1:]), (CLIENTS[0], "transfer"))
    run = CopyRun(cluster, tmp_path, LANE_RECORDS, work, batch=50, copier_deaths=1)
    result = run.run()
    print(result)
    assert run.clean, result


def test_what_dead_producers_leave_open_is_swept(cluster: ClusterProcesses) -> None:
    """I10, T7: twenty producers, a coordinator that dies, and then all producers at once."""
    run = AbandonedRun(cluster, producers=20, seconds=4, kills=1, timeout_ms=4_000)
    result = run.run()
    print(result)
    assert run.clean, result


@pytest.mark.java
def test_streams_count_words_through_all_deaths(cluster: ClusterProcesses, tmp_path: Path) -> None:
    result = WordCountRun(cluster, tmp_path, LINES).run()
    print(result)
    assert (result["missing"], result["wrong"]) == (0, 0), result
