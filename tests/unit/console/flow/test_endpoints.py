"""What the page is told of nodes and their traces, and that sending is a write."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from broker.config.start_error import StartError
from console.flow import endpoints
from console.flow.endpoints import ENDPOINTS, FlowView, TabStream
from console.flow.trace_reader import GONE, HOW_TO, NodeTraces, NoTraces
from tests.unit.client.scripted import ScriptedCluster, topic_of
from tests.unit.console.flow.trace_samples import appended, copy, trace
from tests.unit.console.one_console import OneCluster, answer_of, ask, plain


class View:
    """Nodes that say what a test wants: an exception, or what they tell."""

    def __init__(self, **says: Any) -> None:
        self.says: dict[int, Any] = {int(name[1:]): said for name, said in says.items()}
        self.asked: list[tuple[int, int]] = []

    def folders(self) -> dict[int, list[str]]:
        return {node_id: [str(node_id)] for node_id in self.says}

    def why_none(self) -> str:
        return "no folder is named"

    def may_describe(self, topic: str) -> bool:
        return topic != "secret"

    def news(self, folders: list[str], since: int) -> NodeTraces:
        node_id = int(folders[0])
        self.asked.append((node_id, since))
        said = self.says[node_id]
        if isinstance(said, Exception):
            raise said
        return said  # type: ignore[no-any-return]


def test_a_look_tells_what_is_new_and_who_tells_nothing() -> None:
    secret = trace(2, appended("secret", 0))
    view = View(
        n1=NodeTraces(1, 5, [trace(1, appended("t", 0)), secret], []),
        n2=NodeTraces(2, 8, [], [copy("t", 0, 1), copy("secret", 0, 1)]),
        n3=NoTraces(GONE),
    )
    tab = TabStream(view)  # type: ignore[arg-type]
    found = plain(tab.next())
    assert found is not None
    assert [one["id"] for one in found["traces"]] == ["1-1"]
    assert [(one["node"], one["topic"]) for one in found["copies"]] == [(2, "t")]
    assert found["nodes"][1:] == [{"node": 2, "why": None}, {"node": 3, "why": GONE}]
    view.says |= {1: NodeTraces(1, 5, [], []), 2: NodeTraces(2, 8, [], [])}
    assert plain(tab.next()) is None
    assert view.asked[-3:] == [(1, 5), (2, 8), (3, 0)]
    view.says[3] = NodeTraces(3, 1, [], [])
    again = plain(tab.next())
    assert again is not None and again["nodes"][2]["why"] is None


def told_by(says: dict[str, list[Any]]) -> Any:
    """A view whose folders say one thing after the other."""
    view = FlowView.__new__(FlowView)

    def asked(folder: str, since: int) -> NodeTraces:
        said = says[folder].pop(0)
        if isinstance(said, Exception):
            raise said
        return NodeTraces(1, said, [{"since": since}], [])

    view._ask = asked
    return view


def test_the_directory_that_has_the_socket_speaks_for_its_node() -> None:
    view = told_by({"a": [NoTraces(HOW_TO)], "b": [7]})
    assert view.news(["a", "b"], 3).revision == 7
    with pytest.raises(NoTraces, match="does not run any more"):
        told_by({"a": [NoTraces(GONE)], "b": [NoTraces(HOW_TO)]}).news(["a", "b"], 3)


def test_a_node_that_was_started_anew_is_asked_for_all() -> None:
    told = told_by({"a": [2, 2]}).news(["a"], 9)
    assert told.traces == [{"since": 0}]


def test_the_page_begins_with_topics_and_why_there_is_nothing() -> None:
    cluster = ScriptedCluster([topic_of("t", [1, 2]), topic_of("i", [1], is_internal=True)])
    console = OneCluster(cluster)
    console.put(FlowView, View())
    found = answer_of(ENDPOINTS, "/api/flow")(console, ask())
    assert found["why"] == "no folder is named"
    assert {"name": "t", "partitions": 2, "replicas": 2} in found["topics"]
    console.put(FlowView, View(n1=None))
    assert answer_of(ENDPOINTS, "/api/flow")(console, ask())["why"] is None


def test_the_stream_goes_on_while_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints.time, "sleep", lambda _: None)
    console = OneCluster(ScriptedCluster())
    console.put(FlowView, View(n1=StartError("no broker answers")))
    stream = answer_of(ENDPOINTS, "/api/flow/live")(console, ask())
    assert list(itertools.islice(stream, 2)) == [{"error": "no broker answers"}] * 2
