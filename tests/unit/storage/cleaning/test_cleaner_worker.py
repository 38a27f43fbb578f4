"""One job on standard input, one answer on standard output; see also `test_cleaner_process`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_without_a_job_it_says_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "storage.cleaning.cleaner_worker"],
        input=b"",
        stdout=subprocess.PIPE,
        cwd=ROOT,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (0, b"")


def test_it_loads_none_of_the_broker() -> None:
    """It is started for each round: what it does not need costs time and memory each time."""
    program = (
        "import json, sys, storage.cleaning.cleaner_worker; print(json.dumps(list(sys.modules)))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT, timeout=60, check=True
    )
    loaded = json.loads(ended.stdout)
    assert "storage.cleaning.cleaner" in loaded
    heavy = ("asyncio", "uvloop", "click", "controller", "broker", "subprocess")
    assert [name for name in loaded if name.split(".")[0] in heavy] == []
