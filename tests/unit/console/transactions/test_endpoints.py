"""The endpoints about transactions: lists, waiting records, producers, aborts behind a preview."""

from __future__ import annotations

from typing import Any

import pytest

from client.refusals import Refused
from console.endpoints import BadAsk
from console.transactions import endpoints
from console.transactions.endpoints import ENDPOINTS
from protocol.messages.describe_cluster import DescribeClusterResponse
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.client.transactions.answers import (
    HANGING,
    HUNG_MS,
    IDLE,
    KNOWN,
    STARTED_MS,
    cluster_of,
    described,
)
from tests.unit.console.one_console import OneCluster, answer_of, ask

WAITING = "/api/topics/{topic}/waiting"
PRODUCERS = "/api/topics/{topic}/producers"
ABORT = "/api/transactions/abort"
TO_T1 = {"topic": "t", "partition": 1}
SHOWN = {"producer_id": KNOWN, "epoch": 3, "started_ms": STARTED_MS}


@pytest.fixture(autouse=True)
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the time at which the transaction in t-1 hangs."""
    monkeypatch.setattr(endpoints, "wall_ms", lambda: HUNG_MS + 900_000)


def called(path: str, cluster: ScriptedCluster | None = None, body: Any = None, **q: str) -> Any:
    answer = answer_of(ENDPOINTS, path, writes=path == ABORT)
    return answer(OneCluster(cluster or cluster_of()), ask(body, **q))


def test_the_list_has_transactions_and_waiting_records() -> None:
    found = called("/api/transactions", q="T", states="Ongoing", longer_ms="10")
    (row,) = found["transactions"]
    assert (row["id"], row["started_ms"], row["partitions"]) == ("tx", STARTED_MS, [["t", 0]])
    oldest, other = found["waiting"]
    assert (oldest["partition"], oldest["hangs"], oldest["transactional_id"]) == (1, True, None)
    assert (other["partition"], other["records"], other["transactional_id"]) == (0, 60, "tx")
    assert called("/api/transactions", q="other")["transactions"] == []


def test_no_transaction_hangs_for_a_login_that_may_not_see_all_ids() -> None:
    cluster = cluster_of(
        DescribeClusterRequest=DescribeClusterResponse(cluster_authorized_operations=0)
    )
    found = called("/api/transactions", cluster)
    assert (found["may_abort"], [one["hangs"] for one in found["waiting"]]) == (False, [False] * 2)
    assert not any(one["hangs"] for one in called(WAITING, cluster, topic="t")["partitions"])
    with pytest.raises(Refused, match="no Alter on the cluster"):
        called(ABORT, cluster, TO_T1)


def test_the_records_of_a_topic_that_wait() -> None:
    found = called(WAITING, topic="t")
    assert (found["records"], found["denied"]) == (70, False)
    since = {one["partition"]: one["since_ms"] for one in found["partitions"]}
    assert since == {0: STARTED_MS, 1: HUNG_MS}


def test_producers_with_an_open_transaction_come_first() -> None:
    found = called(PRODUCERS, topic="t", partition="0")
    ids = [(one["producer_id"], one["transactional_id"]) for one in found["producers"]]
    assert ids == [(KNOWN, "tx"), (IDLE, None)]
    assert (found["of"], found["stable"], found["end"]) == (2, 40, 100)
    with pytest.raises(BadAsk):
        called(PRODUCERS, topic="t", partition="-1")
    with pytest.raises(BadAsk, match="Odd is none of Ongoing"):
        called("/api/transactions", states="Odd")


def test_the_preview_of_an_abort_changes_nothing() -> None:
    cluster = cluster_of()
    plan = called(ABORT, cluster, {"id": "tx"})
    assert (plan["aborted"], plan["producer_id"], plan["epoch"]) == (False, KNOWN, 3)
    assert [(one["partition"], one["records"]) for one in plan["partitions"]] == [(0, 60)]
    assert cluster.asked_for("InitProducerIdRequest") == []


def test_an_abort_fences_the_id_of_the_preview() -> None:
    cluster = cluster_of()
    body = {"id": "tx", **SHOWN, "execute": True}
    assert called(ABORT, cluster, body)["aborted"]
    (request,) = cluster.asked_for("InitProducerIdRequest")
    assert (request.transactional_id, request.transaction_timeout_ms) == ("tx", 60_000)


def test_another_transaction_than_that_of_the_preview_is_not_aborted() -> None:
    cluster = cluster_of()
    for body in (
        {"id": "tx", **SHOWN, "epoch": 2, "execute": True},
        {"id": "tx", **SHOWN, "started_ms": STARTED_MS - 1, "execute": True},
        {**TO_T1, **SHOWN, "execute": True},
    ):
        with pytest.raises(Refused, match="since the preview"):
            called(ABORT, cluster, body)
    ended = cluster_of(
        DescribeTransactionsRequest=described([], transaction_state="CompleteCommit")
    )
    with pytest.raises(Refused, match="no open transaction"):
        called(ABORT, ended, {"id": "tx", **SHOWN, "execute": True})
    for one in (cluster, ended):
        assert one.asked_for("InitProducerIdRequest") == []
        assert one.asked_for("WriteTxnMarkersRequest") == []


def test_a_hanging_transaction_is_aborted_by_a_marker() -> None:
    cluster = cluster_of()
    plan = called(ABORT, cluster, TO_T1)
    assert (plan["transactional_id"], plan["producer_id"], plan["epoch"]) == (None, HANGING, 2)
    assert cluster.asked_for("WriteTxnMarkersRequest") == []
    shown = {name: plan[name] for name in SHOWN}
    body = {**TO_T1, **shown, "execute": True}
    assert called(ABORT, cluster, body)["aborted"]
    assert len(cluster.asked_for("WriteTxnMarkersRequest")) == 1


def test_no_marker_ends_a_transaction_that_a_coordinator_knows() -> None:
    with pytest.raises(Refused, match="no hanging transaction"):
        called(ABORT, None, {"topic": "t", "partition": 0})


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"id": ""},
        {"topic": "t"},
        {"topic": "t", "partition": "1"},
        {"topic": "t", "partition": 1 << 64},
        {"id": "tx", "execute": True},
        {"id": "tx", **SHOWN, "epoch": 1.5, "execute": True},
    ],
)
def test_a_request_that_names_no_transaction(body: Any) -> None:
    with pytest.raises(BadAsk):
        called(ABORT, None, body)
