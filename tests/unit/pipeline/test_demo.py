"""The order of the demo, with processes that only say what real ones would."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline import demo
from pipeline.auditing import timeline
from pipeline.demo import Demo
from pipeline.errors import PipelineError
from pipeline.spark.connection import Connection

SAID = {
    "ottla cluster": [
        "bootstrap servers 127.0.0.1:5,127.0.0.1:6",
        *(f"node {node} serves 127.0.0.1:{node} (process {100 + node})" for node in (1, 2, 3)),
    ],
    "stream": [
        "stream: begins with topic cdr",
        "stream: aggregates: batch 1, 5 records",
        "stream: done: nothing new for 8 s",
    ],
}
EVENTS: list[tuple[Any, ...]] = []
CODES: dict[str, int] = {}


class Script:
    """A process; the generator comes ten percent further each time it is looked at."""

    def __init__(
        self, name: str, arguments: list[str], say: Callable[[str], None], environment: Any
    ) -> None:
        EVENTS.append(("start", name, arguments, environment))
        self.name = name
        self.say = say
        self.pid = 7
        self.lines = list(SAID.get(name, []))
        self._percent = 0
        self._ended = False

    @property
    def running(self) -> bool:
        if self.name == "generate":
            return self._percent <= 100
        return not self._ended

    def find(self, pattern: str) -> re.Match[str] | None:
        if self.name == "generate" and "%" in pattern:
            self._percent += 10
            self.lines.append(f"generate: 5 of 9 ({self._percent} %), 3/s")
        found = [re.search(pattern, line) for line in reversed(self.lines)]
        return next((one for one in found if one is not None), None)

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        found = self.find(pattern)
        assert found is not None
        return found

    def wait(self, seconds: float) -> int:
        return CODES.get(self.name, 0)

    def kill(self) -> None:
        EVENTS.append(("killed", self.name))
        self._ended = True

    def end(self, seconds: float) -> None:
        EVENTS.append(("ended", self.name))


class Topics:
    """A cluster that is asked for the topic before anything runs on it."""

    def __init__(self, connection: Connection) -> None:
        assert connection == Connection("127.0.0.1:5,127.0.0.1:6")

    def ensure(self, topic: str, partitions: int, config: Any) -> None:
        assert (partitions, config) == (6, {"retention.ms": "-1"})
        EVENTS.append(("topic", topic))


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    EVENTS.clear()
    CODES.clear()
    monkeypatch.setattr(demo, "Background", Script)
    monkeypatch.setattr(demo, "free_ports", lambda: 5)
    monkeypatch.setattr(demo, "_POLL_S", 0)
    monkeypatch.setattr(demo, "Cluster", Topics)
    monkeypatch.setattr(demo.os, "kill", lambda pid, number: EVENTS.append(("kill", pid, number)))


def run(folder: Path) -> int:
    whole = Demo(folder, 100, 1, 3)
    try:
        return whole.run()
    finally:
        whole.close()


def test_a_broker_and_the_stream_job_die_and_come_back_and_all_is_audited(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    told = [event[:2] for event in EVENTS]
    assert told == [
        ("start", "ottla cluster"),
        ("topic", "cdr"),
        ("start", "stream"),
        ("start", "generate"),
        ("kill", 102),
        ("killed", "stream"),
        ("start", "stream"),
        ("start", "node"),
        ("start", "load"),
        ("start", "audit"),
        *(("ended", name) for name in ("audit", "load", "node", "stream", "generate", "stream")),
        ("ended", "ottla cluster"),
    ]
    assert EVENTS[4] == ("kill", 102, signal.SIGKILL)
    started = {event[1]: event[2] for event in EVENTS if event[0] == "start"}
    assert started["node"][-1] == str(tmp_path / "cluster" / "broker-2.properties")
    assert "127.0.0.1:5,127.0.0.1:6" in started["load"]
    run_of = started["audit"][started["audit"].index("--run") + 1]
    marks = [what for _, what in timeline.read(run_of).marks]
    assert len(marks) == 4 and marks[0] == "kill -9 102: node 2 is gone"
    assert "spark.ui.port=5" in started["stream"]
    assert {str(tmp_path / "tmp")} == {e[3]["TMPDIR"] for e in EVENTS if e[0] == "start"}


def test_the_last_line_is_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Script, "end", lambda self, _: self.say("ottla: node 2 is dead"))
    monkeypatch.setattr(demo.signal, "signal", lambda *_: None)
    monkeypatch.setattr(demo, "check_java", lambda: None)
    monkeypatch.setattr(demo, "jar_settings", lambda: None)
    for code, words in (
        (0, "nothing lost, nothing duplicated; see "),
        (1, "something is not whole"),
    ):
        CODES["audit"] = code
        monkeypatch.setattr("sys.argv", ["demo", "--folder", str(tmp_path / "demo")])
        assert demo.main() == code
        *_, before, last = capsys.readouterr().out.splitlines()
        assert f"s  demo: {words}" in last and "demo: ending what was started" in before
    assert last.endswith("report.html")


def test_an_audit_that_finds_something_is_the_demos_exit_code(tmp_path: Path) -> None:
    CODES["audit"] = 1
    assert run(tmp_path) == 1


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("generate", "the generator failed"),
        ("stream", "the stream job failed"),
        ("load", "the load failed"),
        ("audit", "the audit could not run"),
    ],
)
def test_a_job_that_fails_ends_the_demo_and_all_it_started(
    tmp_path: Path, job: str, words: str
) -> None:
    CODES[job] = 2
    with pytest.raises(PipelineError, match=words):
        run(tmp_path)
    assert EVENTS[-1] == ("ended", "ottla cluster")


def test_only_an_earlier_demos_folder_is_emptied(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").touch()
    with pytest.raises(PipelineError, match="is not an earlier demo's: name another"):
        demo._fresh(mine)
    assert (mine / "thesis.txt").exists()
    folder = demo._fresh(tmp_path / "demo")
    (folder / "old").touch()
    assert demo._fresh(folder) == folder
    assert sorted(one.name for one in folder.iterdir()) == [".ottla-demo", "tmp"]
