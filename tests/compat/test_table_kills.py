"""The job `table`, killed with kill -9: each offset once. More by `python -m …table_kills`.

Five kills where the machine is quick; where it is not, those that begin in twenty seconds each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(("to", "kills"), [("delta", 3), ("iceberg", 2)])
def test_a_job_that_is_killed_writes_each_offset_once(tmp_path: Path, to: str, kills: int) -> None:
    pytest.importorskip("pyspark")
    from tests.compat.table_kills.killing import Killing

    found = Killing(tmp_path, to, seed=41).run(kills, seconds=20)
    assert found.holds, found
    assert 1 <= found.kills <= kills
    assert found.rows > 0 and found.letters > 0
