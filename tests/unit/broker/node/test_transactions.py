from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker.node.transactions import NodeTransactions
from broker.transactions.marker_sender import NoLeader
from protocol.api_keys import ApiKey
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from storage.topic_partition import TopicPartition
from tests.unit.broker.apis.api_fixture import Cluster
from tests.unit.broker.node_fixture import Running


class Broker:
    """As much of a `BrokerServer` as is asked without a transaction."""

    def __init__(self) -> None:
        self.cluster = Cluster((1, 2))
        self.config = SimpleNamespace(
            node_id=1,
            transaction_state_log_num_partitions=50,
            inter_broker_listener_name="PLAINTEXT",
        )
        self.requests = SimpleNamespace(apis={})

    @property
    def image(self) -> Any:
        return self.cluster.image

    def endpoint_of(self, broker_id: int) -> tuple[str, int] | None:
        return {1: ("one", 9092), 2: ("two", 9092)}.get(broker_id)


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_a_marker_goes_to_the_leader_and_nowhere_for_a_deleted_topic(broker: Broker) -> None:
    transactions = NodeTransactions(broker)  # type: ignore[arg-type]
    leader_of = transactions._leader_of
    assert leader_of(TopicPartition("a", 0)) is NoLeader.FOR_GOOD
    broker.cluster.topic("a", 1, replicas=(2,), leader=2)
    assert leader_of(TopicPartition("a", 0)) == (2, "two", 9092)
    assert leader_of(TopicPartition("a", 1)) is NoLeader.FOR_GOOD
    broker.cluster.topic("b", 1, replicas=(2,), leader=-1)
    assert leader_of(TopicPartition("b", 0)) is NoLeader.FOR_NOW


def test_a_coordinator_is_the_leader_of_the_ids_partition(broker: Broker) -> None:
    transactions = NodeTransactions(broker)  # type: ignore[arg-type]
    assert transactions._coordinator_of("t") is None
    assert transactions.partition_for("t") == ord("t") % 50
    broker.cluster.topic("__transaction_state", 3, replicas=(2,), leader=2)
    assert transactions.partition_for("t") == ord("t") % 3
    assert transactions._coordinator_of("t") == (2, "two", 9092)


def test_markers_of_this_broker_go_to_its_own_api(broker: Broker) -> None:
    asked: list[Any] = []

    def handle(context: Any, request: Any, respond: Callable[[Any], None]) -> None:
        asked.append((context.api_key, context.api_version, request))
        respond("written")

    broker.requests.apis[ApiKey.WRITE_TXN_MARKERS] = SimpleNamespace(handle=handle)
    request, answers = WriteTxnMarkersRequest(), list[Any]()
    transactions = NodeTransactions(broker)  # type: ignore[arg-type]
    transactions._write_markers_here(request, answers.append)
    assert asked == [(ApiKey.WRITE_TXN_MARKERS, 2, request)] and answers == ["written"]


def test_a_node_without_transactions_makes_no_coordinator(tmp_path: Path) -> None:
    running = Running(tmp_path)
    broker = running.node.broker
    assert broker is not None
    broker.transactions.on_resigned(3)
    broker.transactions.metadata_changed()
    assert broker.transactions.unknown_destination_count == 0
    assert "coordinator" not in vars(broker.transactions)
    assert broker.transactions.coordinator is broker.transactions.coordinator
    assert broker.transactions.unknown_destination_count == 0
    running.stop()


def test_nothing_of_it_is_loaded_by_a_start() -> None:
    code = (
        "import sys, broker.node.broker_server; "
        "print([m for m in sys.modules if 'transactions.' in m])"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
