"""What a shell is offered at a tab."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from broker.command.cli import ottla
from broker.command.client import cluster as cluster_module
from broker.config.start_error import StartError
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from tests.unit.broker.command.client.scripted import ScriptedCluster, topic_of


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ScriptedCluster:
    found = ScriptedCluster(
        [topic_of("orders"), topic_of("offers"), topic_of("__x", is_internal=True)],
        {"ListGroupsRequest": lambda _: ListGroupsResponse(groups=[ListedGroup("billing")])},
    )
    monkeypatch.setattr(cluster_module, "Cluster", lambda *_: found)
    return found


def offered(words: str, incomplete: str) -> list[str]:
    complete = ShellComplete(ottla, {}, "ottla", "_OTTLA_COMPLETE")
    return [one.value for one in complete.get_completions(words.split(), incomplete)]


def test_topics(cluster: ScriptedCluster) -> None:
    assert offered("consume", "") == ["offers", "orders"]
    assert offered("topic describe", "or") == ["orders"]
    assert offered("consume", "_") == ["__x"]
    assert offered("config show --topic", "o") == ["offers", "orders"]


def test_groups(cluster: ScriptedCluster) -> None:
    assert set(offered("group describe", "")) == {"billing"}
    assert set(offered("consume orders --group", "b")) == {"billing"}
    assert offered("group describe", "x") == []


def test_nothing_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def connect(*arguments: Any) -> None:
        asked.append(arguments)
        raise StartError("no broker answers")

    monkeypatch.setattr(cluster_module, "Cluster", connect)
    assert offered("consume --bootstrap-server there:1", "") == []
    assert asked[0][0] == "there:1" and asked[0][2] <= 1, "who waits at a prompt waits a second"


def test_commands(cluster: ScriptedCluster) -> None:
    assert offered("", "prod") == ["produce"]
    assert click.Context(ottla).command.name == "ottla"
