"""A process ends with its parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from broker.testing.parent_death import die_with_parent
from tests.tools.waiting import wait_until

ROOT = Path(__file__).parents[4]
PARENT = """
import os, subprocess, sys
waits = [sys.executable, "-c", "import signal; signal.pause()"]
from broker.testing.parent_death import die_with_parent
arrange = die_with_parent(os.getpid())
child = subprocess.Popen(waits, preexec_fn=arrange)
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux'")
def test_it_ends_with_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PARENT], env={"PYTHONPATH": str(ROOT)}, stdout=-1, text=True
    )
    wait_until(lambda: not psutil.pid_exists(int(done.stdout)), "the end of the child")


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    die_with_parent(1)()


def test_one_whose_parent_died_before_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: _Library())
    monkeypatch.setattr(sys, "platform", "linux")
    die_with_parent(os.getppid())()
    with pytest.raises(Ended):
        die_with_parent(os.getpid())()


class _Library:
    def prctl(self, *arguments: int) -> int:
        return 0
