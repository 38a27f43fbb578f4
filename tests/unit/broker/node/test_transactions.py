from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.node.transactions import NodeTransactions
from broker.transactions.marker_sender import NoLeaderReason
from ground.topic_partition import TopicPartition
from tests.unit.broker.apis.api_fixture import Cluster
from tests.unit.broker.node_fixture import Running

TOPIC = "__transaction_state"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster((1, 2))


def transactions_of(cluster: Cluster) -> NodeTransactions:
    """As much of it as is asked without a transaction."""
    unused: Any = None
    return NodeTransactions(
        *(unused, unused, cluster, unused, unused),
        lambda: len(topic.partitions) if (topic := cluster.image.topics.get(TOPIC)) else 50,
        unused,
        {1: ("one", 9092), 2: ("two", 9092)}.get,
        unused,
    )


def test_a_marker_goes_to_the_leader_and_nowhere_for_a_deleted_topic(cluster: Cluster) -> None:
    transactions = transactions_of(cluster)
    leader_of = transactions._leader_of
    assert leader_of(TopicPartition("a", 0)) is NoLeaderReason.FOR_GOOD
    cluster.topic("a", 1, replicas=(2,), leader=2)
    assert leader_of(TopicPartition("a", 0)) == (2, "two", 9092)
    assert leader_of(TopicPartition("a", 1)) is NoLeaderReason.FOR_GOOD
    cluster.topic("b", 1, replicas=(2,), leader=-1)
    assert leader_of(TopicPartition("b", 0)) is NoLeaderReason.FOR_NOW


def test_a_coordinator_is_the_leader_of_the_ids_partition(cluster: Cluster) -> None:
    transactions = transactions_of(cluster)
    assert transactions._coordinator_of("t") is None
    assert transactions.partition_for("t") == ord("t") % 50
    cluster.topic(TOPIC, 3, replicas=(2,), leader=2)
    assert transactions.partition_for("t") == ord("t") % 3
    assert transactions._coordinator_of("t") == (2, "two", 9092)


def test_a_node_without_transactions_makes_no_coordinator(tmp_path: Path) -> None:
    running = Running(tmp_path)
    assert running.node.broker is not None
    transactions = running.node.broker.parts.transactions
    transactions.on_resigned(3)
    transactions.metadata_changed()
    assert transactions.unknown_destination_count == 0
    assert "coordinator" not in vars(transactions)
    assert transactions.coordinator is transactions.coordinator
    assert transactions.unknown_destination_count == 0
    running.stop()


def test_nothing_of_it_is_loaded_by_a_start() -> None:
    code = "import sys, broker.node.node; print([m for m in sys.modules if 'transactions.' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
