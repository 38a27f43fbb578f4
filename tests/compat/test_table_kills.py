"""The job `table`, killed with kill -9: each offset once. More by `python -m …table_kills`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.parametrize("to", ["delta", "iceberg"])
def test_a_job_that_is_killed_writes_each_offset_once(tmp_path: Path, to: str) -> None:
    pytest.importorskip("pyspark")
    from tests.compat.table_kills.killing import Killing

    found = Killing(tmp_path, to, seed=41).run(kills=1, seconds=300)
    assert found.holds, found
    assert found.kills == 1 and found.rows > 0 and found.letters > 0
