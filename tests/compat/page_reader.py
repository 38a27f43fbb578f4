"""Who follows a page of the docs: does what it says, and looks whether it tells the truth.

A block of properties sets the keys of the files that it names; one of Python is run, unless it
names its file. A node or a cluster that a block starts takes the place of the one before. Lines
below a command are in what it prints, and those of a log in what the node has logged; `…` stands
for anything within a line. Commands run in this process, so that a page takes seconds.
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
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

import pytest

from broker.config.properties import parse_properties
from command.cli import run_cli
from command.cluster_layout import PORTS as PORTS_EACH
from command.cluster_layout import with_keys
from ottla.launcher import READY
from tests.tools.java_tools import TOOLS
from tests.tools.kafka_tools import KafkaTools
from tests.tools.ports import free_base

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(console|properties|python|log)\n(.*?)```", re.DOTALL)
FOLDER = "/etc/ottla"
PORTS = ("9092", "9093", "9094", "9404", "19092")
SERVES = {"serve": READY, "cluster": "the cluster is healthy"}
WITH_DESCRIPTORS = ("produce", "consume")
"""These read and write descriptors, past Python's streams, so they are processes of their own."""
IN_CLUSTER = ("kill", "restart")
DEADLINE_S = 120


class Reader:
    """A folder, at most one node or cluster, commands behind it, and Kafka's tools.

    `options` are added where `serve` or `cluster` is started: a test may take fewer nodes than its
    page. Ports are those from `base`, where the page has 9092.
    """

    def __init__(
        self,
        folder: Path,
        environment: pytest.MonkeyPatch,
        tools: KafkaTools | None = None,
        options: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        base: int | None = None,
    ) -> None:
        self._folder = folder
        self._options = options
        self._behind: list[subprocess.Popen[bytes]] = []
        self._tools = tools
        self._environment = environment
        self._running: subprocess.Popen[bytes] | None = None
        self._said = folder / "said"
        base = free_base() if base is None else base  # node and cluster take turns
        ports = (base, base + 1, base + 2, base + PORTS_EACH - 1, base)
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
        for one in self._behind:
            one.kill()
            one.wait(DEADLINE_S)
        self._behind.clear()
        if self._running is not None:
            process, self._running = self._running, None
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE_S) == 0, self._said.read_text()

    def _console(self, text: str) -> None:
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            lines = [line for line in shown.splitlines() if line]
            if command.startswith("curl "):  # a page of numbers: they come to be what is shown
                said = self._until(lambda one=command: self._run(one), lines)
            else:
                said = self._run(command)
            self.commands += 1
            assert [line for line in lines if not is_in(line, said)] == [], f"{command}\n{said}"

    def _until(self, ask: Callable[[], str], lines: list[str]) -> str:
        """Ask until all the lines are there, or it is too late."""
        deadline = time.monotonic() + DEADLINE_S
        said = ask()
        while not all(is_in(line, said) for line in lines) and time.monotonic() < deadline:
            time.sleep(0.05)
            said = ask()
        return said

    def _run(self, command: str) -> str:
        before, how, last = re.match(r"(?:(.*) (&&|\|) )?(ottla .*)|", command).groups()  # type: ignore[union-attr]
        if last is not None and last.endswith(" &"):
            self._behind.append(self._popen(shlex.split(last)[1:-1], subprocess.DEVNULL))
            return ""
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
        assert self._tools is not None, "this page was to need no Java"
        file = Path(words[-1]) if words[-2] == ">" else None
        done = self._tools.run(*(words if file is None else words[:-2]))
        assert done.exit == 0, f"{words}\n{done}"
        assert "Error" not in done.stdout + done.stderr, f"{words}\n{done}"
        if file is not None:
            file.write_text(done.stdout)
        return done.stdout

    def _ottla(self, words: list[str], stdin: str) -> str:
        if words[0] in SERVES and not {*words} & {*IN_CLUSTER}:
            self._start(words)
            return ""
        if words[0] in WITH_DESCRIPTORS:
            return self._finish([sys.executable, "-P", "-m", "command", *words], stdin)
        return self._answer(words, stdin)

    def _answer(self, words: list[str], stdin: str) -> str:
        said, complaints = io.StringIO(), io.StringIO()
        self._environment.setattr(sys, "stdin", io.StringIO(stdin))
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaints):
            code = run_cli(words)
        assert code == 0, f"{words}\n{said.getvalue()}{complaints.getvalue()}"
        return said.getvalue()

    def _start(self, words: list[str]) -> None:
        self.stop()
        with self._said.open("wb") as said:
            self._running = self._popen([*words, *self._options.get(words[0], ())], said)
        self._wait_for(SERVES[words[0]])

    def _popen(self, words: list[str], said: IO[bytes] | int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-u", "-m", "command", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=said,
            stderr=subprocess.STDOUT,
        )

    def _wait_for(self, words: str) -> None:
        """Until what runs has said so."""
        deadline = time.monotonic() + DEADLINE_S
        while not is_in(words, self._said.read_text()):
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

    def _finish(self, command: list[str], stdin: str = "") -> str:
        done = subprocess.run(
            command,
            input=stdin,
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


def is_in(shown: str, said: str) -> bool:
    """Whether a line of a page is in what a command printed; `…` is anything within the line."""
    return re.search(".*".join(map(re.escape, shown.split("…"))), said) is not None
