"""A short run of the chaos checker on three real processes; `make chaos` runs a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.run import ChaosRun

KINDS = ["kill-leader", "cut-from-clients-too", "pause-controller"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("secured", "seconds", "kinds"),
    [
        pytest.param(False, 38, KINDS, id="plain", marks=pytest.mark.long),
        pytest.param(True, 18, ["kill-controller"], id="secured"),
    ],
)
def test_a_short_run_is_clean(
    tmp_path: Path, secured: bool, seconds: int, kinds: list[str]
) -> None:
    run = ChaosRun(
        seconds=seconds,
        seed=4,
        kinds=kinds,
        folder=tmp_path,
        producers=4,
        readers=3,
        members=3,
        secured=secured,
    )
    verdict = run.run()
    print(verdict.to_json())
    assert verdict.anomalies == {}
    assert verdict.invalid == []
    assert sorted(verdict.faults) == sorted(kinds)
