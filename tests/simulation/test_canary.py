"""The canary: the same seed gives the same trace, twice in one process and in two processes.

An iterated set, an id or a real clock in a core shows here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.simulation import Simulation

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("brokers", [1, 3])
def test_a_seed_gives_the_same_trace_when_run_twice(brokers: int) -> None:
    assert Simulation(3, brokers=brokers).run() == Simulation(3, brokers=brokers).run()


@pytest.mark.long(sample=1)
@pytest.mark.slow
@pytest.mark.parametrize(("brokers", "seed"), [(1, 2), (3, 10)])
def test_a_seed_gives_the_same_trace_whatever_the_hash_seed(brokers: int, seed: int) -> None:
    def outcome(hash_seed: str) -> str:
        which = ["--brokers", str(brokers), "--seed", str(seed)]
        ran = subprocess.run(
            [sys.executable, "-m", "tests.simulation", *which],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    first = outcome("1")
    assert "checksum" in first
    assert outcome("2") == first
