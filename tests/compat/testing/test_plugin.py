"""The fixtures as other projects run them: in parallel, killed, interrupted, with coroutines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

WITHIN_S = 30

TESTS = """
import asyncio, os, pathlib, signal, time
import pytest
from ottla.testing.host import the_host

SAID = pathlib.Path(__file__).parent / "said"

def say(*brokers):
    SAID.mkdir(exist_ok=True)
    for pid in (the_host().pid, *(one.pid for one in brokers)):
        (SAID / str(pid)).touch()

@pytest.mark.parametrize("number", range(6))
def test_emptied(ottla, number):
    say(ottla)
    assert ottla.topics() == []
    ottla.topic("orders").seed([b"x"])

async def test_with_coroutines(ottla_broker):
    say(ottla_broker)
    assert await asyncio.to_thread(ottla_broker.call, "ping") == {"pid": ottla_broker.pid}

def test_two(ottla, ottla_broker_factory):
    say(ottla, ottla_broker_factory())
"""

KILLED = """
def test_killed(ottla_broker):
    say(ottla_broker)
    os.kill(os.getpid(), signal.SIGKILL)
"""

HANGING = """
def test_hanging(ottla, ottla_broker):
    say(ottla, ottla_broker)
    (SAID / "hanging").touch()
    time.sleep(60)
"""


class Project:
    """Somebody's tests, with a folder of their own for what is temporary."""

    def __init__(self, folder: Path, tests: str) -> None:
        self._folder = folder
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
        (folder / "test_it.py").write_text(tests)

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.Popen(
            command,
            cwd=self._folder,
            env={**os.environ, "TMPDIR": str(self._temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def is_hanging(self) -> bool:
        return (self._folder / "said" / "hanging").exists()

    def left(self) -> list[str]:
        """Processes and folders."""
        pids = [one.name for one in (self._folder / "said").iterdir() if one.name.isdigit()]
        assert pids
        folders = [str(one) for one in self._temporary.glob("ottla-*")]
        return [pid for pid in pids if psutil.pid_exists(int(pid))] + folders


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("options", [(), ("-n", "3")], ids=["alone", "xdist"])
def test_they_pass_and_nothing_is_left(tmp_path: Path, options: tuple[str, ...]) -> None:
    project = Project(tmp_path, TESTS)
    said, _ = project.start(*options).communicate(timeout=60)
    assert "8 passed" in said
    assert project.left() == []


def test_nothing_is_left_of_a_worker_that_was_killed(tmp_path: Path) -> None:
    project = Project(tmp_path, TESTS + KILLED)
    said, _ = project.start("-n", "2").communicate(timeout=60)
    assert "crashed while running" in said and "8 passed" in said
    until(lambda: not project.left())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_an_interrupted_run(tmp_path: Path, how: signal.Signals) -> None:
    project = Project(tmp_path, TESTS + HANGING)
    running = project.start("-k", "hanging")
    until(project.is_hanging)
    running.send_signal(how)
    running.communicate(timeout=60)
    until(lambda: not project.left())
