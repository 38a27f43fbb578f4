"""What a shell is offered at a tab."""

from __future__ import annotations

from typing import Any

import pytest
from click.shell_completion import ShellComplete

from broker.config.start_error import StartError
from client import cluster as cluster_module
from command.cli import ottla
from tests.unit.client.scripted import ScriptedCluster, topic_of


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ScriptedCluster:
    topics = [topic_of("orders"), topic_of("offers"), topic_of("__x", is_internal=True)]
    scripted = ScriptedCluster(topics)
    monkeypatch.setattr(cluster_module, "ClusterClient", lambda *_: scripted)
    return scripted


def offered(words: str, incomplete: str) -> list[str]:
    complete = ShellComplete(ottla, {}, "ottla", "_OTTLA_COMPLETE")
    return [one.value for one in complete.get_completions(words.split(), incomplete)]


def test_topics(cluster: ScriptedCluster) -> None:
    assert offered("consume", "") == ["offers", "orders"]
    assert offered("topic describe", "or") == ["orders"]
    assert offered("consume", "_") == ["__x"]
    assert offered("config show --topic", "o") == ["offers", "orders"]


def test_nothing_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def connect(*arguments: Any) -> None:
        asked.append(arguments)
        raise StartError("no broker answers")

    monkeypatch.setattr(cluster_module, "ClusterClient", connect)
    assert offered("consume --bootstrap-server there:1", "") == []
    assert asked[0][0] == "there:1" and asked[0][2] <= 1, "who waits at a prompt waits a second"
