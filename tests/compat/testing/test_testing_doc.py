"""What docs/testing.md shows works, word for word, but for ports and names that are drawn.

Its Python blocks are the files of a project, in their order: one that names its file in the first
line is that file, any other is a test module. All of them run at once, as a reader would run them.
A module that is followed by a `text` block fails, with these messages. Commands are run on a part
of the project, so that this takes seconds; lines below a command are in what it prints.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.testing import Broker, Cluster, Fault, Topic
from ottla.testing.faults import Faults
from tests.compat.testing.inner_pytest import WITHOUT
from tests.tools.java_tools import java_home_bin, spark_jars

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "testing.md").read_text()
_BLOCK = re.compile(r"^## ([^\n]*)$|^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DRAWN = re.compile(r"-[0-9a-f]{6}\b")
_SPARK_PACKAGES = re.compile(r'\.config\("spark\.jars\.packages", connector\)')
_SKIPPED = re.compile(r"^SKIPPED \[\d+\] test_\S+: ")
_LINES_MAX = 820


@dataclass(frozen=True)
class Block:
    """One fenced block; `messages` are those of the `text` block below it."""

    kind: str
    text: str
    name: str
    """Of its file."""
    messages: str = ""

    @property
    def is_test(self) -> bool:
        return self.kind == "python" and self.name.startswith("test_")

    @property
    def needs_spark(self) -> bool:
        return "pyspark" in self.text


def blocks() -> list[Block]:
    """Those of the page, in their order."""
    found: list[Block] = []
    section = ""
    for heading, kind, text in _BLOCK.findall(PAGE):
        if heading:
            section = re.sub(r"\W+", "_", heading.lower())
        elif kind == "text":
            last = found.pop()
            found.append(Block(last.kind, last.text, last.name, text))
        else:
            found.append(Block(kind, text, _file_name(kind, text, section, len(found))))
    return found


def _file_name(kind: str, text: str, section: str, number: int) -> str:
    if kind == "toml":
        return "pyproject.toml"
    named = re.match(r"# (\S+\.py)\n", text)
    return named[1] if named else f"test_{section}_{number}.py"


BLOCKS = blocks()
TESTS = [one for one in BLOCKS if one.is_test]
CONSOLES = [one for one in BLOCKS if one.kind == "console" and "pip install" not in one.text]


def write(folder: Path, tests: Sequence[Block]) -> None:
    """The project, with these test modules."""
    for one in BLOCKS:
        if one.kind in ("python", "toml") and (not one.is_test or one in tests):
            (folder / one.name).write_text(one.text)


def run(folder: Path, *arguments: str, **variables: str) -> str:
    """What pytest says in a project."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *WITHOUT, *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "COLUMNS": "200", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=150,
    )
    return done.stdout


