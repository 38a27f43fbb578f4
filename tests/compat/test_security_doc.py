"""What docs/security.md shows works, in its order and word for word, but for ports and the folder.

A block of properties sets the keys of the files that it names. A node or a cluster that
a block starts takes the place of the one before. Lines below a command are what it prints.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.command.cluster_layout import with_keys
from broker.config.properties import parse_properties
from ottla.__main__ import READY
from tests.tools.free_ports import free_base
from tests.tools.kafka_tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
BLOCK = re.compile(r"```(console|properties|python)\n(.*?)```", re.DOTALL)
FOLDER = "/etc/ottla"
PORTS = ("9092", "9093", "9094", "19092")
SERVES = {"serve": READY, "cluster": "the cluster is healthy"}
DEADLINE_S = 60


class Reader:
    """Who follows the page: a folder, at most one node or cluster, and Kafka's tools."""

    def __init__(self, folder: Path, tools: KafkaTools) -> None:
        self._folder = folder
        self._tools = tools
        self._running: subprocess.Popen[str] | None = None
        base = free_base()  # node and cluster take turns
        ports = (base, base + 1, base + 2, base)
        self._ports = dict(zip(PORTS, ports, strict=True))
        self.commands = 0

    def follow(self, kind: str, text: str) -> None:
        """Do what a block says."""
        text = text.replace(FOLDER, str(self._folder))
        for shown, free in self._ports.items():
            text = re.sub(rf"(?<![0-9]){shown}(?![0-9])", str(free), text)
        {"console": self._console, "properties": self._write, "python": self._python}[kind](text)

    def stop(self) -> None:
        """Whatever runs; it ends cleanly."""
        if self._running is not None:
            process, self._running = self._running, None
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=DEADLINE_S)[0]
            assert process.returncode == 0, said

    def _console(self, text: str) -> None:
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            said = self._run(command)
            self.commands += 1
            for line in filter(None, shown.splitlines()):
                assert line in said, f"{command}\n{said}"

    def _run(self, command: str) -> str:
        words = shlex.split(command)
        if words[0] == "kafka-configs":
            done = self._tools.run(*words)
            assert done.exit == 0, f"{command}\n{done}"
            assert "Error" not in done.stdout + done.stderr, f"{command}\n{done}"
            return done.stdout
        if words[0] == "ottla" and words[1] in SERVES:
            self._start(words[1:])
            return ""
        if words[0] == "ottla":
            return self._finish([sys.executable, "-P", "-m", "broker", *words[1:]])
        return self._finish(["bash", "-ec", command])

    def _start(self, words: list[str]) -> None:
        self.stop()
        self._running = subprocess.Popen(
            [sys.executable, "-P", "-u", "-m", "broker", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._running.stdout is not None
        said = ""
        for line in self._running.stdout:
            said += line
            if SERVES[words[0]] in line:
                return
        raise AssertionError(said)

    def _python(self, text: str) -> None:
        self._finish([sys.executable, "-c", text])

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
def reader(tmp_path: Path) -> Iterator[Reader]:
    tools = KafkaTools("unused")
    made = Reader(tmp_path, tools)
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


def test_it_says_what_is_not_there_yet_and_stays_short() -> None:
    assert "**Authorization is not there yet.**" in PAGE
    assert len(PAGE.splitlines()) <= 260
    assert PAGE.count("```") == 2 * len(BLOCK.findall(PAGE))
