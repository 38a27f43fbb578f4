"""Which node tells the cluster's state, and which brokers answer where no quorum fences them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import ApiNotServed
from broker.security.client_guard import ClientGuard
from client import status as module
from client.cluster_status import BrokerState, ClusterStatus, StatusRefused
from client.status import status_of
from client.status_report import report


class Client:
    """Stands for a connection: to a port below 10 there is none, above it serves one API."""

    def __init__(self, host: str, port: int, timeout_s: float, guard: ClientGuard) -> None:
        if port < 10:
            raise ConnectionRefusedError(111, "Connection refused")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, request: Any) -> Any:
        raise ApiNotServed("not served")


def test_without_a_quorum_each_broker_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    brokers = [BrokerState(one, "localhost", 9090 + one, None, one == 3) for one in (1, 2, 3)]
    told = ClusterStatus("abc", brokers, None, 0, 0, [], [], [])
    tried: list[int] = []

    def accepts(_host: str, port: int) -> bool:
        tried.append(port)
        return port == 9091

    monkeypatch.setattr(module, "accepts", accepts)
    monkeypatch.setattr(module, "BlockingClient", Client)
    monkeypatch.setattr(module, "fetch_status", lambda _: told)
    lines = report(status_of([("a", 10)]))
    assert tried == [9091, 9092]
    assert lines[0] == (
        "cluster abc: degraded: broker 3 fenced, the quorum is lost, no active controller answers, "
        "broker 2 not reached"
    )
    assert lines[2:6] == [
        "brokers (1 of 3 alive)",
        "  1  localhost:9091  alive",
        "  2  localhost:9092  takes no connection",
        "  3  localhost:9093  fenced",
    ]


def test_the_first_node_that_answers_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BlockingClient", Client)
    answers: list[object] = []

    def fetch_status(call: Callable[[object], object]) -> ClusterStatus:
        answers.append(call(object()))
        return ClusterStatus("abc", [], None, 0, 0, [], [], [])

    monkeypatch.setattr(module, "fetch_status", fetch_status)
    assert status_of([("a", 1), ("b", 10)]).cluster_id == "abc"
    assert answers == [None], "an API that is not served is no answer, and no failure"
    with pytest.raises(StartError, match=r"no broker answers \(a:1: Connection refused; c:2: "):
        status_of([("a", 1), ("c", 2)])


def test_the_cause_is_the_node_that_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BlockingClient", Client)

    def refuse(_: object) -> ClusterStatus:
        raise StatusRefused("no right")

    monkeypatch.setattr(module, "fetch_status", refuse)
    with pytest.raises(StartError, match="no broker tells the cluster's state") as error:
        status_of([("b", 10), ("a", 1)])
    assert isinstance(error.value.__cause__, StatusRefused)
