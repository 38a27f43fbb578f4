"""The process of the simulated clusters: there once, and gone with whoever started it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ottla.testing.errors import OttlaError
from ottla.testing.simulation.worker import the_worker
from tests.tools.waiting import wait_until

STARTS = """
import signal
from ottla.testing.simulation.worker import the_worker
print(the_worker().pid, flush=True)
signal.pause()
"""
ROOT = Path(__file__).parents[5]


def gone(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def test_there_is_one_and_another_where_that_has_ended() -> None:
    worker = the_worker()
    assert the_worker() is worker and worker.running
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(OttlaError, match="the process of the simulation has ended"):
        worker.call("drop", {})
    assert the_worker() is not worker
    the_worker().close()


def test_it_ends_with_its_parent_however_that_ends() -> None:
    parent = subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, cwd=ROOT)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert psutil.pid_exists(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: gone(pid), "the end of the worker")
