"""The stream of the map."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.start_error import StartError
from console.replicas import endpoints
from console.replicas.endpoints import ENDPOINTS
from console.replicas.replica_map import Placed
from console.replicas.replica_watch import ReplicaWatch
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.console.one_console import OneCluster, ask, plain_events


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints.time, "sleep", lambda _: None)


def events(console: Any) -> Any:
    (endpoint,) = ENDPOINTS
    assert endpoint.events is not None
    return plain_events(endpoint.events(console, ask()))


def test_a_partition_that_is_gone() -> None:
    assert endpoints._partition(2, ("t", 5), None) == (2, 5, None)
    placed = Placed(1, 0, (1,), (1,), ())
    assert endpoints._partition(0, ("t", 0), placed)[2] == 1


def test_while_no_broker_answers_the_stream_goes_on() -> None:
    answers: list[Any] = [StartError("no broker answers"), None, None]

    class Watch:
        def news(self, since: int, since_event: int) -> Any:
            found = answers.pop(0)
            if found is not None:
                raise found

    console = OneCluster(ScriptedCluster())
    console.put(ReplicaWatch, Watch())
    stream = events(console)
    assert next(stream) == {"error": "no broker answers"}
    assert next(stream) == {"well": True}
    assert next(stream) is None
