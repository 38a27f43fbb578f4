"""`ottla migrate check`: the lines, the objects and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.migration.contents import ClusterContents, GroupContents
from command.cli import run_cli
from command.migration import migrate_command


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> list[ClusterContents]:
    """Return the given clusters one after the other; the last is returned again and again."""
    made: list[ClusterContents] = []

    class Cluster:
        def __init__(self, servers: str, config: str | None, **_: Any) -> None:
            assert (servers, config) == ("h:1", None)

        def __enter__(self) -> Cluster:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(migrate_command, "ClusterClient", Cluster)
    monkeypatch.setattr(migrate_command, "read_cluster", lambda _cluster, now_ms: made[-1])
    return made


def test_a_cluster_that_is_ready(
    contents: list[ClusterContents], capsys: pytest.CaptureFixture[str]
) -> None:
    contents.append(ClusterContents(now_ms=0, features={"share.version": 2}))
    assert run_cli(["migrate", "check", "-b", "h:1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == ["ready: 0 REFUSED, 0 UNKNOWN, 0 WAIT, 0 UNREAD, 0 IGNORED"]


def test_a_cluster_with_streams_groups(
    contents: list[ClusterContents], capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka's controllers register no node that does not serve the finalized level."""
    contents.append(ClusterContents(now_ms=0, features={"streams.version": 1}))
    assert run_cli(["migrate", "check", "-b", "h:1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("REFUSED  feature streams.version: ")
    assert lines[2].endswith(" -> kafka-features downgrade --feature streams.version=0")


def test_a_cluster_that_is_not(
    contents: list[ClusterContents], capsys: pytest.CaptureFixture[str]
) -> None:
    contents.append(ClusterContents(now_ms=0, groups=[GroupContents("g\n", "Swarm")]))
    assert run_cli(["migrate", "check", "-b", "h:1"]) == 1
    out, error = capsys.readouterr()
    assert "UNKNOWN  group g" in out and len(out.splitlines()) == 4 and error == ""
    assert run_cli(["migrate", "check", "-b", "h:1", "--json"]) == 1
    finding, verdict = map(json.loads, capsys.readouterr().out.splitlines())
    assert finding["severity"] == "UNKNOWN" and finding["places"] == ["group g\n"]
    assert not verdict["ready"] and verdict["counts"]["UNKNOWN"] == 1


def test_no_broker_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["migrate", "check", "-b", "127.0.0.1:1"]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("ottla: no broker answers") and error.count("\n") == 1


def test_the_help_explains_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["migrate", "check", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {word} " in out for word in ("REFUSED", "UNKNOWN", "WAIT", "UNREAD", "IGNORED"))
