"""Nodes that run, found by their lock: small processes that hold it stand in for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker.config.start_error import StartError
from command.cluster_folder import open_folder
from command.nodes import running
from command.nodes.running import (
    RunningNode,
    ask_to_start,
    holder_of,
    is_asked_to_start,
    is_leaving,
    nodes_asked_to_start,
    take_leave_back,
    take_request,
)
from ground.filesystem import LocalFilesystem

HOLDS = (
    "import fcntl, os, signal, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); "
    "fcntl.flock(fd, fcntl.LOCK_EX); os.write(fd, b'%d\\n' % os.getpid()); "
    "print('held', flush=True); signal.pause()"
)
Node = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(open_folder(str(tmp_path / "c"), 2, 39092).path)


@pytest.fixture
def node(folder: str) -> Iterator[Node]:
    """Starts what holds the data of node 2, and reaps it when it ends."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        lock = f"{folder}/broker-2/data/.lock"
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", HOLDS, lock], stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        started.append(process)
        threading.Thread(target=process.wait).start()
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_who_holds_a_folder(tmp_path: Path) -> None:
    assert holder_of(tmp_path) is None
    lock = LocalFilesystem().lock(str(tmp_path / ".lock"))
    assert lock is not None and holder_of(tmp_path) == os.getpid()
    lock.release()
    assert holder_of(tmp_path) is None  # its number stands there still


def test_a_node_is_killed(folder: str, node: Node) -> None:
    process = node()
    assert RunningNode(folder, 2).kill_and_wait() == process.pid
    assert process.wait() == -signal.SIGKILL
    with pytest.raises(StartError, match="node 2 does not run"):
        RunningNode(folder, 2).kill_and_wait()


def test_a_node_is_stopped_and_started_by_the_cluster(
    folder: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "accepts", lambda host, port: (host, port) == ("localhost", 39093))
    first = node()
    with pytest.raises(StartError, match=f"no ottla cluster runs in {folder}"):
        RunningNode(folder, 2).restart()
    held = LocalFilesystem().lock(f"{folder}/.lock")
    again: list[int] = []

    def supervise() -> None:
        while not is_asked_to_start(Path(folder), 2) or first.poll() is None:
            time.sleep(0.01)
        again.append(node().pid)
        take_request(Path(folder), 2)

    supervisor = threading.Thread(target=supervise)
    supervisor.start()
    assert RunningNode(folder, 2).restart() == again[0]
    supervisor.join()
    assert first.returncode == -signal.SIGTERM
    assert held is not None
    held.release()


def test_a_node_that_leaves_is_stopped_and_its_end_is_no_failure(folder: str, node: Node) -> None:
    process = node()
    RunningNode(folder, 2).leave()
    assert process.wait() == -signal.SIGTERM and is_leaving(Path(folder), 2)
    RunningNode(folder, 2).leave()  # again, without a process
    take_leave_back(Path(folder), 2)
    assert not is_leaving(Path(folder), 2)


def test_nodes_that_are_to_be_started(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WAIT_S", 0.05)
    assert nodes_asked_to_start(Path(folder)) == []
    with pytest.raises(StartError, match=r"node 2 does not serve yet after .*ottla\.log"):
        RunningNode(folder, 2).start()
    ask_to_start(Path(folder), 11)
    assert nodes_asked_to_start(Path(folder)) == [2, 11]
    RunningNode(folder, 2).leave()
    assert nodes_asked_to_start(Path(folder)) == [11]


def test_a_start_leaves_no_request_behind(
    folder: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is left over would start a node again that the user kills later."""
    monkeypatch.setattr(running, "accepts", lambda _host, _port: True)
    ask_to_start(Path(folder), 2)
    RunningNode(folder, 2).start()
    assert nodes_asked_to_start(Path(folder)) == []
    node()
    monkeypatch.setattr(running, "ask_to_start", lambda *_: pytest.fail("it runs"))
    RunningNode(folder, 2).start()


def test_what_takes_too_long_is_told(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WAIT_S", 0.05)
    held = LocalFilesystem().lock(f"{folder}/.lock")
    with pytest.raises(StartError, match=r"node 1 is not started again after .*ottla\.log"):
        RunningNode(folder, 1).restart()
    assert held is not None
    held.release()


def test_a_node_that_there_is_not(folder: str) -> None:
    with pytest.raises(StartError, match=r"there is no node 7 in .*broker-7\.properties"):
        RunningNode(folder, 7)


def test_a_request_is_there_until_it_is_taken(tmp_path: Path) -> None:
    ask_to_start(tmp_path, 1)
    assert is_asked_to_start(tmp_path, 1) and not is_asked_to_start(tmp_path, 2)
    take_request(tmp_path, 1)
    take_request(tmp_path, 1)
    assert not is_asked_to_start(tmp_path, 1)
