"""What docs/security.md shows works, in its order and word for word, but for ports and the folder.

A block of properties sets the keys of the files that it names; one of Python is run, unless it
names its file. A node or a cluster that a block starts takes the place of the one before. Lines
below a command are what it prints, those of a log are what the node has logged. So that this takes
seconds, commands run in this process, and the cluster has one node: `test_cluster_command.py`
starts three.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.command.cli import run_cli
from broker.command.cluster_layout import with_keys
from broker.config.properties import parse_properties
from ottla.__main__ import READY
from tests.tools.free_ports import free_base
from tests.tools.java_tools import TOOLS
from tests.tools.kafka_tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
BLOCK = re.compile(r"```(console|properties|python|log)\n(.*?)```", re.DOTALL)
FOLDER = "/etc/ottla"
PORTS = ("9092", "9093", "9094", "19092")
SERVES = {"serve": READY, "cluster": "the cluster is healthy"}
SMALLER = {"serve": (), "cluster": ("--brokers", "1")}
DEADLINE_S = 60
LINES_MAX = 600
"""Of the page, with the sections on tokens and plug-ins."""


class Reader:
    """Who follows the page: a folder, at most one node or cluster, and Kafka's tools."""

    def __init__(self, folder: Path, tools: KafkaTools, environment: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._tools = tools
        self._environment = environment
        self._running: subprocess.Popen[bytes] | None = None
        self._said = folder / "said"
        base = free_base()  # node and cluster take turns
        ports = (base, base + 1, base + 2, base)
        self._ports = dict(zip(PORTS, ports, strict=True))
        self.commands = 0

    def follow(self, kind: str, text: str) -> None:
        """Do what a block says."""
        text = text.replace(FOLDER, str(self._folder))
        for shown, free in self._ports.items():
            text = re.sub(rf"(?<![0-9]){shown}(?![0-9])", str(free), text)
        follow = {
            "console": self._console,
            "properties": self._write,
            "python": self._python,
            "log": self._log,
        }
        follow[kind](text)

    def stop(self) -> None:
        """Whatever runs; it ends cleanly."""
        if self._running is not None:
            process, self._running = self._running, None
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE_S) == 0, self._said.read_text()

    def _console(self, text: str) -> None:
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            said = self._run(command)
            self.commands += 1
            for line in filter(None, shown.splitlines()):
                assert line in said, f"{command}\n{said}"

    def _run(self, command: str) -> str:
        before, how, last = re.match(r"(?:(.*) (&&|\|) )?(ottla .*)|", command).groups()  # type: ignore[union-attr]
        if last is not None:
            said = "" if before is None else self._finish(["bash", "-ec", before])
            return self._ottla(shlex.split(last)[1:], said if how == "|" else "")
        words = shlex.split(command)
        if words[0] in TOOLS:
            return self._tool(words)
        if words[0] == "export":
            for name, _, value in (word.partition("=") for word in words[1:]):
                self._environment.setenv(name, value)
            return ""
        return self._finish(["bash", "-ec", command])

    def _tool(self, words: list[str]) -> str:
        file = Path(words[-1]) if words[-2] == ">" else None
        done = self._tools.run(*(words if file is None else words[:-2]))
        assert done.exit == 0, f"{words}\n{done}"
        assert "Error" not in done.stdout + done.stderr, f"{words}\n{done}"
        if file is not None:
            file.write_text(done.stdout)
        return done.stdout

    def _ottla(self, words: list[str], stdin: str) -> str:
        if words[0] in SERVES:
            self._start(words)
            return ""
        said, complaints = io.StringIO(), io.StringIO()
        self._environment.setattr(sys, "stdin", io.StringIO(stdin))
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
            code = run_cli(words)
        assert code == 0, f"{words}\n{said.getvalue()}{complaints.getvalue()}"
        return said.getvalue()

    def _start(self, words: list[str]) -> None:
        self.stop()
        with self._said.open("wb") as said:
            self._running = subprocess.Popen(
                [sys.executable, "-P", "-u", "-m", "broker", *words, *SMALLER[words[0]]],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        self._wait_for(SERVES[words[0]])

    def _wait_for(self, words: str) -> None:
        """Until what runs has said so."""
        deadline = time.monotonic() + DEADLINE_S
        while words not in self._said.read_text():
            running = self._running is not None and self._running.poll() is None
            assert running and time.monotonic() < deadline, f"{words}\n{self._said.read_text()}"
            time.sleep(0.02)

    def _log(self, text: str) -> None:
        for line in text.splitlines():
            self._wait_for(line)

    def _python(self, text: str) -> None:
        named = re.match(r"# (/\S+\.py)\n", text)
        if named is None:
            self._finish([sys.executable, "-c", text])
        else:
            Path(named[1]).parent.mkdir(exist_ok=True)
            Path(named[1]).write_text(text)

    def _finish(self, command: list[str]) -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _write(self, text: str) -> None:
        for name, keys in re.findall(r"# (/\S+)\n((?:(?!# /).*\n)*)", text):
            file = Path(name)
            before = file.read_text() if file.exists() else ""
            file.write_text(with_keys(before, parse_properties(keys)) if before else keys)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    tools = KafkaTools("unused")
    made = Reader(tmp_path, tools, monkeypatch)
    yield made
    try:
        made.stop()
    finally:
        tools.close()


def test_every_block_works_in_its_order(reader: Reader) -> None:
    blocks = BLOCK.findall(PAGE)
    assert len(blocks) > 15
    for kind, text in blocks:
        reader.follow(kind, text)
    reader.stop()
    assert reader.commands > 20


def test_it_says_what_is_to_be_turned_on_and_stays_short() -> None:
    assert "whoever gets in may\nread, write, delete and change everything" in PAGE
    assert len(PAGE.splitlines()) <= LINES_MAX
    assert PAGE.count("```") == 2 * len(BLOCK.findall(PAGE))
