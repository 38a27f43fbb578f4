"""The overview tells how the cluster is, in the words of `ottla status`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.config.start_error import StartError
from client.cluster_status import (
    BrokerState,
    ClusterStatus,
    PartitionState,
    QuorumState,
    StatusRefused,
)
from client.refusals import Refused
from console.overview import endpoints
from console.overview.endpoints import ENDPOINTS, shown
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.console.one_console import OneCluster, answer_of, ask, plain

HEALTHY = ClusterStatus(
    "abc",
    [BrokerState(1, "one", 9092, None, False), BrokerState(2, "two", 9092, "r", False)],
    QuorumState(2, 7, 100, [], []),
    topics=3,
    partitions=9,
    under_replicated=[],
    under_min_isr=[],
    offline=[],
)


def test_a_healthy_cluster() -> None:
    found = plain(shown(HEALTHY))
    assert (found["healthy"], found["verdict"]) == (True, "healthy")
    assert (found["controller"], found["epoch"]) == (2, 7)
    assert [(one["id"], one["alive"], one["controller"]) for one in found["brokers"]] == [
        (1, True, False),
        (2, True, True),
    ]


def test_one_that_is_not() -> None:
    lacking = PartitionState("t", 0, -1, [1, 2], [2])
    brokers = [
        replace(HEALTHY.brokers[0], fenced=True),
        replace(HEALTHY.brokers[1], reachable=False),
    ]
    status = replace(
        HEALTHY, brokers=brokers, under_replicated=[lacking], offline=[lacking], quorum=None
    )
    found = plain(shown(status))
    assert not found["healthy"]
    assert "1 partition offline" in found["verdict"]
    assert [one["alive"] for one in found["brokers"]] == [False, False]
    assert (found["offline"], found["under_replicated"], found["controller"]) == (1, 1, None)


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        (StatusRefused("no right"), Refused, "the cluster's health is not known: no right"),
        (None, StartError, "no broker answers"),
    ],
)
def test_a_login_without_the_right_is_no_cluster_that_does_not_answer(
    cause: Exception | None, kind: type[Exception], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_args: object, **_options: object) -> ClusterStatus:
        raise StartError("no broker answers") from cause

    monkeypatch.setattr(endpoints, "status_of", refused)
    with pytest.raises(kind, match=text):
        answer_of(ENDPOINTS, "/api/overview")(OneCluster(ScriptedCluster()), ask())
