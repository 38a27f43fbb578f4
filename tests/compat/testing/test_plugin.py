"""The fixtures as other projects run them: in parallel, killed, interrupted, with coroutines."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.compat.testing.inner_pytest import WITHOUT
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

# What is imported while these run is told, but for what pytest and its other plugins import.
CONFTEST = """
import pathlib, sys
BEFORE = set(sys.modules)

def pytest_sessionfinish():
    new = {name.split(".")[0] for name in set(sys.modules) - BEFORE}
    strange = new - sys.stdlib_module_names - {"_pytest", "conftest", "pytest", "test_it"}
    (pathlib.Path(__file__).parent / "imported").write_text(" ".join(sorted(strange)))
"""
TESTS = """
import asyncio, os, pathlib, signal, time, unittest
import pytest
from ottla.testing import Broker
from ottla.testing.broker_process import BrokerProcess
from ottla.testing.host import the_host

SAID = pathlib.Path(__file__).parent / "said"

def say(*brokers):
    for pid in (the_host().pid, *(one.pid for one in brokers)):
        (SAID / str(pid)).touch()

@pytest.mark.parametrize("number", range(8))
def test_emptied(ottla, number):
    say(ottla)
    assert ottla.topics() == []
    ottla.topic("orders").seed([b"x"])

async def test_with_coroutines(ottla_broker):
    say(ottla_broker)
    assert await asyncio.to_thread(ottla_broker.call, "ping") == {"pid": ottla_broker.pid}
    async with Broker() as another:
        say(another)
        assert another.port != ottla_broker.port

@pytest.mark.ottla(properties={"num.partitions": "3"}, topics={"orders": 2})
def test_two(ottla, ottla_broker_factory):
    other = ottla_broker_factory(properties={"num.partitions": "2"})
    say(ottla, other)
    assert ottla.topics() == ["orders"] and other.topics() == []

class TestIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = cls.enterClassContext(Broker())

    def test_one(self):
        say(self.broker)
        self.assertEqual(self.broker.topics(), [])
"""
CLUSTER = """
@pytest.mark.ottla(topics=["orders"])
def test_cluster(ottla_cluster):
    say(*ottla_cluster.brokers)
    assert ottla_cluster.topics() == ["orders"]
    ottla_cluster.leader("orders").kill()

def test_failing(ottla_broker_factory, ottla):
    say(ottla)
    assert False
"""
KILLED = """
def test_killed(ottla_broker):
    say(ottla_broker)
    os.kill(os.getpid(), signal.SIGKILL)
"""
HANGING = """
def test_hanging(ottla, ottla_broker):
    with BrokerProcess() as process:
        say(ottla, ottla_broker, process)
        hang()

def hang():
    (SAID / "hanging").touch()
    time.sleep(600)
"""


class Project:
    """Somebody's tests, with a folder of their own for what is temporary."""

    def __init__(self, folder: Path, tests: str) -> None:
        self._folder = folder
        self._said = folder / "said"
        self._temporary = folder / "temporary"
        for one in (self._said, self._temporary):
            one.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "test_it.py").write_text(tests)

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "pytest", "-q", *WITHOUT, *options]
        return subprocess.Popen(
            command,
            cwd=self._folder,
            env={**os.environ, "TMPDIR": str(self._temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def imported(self) -> str:
        """By its tests, but for the standard library."""
        return (self._folder / "imported").read_text()

    def is_hanging(self) -> bool:
        return (self._said / "hanging").exists()

    def pids(self) -> list[int]:
        """Of all hosts and brokers that its tests have used."""
        return [int(one.name) for one in self._said.iterdir() if one.name.isdigit()]

    def processes(self) -> list[int]:
        """Those that are left."""
        return [pid for pid in self.pids() if psutil.pid_exists(pid)]

    def folders(self) -> list[Path]:
        """Of brokers, that are left."""
        return [one for one in self._temporary.glob("ottla-*/*") if one.is_dir()]

    def is_tidy(self) -> bool:
        """Nothing is left, neither a process nor a folder."""
        return not self.processes() and not list(self._temporary.glob("ottla-*"))


def test_alone_with_data_that_is_kept(tmp_path: Path) -> None:
    """It imports nothing but the standard library into the process of the tests."""
    project = Project(tmp_path, TESTS + CLUSTER)
    said, _ = project.start("--ottla-keep-data").communicate(timeout=240)
    assert "1 failed, 12 passed" in said, said
    assert project.imported == "ottla"
    assert len(project.pids()) == 10 and project.processes() == []
    (shown,) = re.findall(r"its data are kept in (.*)", said)
    assert said.count("-- Ottla broker on ") == 1, "of the test that failed, its own one"
    assert Path(shown, "meta.properties").is_file()
    assert len(project.folders()) == 7, "those of brokers of fixtures"


def test_in_parallel_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    project = Project(tmp_path, TESTS + KILLED)
    said, _ = project.start("-n", "8").communicate(timeout=240)
    assert "crashed while running 'test_it.py::test_killed'" in said, said
    assert "1 failed, 11 passed" in said
    wait_until(project.is_tidy, "nothing that is left")
    assert len(project.pids()) >= 16, "each worker has its own"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_an_interrupted_run(tmp_path: Path, how: signal.Signals) -> None:
    project = Project(tmp_path, TESTS + HANGING)
    running = project.start("-k", "hanging")
    with running:
        wait_until(project.is_hanging, "the test that hangs")
        assert len(project.processes()) == 4 and len(project.folders()) == 3
        running.send_signal(how)
        running.communicate(timeout=240)
    wait_until(project.is_tidy, "nothing that is left")
