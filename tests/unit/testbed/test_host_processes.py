"""Processes of a host: forked, spawned, signalled, ended. Here the host is the process of tests."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.host_processes import UNKNOWN, HostProcesses
from tests.tools.waiting import wait_until

# Of Python 3.12, where pytest has threads.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

SLEEPING = [sys.executable, "-c", "import signal; signal.pause()"]


@pytest.fixture
def processes() -> Iterator[HostProcesses]:
    one = HostProcesses()
    yield one
    one.end_all()


def code_of(processes: HostProcesses, pid: int) -> int:
    def ended() -> bool:
        processes.reap()
        return processes.code(pid) is not None

    wait_until(ended, f"the end of process {pid}", pause_s=0.002)
    code = processes.code(pid)
    assert code is not None
    return code


def test_a_copy_does_its_work_and_nothing_else(processes: HostProcesses, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def work() -> int:
        os.write(1, f"{os.getpid()}\n".encode())
        return 3

    pid = processes.fork(work, str(log))
    assert code_of(processes, pid) == 3
    assert log.read_text() == f"{pid}\n" and log.stat().st_mode & 0o77 == 0


def test_a_copy_that_fails_says_why(processes: HostProcesses, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def work() -> int:
        sys.stderr = os.fdopen(2, "w", closefd=False)  # pytest has put its own in the place
        raise KeyError("its own")

    pid = processes.fork(work, str(log))
    assert code_of(processes, pid) == 70
    assert "KeyError: 'its own'" in log.read_text()


def test_a_command_and_signals(processes: HostProcesses, tmp_path: Path) -> None:
    pid = processes.spawn(SLEEPING, str(tmp_path / "log"), environment={})
    assert processes.signal(pid, 0) is True and processes.code(pid) is None
    assert processes.signal(pid, signal.SIGKILL) is True
    assert code_of(processes, pid) == -signal.SIGKILL
    assert processes.signal(pid, 0) is False
    assert processes.signal(1, 0) is None and processes.code(1) == UNKNOWN
    with pytest.raises(FileNotFoundError):
        processes.spawn(["/nothing"], str(tmp_path / "log"))