def commands(word: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Those of the block that has the word, each with the lines that it prints."""
    (block,) = (one for one in CONSOLES if word in one.text)
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield command, shown


def follow(folder: Path, command: str, *arguments: str, **values: str) -> str:
    """Run what a reader would type; `values` replace those of its variables."""
    *variables, program = re.split(r" (?=pytest\b)", command) if "=" in command else [command]
    assert {one.partition("=")[0] for one in variables} == values.keys()
    words = shlex.split(program)
    assert words[0] == "pytest"
    return run(folder, *words[1:], *arguments, **values)


@dataclass(frozen=True)
class Outcome:
    """Of the tests of one module: how many there were, and the messages of those that failed."""

    count: int
    messages: Sequence[str]


@dataclass(frozen=True)
class WholeRun:
    """Of the project with all modules but that of Spark."""

    said: str
    outcomes: Mapping[str, Outcome]
    """By the file of the module."""


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> WholeRun:
    """By the command that keeps the data, so that one run shows both."""
    folder = tmp_path_factory.mktemp("project")
    write(folder, [one for one in TESTS if not one.needs_spark])
    ((command, _),) = commands("--ottla-keep-data")
    report = folder / "report.xml"
    format_ = ("--tb=short", "-o", "junit_family=xunit1", f"--junitxml={report}")
    said = follow(folder, command, *format_)
    assert report.exists(), said
    found: dict[str, Outcome] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        before = found.get(case.attrib["file"], Outcome(0, ()))
        failed = [_message(one) for tag in ("failure", "error") for one in case.iter(tag)]
        found[case.attrib["file"]] = Outcome(before.count + 1, [*before.messages, *failed])
    return WholeRun(said, found)


def _message(failure: ElementTree.Element) -> str:
    """Of the last exception, without its class."""
    lines: list[str] = []
    for line in (failure.text or "").splitlines():
        if not line.startswith("E   "):
            continue
        text = line.removeprefix("E   ")
        lines = [*lines, text] if text.startswith(" ") else [text.partition(": ")[2]]
    return "\n".join(lines)


def pattern(shown: str) -> str:
    """What messages look like: `…` stands for anything, alone in a line for any lines. Names are
    drawn anew, and numbers of a simulated run are others as soon as the broker is."""
    text = re.escape(_DRAWN.sub("-…", shown)).replace("\\\n", "\n")
    text = text.replace("\n…\n", r"\n[\s\S]*").removesuffix("…").replace("…", ".*")
    text += r"[\s\S]*" if shown.endswith("…") else ""
    if "replay" in shown:
        text = re.sub(r"\d+(?:\\\.\d+)?", r"[\\d.]+", re.sub(r"(?:\\ )+", r"\\s+", text))
    return text


@pytest.mark.parametrize(
    "block", [one for one in TESTS if not one.needs_spark], ids=lambda one: one.name
)
def test_every_block_does_what_is_said(block: Block, whole_run: WholeRun) -> None:
    outcome = whole_run.outcomes[block.name]
    assert outcome.count == len(re.findall(r"^ *(?:async )?def test_", block.text, re.MULTILINE))
    said = "\n".join(outcome.messages)
    assert re.fullmatch(pattern(block.messages.rstrip("\n")), said), f"{said}\n\n{block.messages}"


def test_failures_are_shown_where_the_test_is(whole_run: WholeRun) -> None:
    """No line of the helpers stands in between, but where the user's invariants are asked."""
    assert "NotAsExpected" in whole_run.said
    assert set(re.findall(r"ottla/testing/(\S+?):", whole_run.said)) <= {"simulation/run.py"}


def test_data_are_kept(whole_run: WholeRun) -> None:
    ((_, shown),) = commands("--ottla-keep-data")
    kept = {Path(one) for one in re.findall(r"its data are kept in (\S+)", whole_run.said)}
    assert shown and all(line in whole_run.said for line in shown)
    assert kept and all(one.is_dir() for one in kept)


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With jars that are there already."""
    (block,) = (one for one in TESTS if one.needs_spark)
    java = java_home_bin()
    assert java is not None and _SPARK_PACKAGES.search(block.text)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    jars = f'.config("spark.jars", "{",".join(spark_jars())}")'
    text = _SPARK_PACKAGES.sub(jars, block.text)
    write(tmp_path, [])
    (tmp_path / block.name).write_text(text)
    said = run(tmp_path, "-q", "-W", "ignore")
    assert "1 passed" in said, said


def test_in_parallel(tmp_path: Path) -> None:
    write(
        tmp_path,
        [one for one in TESTS if re.search("an_order_is_announced|replicas_are_asked", one.text)],
    )
    ((command, _),) = commands("-n 2")
    assert "2 passed" in follow(tmp_path, command)


def test_a_cluster_that_runs_already(tmp_path: Path) -> None:
    write(tmp_path, [one for one in TESTS if re.search(r"ottla_cluster|ottla\.fail", one.text)])
    ((command, shown),) = commands("OTTLA_BOOTSTRAP_SERVERS")
    with Broker() as broker:
        said = follow(tmp_path, command, OTTLA_BOOTSTRAP_SERVERS=broker.bootstrap_servers)
        assert broker.topics() == []
    reasons = re.findall(r"^SKIPPED \[\d+\] test_\S+: (.*)$", said, re.MULTILINE)
    assert {_SKIPPED.sub("", line) for line in shown} <= set(reasons), said


def test_every_call_that_is_named_is_there() -> None:
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    named = {
        call
        for code in re.findall(r"`([^`\n]+)`", prose)
        for call in re.findall(r"\b(\w+)\(", code)
    }
    known = {name for one in (Broker, Cluster, Fault, Faults, Topic) for name in dir(one)}
    assert len(named) > 20
    assert named - known - {"Broker", "Cluster", "ottla_broker_factory", "test_orders"} == set()


def test_the_page_is_whole_and_stays_short() -> None:
    assert PAGE.count("```") == 2 * len(re.findall(r"^```\w+$", PAGE, re.MULTILINE))
    assert {one.kind for one in BLOCKS} == {"console", "python", "toml"}
    assert len(PAGE.splitlines()) <= _LINES_MAX
    headings = {
        re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-")
        for one in re.findall(r"^##+ (.*)$", PAGE, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= headings
