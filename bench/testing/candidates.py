"""The measured brokers for Python tests, each with the same few calls.

A candidate is prepared once, so that a start excludes the costs that a session of tests has once:
Ottla's host has loaded its modules, kfake's program runs, librdkafka is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Protocol

import confluent_kafka

from bench.peers import ROOT
from bench.testing.mock_cluster import MockCluster
from ottla.testing import Broker
from ottla.testing.host import HostProcess, the_host
from tests.tools.go_tools import GO_DIR, go_program

OTTLA, MOCK, KFAKE = "Ottla", "librdkafka's mock", "kfake"
KFAKE_MODULE = "github.com/twmb/franz-go/pkg/kfake"

RESET = "reset"
FIRST_OF_ALL = "first of all"
SHARED = "shared"
TOPICS = "topics"

_LOAD_S = 3.0
_AT_ONCE = "a topic is there with the first request that names it"


class Candidate(Protocol):
    """A kind of broker, of which at most one runs at a time."""

    @property
    def name(self) -> str: ...

    @property
    def lacks(self) -> Mapping[str, str]:
        """The features that it lacks (RESET, FIRST_OF_ALL, SHARED or TOPICS), with the reason."""

    def what(self) -> str:
        """Return its release, and how it runs."""

    def prepare(self) -> None:
        """Do what a whole session of tests needs once."""

    def first_of_all(self) -> str:
        """Start another broker, including the work of `prepare`; return its address."""

    def end_first_of_all(self) -> None: ...

    def start(self) -> str:
        """Start an empty broker and return its address."""

    def topic(self, name: str) -> str:
        """Return a topic's name, created by a helper, or later by the first request."""

    def reset(self) -> Mapping[str, int]:
        """Empty the broker, and return the number of removed things by kind."""

    def stop(self) -> None: ...

    def second(self) -> Candidate:
        """Return another candidate of the kind, prepared too, for the broker that tests share."""

    def close(self) -> None:
        """Stop everything that is left."""


class Ottla:
    """A broker of `ottla.testing`: a process forked from a host."""

    name = OTTLA
    lacks: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._broker: Broker | None = None
        self._alone: subprocess.Popen[str] | None = None

    def what(self) -> str:
        return f"{version('ottla')}, a process forked for each broker"

    def prepare(self) -> None:
        host: HostProcess = the_host()
        host.load()
        time.sleep(_LOAD_S)  # it continues to load while the first tests run
        self.start()
        self.stop()

    def first_of_all(self) -> str:
        """Start the broker in a new Python process, which has to import everything."""
        program = (
            "import sys; from ottla.testing import Broker\n"
            "with Broker() as broker:\n"
            "    print(broker.bootstrap_servers, flush=True); sys.stdin.read()"
        )
        self._alone = subprocess.Popen(
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return _read_line(self._alone)

    def end_first_of_all(self) -> None:
        _ended(self._alone)
        self._alone = None

    def start(self) -> str:
        self._broker = Broker()
        return self._broker.start().bootstrap_servers

    def topic(self, name: str) -> str:
        assert self._broker is not None, "start() it"
        return self._broker.topic(name).name

    def reset(self) -> Mapping[str, int]:
        assert self._broker is not None, "start() it"
        removed = self._broker.reset()
        return {kind: len(removed[kind]) for kind in ("topics", "groups", "transactional_ids")}

    def stop(self) -> None:
        if self._broker is not None:
            self._broker.close()
            self._broker = None

    def second(self) -> Candidate:
        return Ottla()

    def close(self) -> None:
        self.stop()
        _ended(self._alone)


class Mock:
    """A mock cluster of librdkafka, in this process."""

    name = MOCK
    lacks: Mapping[str, str] = {
        RESET: "its API drops no topics, groups or transactional ids: a new one is started",
        FIRST_OF_ALL: "it lives in the client's process",
        SHARED: "it has no reset",
        TOPICS: _AT_ONCE,
    }

    def __init__(self) -> None:
        self._cluster: MockCluster | None = None

    def what(self) -> str:
        return f"librdkafka {confluent_kafka.libversion()[0]}, a thread of the tests' process"

    def prepare(self) -> None:
        """Start a mock cluster once and stop it, so that the first measured start is not slower."""
        self.start()
        self.stop()

    def first_of_all(self) -> str:
        raise NotImplementedError

    def end_first_of_all(self) -> None:
        raise NotImplementedError

    def start(self) -> str:
        self._cluster = MockCluster()
        return self._cluster.bootstrap_servers

    def topic(self, name: str) -> str:
        return name

    def reset(self) -> Mapping[str, int]:
        raise NotImplementedError

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def second(self) -> Candidate:
        raise NotImplementedError

    def close(self) -> None:
        self.stop()


class Kfake:
    """A broker of kfake in a Go program, which starts and stops it on command."""

    name = KFAKE
    lacks: Mapping[str, str] = {
        RESET: "it has none: a new one is started",
        SHARED: "it has no reset",
        TOPICS: _AT_ONCE,
    }

    def __init__(self) -> None:
        self._program: subprocess.Popen[str] | None = None
        self._alone: subprocess.Popen[str] | None = None
        self._runs = False

    def what(self) -> str:
        lines = (GO_DIR / "kfake" / "go.mod").read_text().splitlines()
        release = next(line for line in lines if KFAKE_MODULE in line).rpartition(" ")[2]
        return f"{release}, in one Go process"

    def prepare(self) -> None:
        self._program = _go_process()
        self.start()
        self.stop()

    def first_of_all(self) -> str:
        self._alone = _go_process()
        return _ask(self._alone, "start")

    def end_first_of_all(self) -> None:
        _ended(self._alone)
        self._alone = None

    def start(self) -> str:
        assert self._program is not None, "prepare() it"
        address = _ask(self._program, "start")
        self._runs = True
        return address

    def topic(self, name: str) -> str:
        return name

    def reset(self) -> Mapping[str, int]:
        raise NotImplementedError

    def stop(self) -> None:
        if self._runs and self._program is not None:
            self._runs = False
            _ask(self._program, "stop")

    def second(self) -> Candidate:
        raise NotImplementedError

    def close(self) -> None:
        for process in (self._program, self._alone):
            _ended(process)


def _go_process() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(go_program("kfake"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _ask(process: subprocess.Popen[str], word: str) -> str:
    """Send the process a word, and return its next line. Raises RuntimeError if it has ended."""
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    return _read_line(process)


def _read_line(process: subprocess.Popen[str]) -> str:
    """Return the process's next line. Raises RuntimeError if it has ended."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise RuntimeError(f"{process.args!r} has ended: {process.wait()}")
    return line


def _ended(process: subprocess.Popen[str] | None) -> None:
    """Close its standard input, and wait for its end."""
    if process is None:
        return
    try:
        process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
