"""A short run of the chaos checker on three real processes; `make chaos` runs a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.run import ChaosRun

KINDS = ["kill-leader", "cut-from-clients-too", "pause-controller"]


@pytest.mark.timeout(240)
def test_a_short_run_is_clean(tmp_path: Path) -> None:
    run = ChaosRun(
        seconds=38, seed=4, kinds=KINDS, folder=tmp_path, producers=4, readers=3, members=3
    )
    verdict = run.run()
    print(verdict.to_json())
    assert verdict.anomalies == {}
    assert verdict.invalid == []
    assert sorted(verdict.faults) == sorted(KINDS)
